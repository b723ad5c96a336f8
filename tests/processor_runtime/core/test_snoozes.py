"""A snoozed rule is counted and goes to kind `suppressed`: from when to when, whatever happens."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.keyed.shapes import Detection
from contract.snapshot import SnapshotSnooze
from processor_runtime.alerting.snoozed_finds import SnoozedFinds
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.schedule.interval import BEGINNING_MS
from processor_runtime.schedule.snoozing import Snooze
from tests.letters import event, letters, processor, spelled, version
from tests.processor_runtime.core.alert_jobs import (
    AB,
    A,
    alerting_arrivals,
    pipeline,
    run_at_once,
    run_divided,
)
from tests.processor_runtime.core.pipeline import Event, Pipeline
from tests.properties import slow_property


def snooze(job: Pipeline, *snoozes: tuple[str | None, int]) -> None:
    """Publish snoozes of the rule `p`, instead of those before."""
    job.snapshot = job.snapshot.model_copy(
        update={
            "epoch": job.snapshot.epoch + 1,
            "snoozes": [SnapshotSnooze(id="p", key=key, until_ms=until) for key, until in snoozes],
        }
    )


def kinds(job: Pipeline) -> dict[int | None, str]:
    return {row.end_ms: row.kind for row in job.rows}


class TestSnoozes:
    def test_it_begins_with_the_next_events_and_ends_by_itself(self) -> None:
        job = pipeline(version(1, A))
        job.batch(letters("a", 1_000))
        snooze(job, (None, 1_200))
        job.batch(letters("a", 1_001))
        job.batch(letters("a", 1_199) + letters("a", 1_200), until_ms=2_000)
        told = {1_000: "match", 1_001: "suppressed", 1_199: "suppressed", 1_200: "match"}
        assert kinds(job) == told
        totals = job.job_status.totals
        assert (totals.matches, totals.suppressed) == (2, 2)

    def test_another_rule_and_another_key_are_not_concerned(self) -> None:
        job = pipeline(version(1, A), processor("q", version(1, A)))
        snooze(job, ("u", 9_000))
        job.batch([event("a", 1_000), event("a", 1_001, user="v")], until_ms=2_000)
        found = {(row.processor_id, row.end_ms): row.kind for row in job.rows}
        assert found == {
            ("p", 1_000): "suppressed",
            ("p", 1_001): "match",
            ("q", 1_000): "match",
            ("q", 1_001): "match",
        }

    def test_prolonged_shortened_or_ended_it_goes_on_or_is_over(self) -> None:
        job = pipeline(version(1, A))
        snooze(job, (None, 1_100))
        job.batch(letters("a", 1_000))
        snooze(job, (None, 1_200))
        job.batch(letters("a", 1_150))
        snooze(job, (None, 1_160))
        job.batch(letters("a", 1_155) + letters("a", 1_160))
        snooze(job, (None, 9_000))
        job.batch(letters("a", 1_170))
        snooze(job)
        job.batch(letters("a", 1_171), until_ms=2_000)
        told = [*["suppressed"] * 3, "match", "suppressed", "match"]
        assert [kind for _, kind in sorted(kinds(job).items())] == told

    def test_what_is_over_is_forgotten_with_the_next_change(self) -> None:
        job = pipeline(version(1, A))
        snooze(job, (None, 1_100))
        job.batch(letters("a", 1_000))
        assert [each.until_ms for each in job.timeline.snoozes] == [1_100]
        job.advance(1_500)
        job.advance(1_501)
        snooze(job)
        job.publish(processor("p", version(2, A)))
        job.batch(letters("a", 1_600))
        assert not job.timeline.snoozes

    def test_it_spends_neither_what_is_allowed_by_key_nor_the_budget(self) -> None:
        alert = {"suppress": {"for": "1 hour"}, "budget": {"for": "1 hour", "at_most": 1}}
        job = pipeline(version(1, A, alert=alert))
        snooze(job, (None, 1_002))
        job.batch(letters("aaaa", 1_000), until_ms=2_000)
        assert spelled(job.rows) == [
            "p1 suppressed a1000",
            "p1 suppressed a1001",
            "p1 match a1002",
            "p1 suppressed a1003",
        ]

    @pytest.mark.parametrize("wanted", [{"match"}, {"suppressed"}, {"error"}])
    def test_it_is_counted_whatever_outputs_take(self, wanted: set[str]) -> None:
        job = pipeline(version(1, A), wanted=frozenset(wanted))
        snooze(job, (None, 1_002))
        job.batch(letters("aaa", 1_000), until_ms=2_000)
        totals = job.job_status.totals
        assert (totals.matches, totals.suppressed) == (1, 2)
        assert {row.kind for row in job.rows} <= wanted

    def test_a_find_is_not_compared_with_the_snoozes_of_all_other_keys(self) -> None:
        compared = []

        class Key(str):
            __slots__ = ()
            __hash__ = str.__hash__

            def __eq__(self, other: object) -> bool:
                compared.append(other)
                return str(self) == other

        snoozes = [Snooze("p", Key(f"user {n}"), 1, 10) for n in range(500)]
        snoozed = SnoozedFinds([*snoozes, Snooze("p", Key("user 7"), 20, 30)])
        cell: Any = (None, 0, 1, {}, None)
        compared.clear()
        found = {
            time_ms: snoozed.is_snoozed("p", Detection("p", ("user 7",), cell, ("a",), time_ms))
            for time_ms in (1, 10, 20, 30)
        }
        assert found == {1: True, 10: False, 20: True, 30: False}
        assert not snoozed.is_snoozed("p", Detection("p", ("another",), cell, ("a",), 1))
        assert len(compared) <= 5


@slow_property()
@given(
    arrived=alerting_arrivals(),
    key=st.sampled_from([None, "u"]),
    lasts_ms=st.integers(1, 60),
    data=st.data(),
)
def test_it_is_the_same_however_events_come(
    *, arrived: tuple[int, list[Event]], key: str | None, lasts_ms: int, data: st.DataObject
) -> None:
    delay_ms, events = arrived
    begins = data.draw(st.integers(0, len(events)))
    plain = run_at_once(version(1, AB), arrived)
    newest_ms = max((each["ts"] for each in events[:begins]), default=None)
    from_ms = BEGINNING_MS if newest_ms is None else newest_ms + 1
    until_ms = (newest_ms or 1_000) + lasts_ms
    job = pipeline(version(1, AB), delay_ms=delay_ms)
    for number, part in enumerate((events[:begins], events[begins:])):
        if number:
            snooze(job, (key, until_ms))
        run_divided(job, list(part), data)
    job.advance(9_000)

    def as_told(row: OutputRow) -> Any:
        is_of_key = key is None or row.key == f'["{key}"]'
        is_snoozed = row.kind == "match" and is_of_key and from_ms <= (row.end_ms or 0) < until_ms
        return "suppressed" if is_snoozed else row.kind, row.match_id, row.end_ms

    found = Counter((row.kind, row.match_id, row.end_ms) for row in job.rows)
    assert found == Counter(map(as_told, plain.rows))
