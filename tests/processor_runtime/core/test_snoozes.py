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
from processor_runtime.schedule.timeline import Timeline
from processor_runtime.schedule.timeline_document import read_timeline, write_timeline
from processor_runtime.stages.shard_matcher import MatchSettings
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline
from tests.processor_runtime.core.published import (
    event,
    letters,
    processor,
    sequence,
    spelled,
    stream,
    version,
)
from tests.properties import slow_property

ALL_KINDS = frozenset({"match", "timeout", "side", "suppressed", "late", "error"})
A = {"steps": [{"name": "a", "where": "name = 'a'"}]}
AB = sequence("ab", within_ms=20)


def pipeline(delay_ms: int = 0, wanted: frozenset[str] = ALL_KINDS) -> Pipeline:
    return Pipeline(stream(delay_ms), Options(matching=MatchSettings(wanted)))


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
        job = pipeline()
        job.publish(processor("p", version(1, A)))
        job.batch(letters("a", 1_000))
        snooze(job, (None, 1_200))
        job.batch(letters("a", 1_001))
        job.batch(letters("a", 1_199) + letters("a", 1_200))
        job.advance(2_000)
        told = {1_000: "match", 1_001: "suppressed", 1_199: "suppressed", 1_200: "match"}
        assert kinds(job) == told
        totals = job.job_status.totals
        assert (totals.matches, totals.suppressed) == (2, 2)

    def test_another_rule_and_another_key_are_not_concerned(self) -> None:
        job = pipeline()
        job.publish(processor("p", version(1, A)), processor("q", version(1, A)))
        snooze(job, ("u", 9_000))
        job.batch([event("a", 1_000), event("a", 1_001, user="v")])
        job.advance(2_000)
        found = {(row.processor_id, row.end_ms): row.kind for row in job.rows}
        assert found == {
            ("p", 1_000): "suppressed",
            ("p", 1_001): "match",
            ("q", 1_000): "match",
            ("q", 1_001): "match",
        }

    def test_ended_early_it_is_over_for_the_next_events(self) -> None:
        job = pipeline()
        job.publish(processor("p", version(1, A)))
        snooze(job, (None, 9_000))
        job.batch(letters("a", 1_000))
        snooze(job)
        job.batch(letters("a", 1_001))
        job.advance(2_000)
        assert kinds(job) == {1_000: "suppressed", 1_001: "match"}

    def test_prolonged_or_shortened_it_goes_on(self) -> None:
        job = pipeline()
        job.publish(processor("p", version(1, A)))
        snooze(job, (None, 1_100))
        job.batch(letters("a", 1_000))
        snooze(job, (None, 1_200))
        job.batch(letters("a", 1_150))
        snooze(job, (None, 1_160))
        job.batch(letters("a", 1_155) + letters("a", 1_160))
        job.advance(2_000)
        assert [kind for _, kind in sorted(kinds(job).items())] == [*["suppressed"] * 3, "match"]

    def test_what_is_over_is_forgotten_with_the_next_change(self) -> None:
        job = pipeline()
        job.publish(processor("p", version(1, A)))
        snooze(job, (None, 1_100))
        job.batch(letters("a", 1_000))
        assert [each.until_ms for each in job.timeline.snoozes] == [1_100]
        job.advance(1_500)
        job.advance(1_501)
        snooze(job)
        job.publish(processor("p", version(2, A)))
        job.batch(letters("a", 1_600))
        assert not job.timeline.snoozes

    def test_timeouts_go_out(self) -> None:
        job = pipeline()
        job.publish(processor("p", version(1, AB)))
        snooze(job, (None, 9_000))
        job.batch(letters("ab", 1_000) + letters("a", 1_100))
        job.advance(2_000)
        assert Counter(row.kind for row in job.rows) == {"suppressed": 1, "timeout": 1}

    def test_it_spends_neither_what_is_allowed_by_key_nor_the_budget(self) -> None:
        alert = {"suppress": {"for": "1 hour"}, "budget": {"for": "1 hour", "at_most": 1}}
        job = pipeline()
        job.publish(processor("p", version(1, A, alert=alert)))
        snooze(job, (None, 1_002))
        job.batch(letters("aaaa", 1_000))
        job.advance(2_000)
        assert spelled(job.rows) == [
            "p1 suppressed a1000",
            "p1 suppressed a1001",
            "p1 match a1002",
            "p1 suppressed a1003",
        ]

    @pytest.mark.parametrize("wanted", [{"match"}, {"suppressed"}, {"error"}])
    def test_it_is_counted_whatever_outputs_take(self, wanted: set[str]) -> None:
        job = pipeline(wanted=frozenset(wanted))
        job.publish(processor("p", version(1, A)))
        snooze(job, (None, 1_002))
        job.batch(letters("aaa", 1_000))
        job.advance(2_000)
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

    def test_a_timeline_with_snoozes_comes_back(self) -> None:
        snoozed = Timeline(snoozes=(Snooze("p", None, BEGINNING_MS, 5), Snooze("p", "u", 1, 2)))
        assert read_timeline(write_timeline(snoozed, stream()))[0] == snoozed


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[int, list[Event]]:
    delay_ms = draw(st.sampled_from([0, 5]))
    arriving = []
    time_ms = 1_000
    for place in range(draw(st.integers(1, 40))):
        time_ms += draw(st.sampled_from([0, 1, 3, 9]))
        happened = event(draw(st.sampled_from("ab")), time_ms, user=draw(st.sampled_from("uv")))
        arriving.append((time_ms + draw(st.integers(0, delay_ms)), place, happened))
    return delay_ms, [happened for *_, happened in sorted(arriving, key=lambda item: item[:2])]


@slow_property()
@given(
    arrived=arrivals(),
    key=st.sampled_from([None, "u"]),
    lasts_ms=st.integers(1, 60),
    data=st.data(),
)
def test_it_is_the_same_however_events_come(
    *, arrived: tuple[int, list[Event]], key: str | None, lasts_ms: int, data: st.DataObject
) -> None:
    delay_ms, events = arrived
    begins = data.draw(st.integers(0, len(events)))
    plain = pipeline(delay_ms)
    plain.publish(processor("p", version(1, AB)))
    plain.batch(events)
    plain.advance(9_000)
    newest_ms = max((each["ts"] for each in events[:begins]), default=None)
    from_ms = BEGINNING_MS if newest_ms is None else newest_ms + 1
    until_ms = (newest_ms or 1_000) + lasts_ms
    job = pipeline(delay_ms)
    job.publish(processor("p", version(1, AB)))
    for number, part in enumerate((events[:begins], events[begins:])):
        if number:
            snooze(job, (key, until_ms))
        rest = part
        while rest:
            size = data.draw(st.integers(1, len(rest)))
            job.batch(rest[:size])
            match data.draw(st.sampled_from(["on", "on", "replay", "restart"])):
                case "replay":
                    job.replay()
                case "restart":
                    job.restart()
                case _:
                    pass
            rest = rest[size:]
    job.advance(9_000)

    def as_told(row: OutputRow) -> Any:
        is_of_key = key is None or row.key == f'["{key}"]'
        is_snoozed = row.kind == "match" and is_of_key and from_ms <= (row.end_ms or 0) < until_ms
        return "suppressed" if is_snoozed else row.kind, row.match_id, row.end_ms

    found = Counter((row.kind, row.match_id, row.end_ms) for row in job.rows)
    assert found == Counter(map(as_told, plain.rows))
