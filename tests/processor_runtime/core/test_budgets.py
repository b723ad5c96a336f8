"""A rule gives out so many matches of all keys in a time: beside a run without, for any batches."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.definition.checking import check_definition
from cep.definition.document import ProcessorContent
from cep.expression import Schema
from contract.snapshot import SnapshotRollout
from processor_runtime.alerting.budgets import Spent, Window
from processor_runtime.driver.alert_state import read_spent, write_spent
from processor_runtime.rows.output_rows import OutputRow
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


def pipeline(delay_ms: int = 0, wanted: frozenset[str] = ALL_KINDS, shards: int = 2) -> Pipeline:
    return Pipeline(stream(delay_ms), Options(shards=shards, matching=MatchSettings(wanted)))


def alert(at_most: int, for_time: int | str = 10, **more: Any) -> dict[str, Any]:
    return {"budget": {"for": for_time, "at_most": at_most}, **more}


class TestOneRule:
    def test_the_first_of_all_keys_go_out_and_the_next_window_has_a_budget_of_its_own(
        self,
    ) -> None:
        job = pipeline()
        job.publish(processor("p", version(1, A, alert=alert(2))))
        job.batch([event("a", 1_000 + n, user=f"user {n}") for n in range(12)])
        job.advance(2_000)
        told = {row.end_ms: row.kind for row in job.rows}
        going = {1_000, 1_001, 1_010, 1_011}
        assert told == {
            time_ms: "match" if time_ms in going else "suppressed"
            for time_ms in range(1_000, 1_012)
        }
        totals = job.job_status.totals
        assert (totals.matches, totals.suppressed) == (4, 8)
        assert all(row.tag is None for row in job.rows)

    def test_it_says_that_it_is_throttled_until_the_window_is_over(self) -> None:
        job = pipeline()
        job.publish(processor("p", version(1, A, alert=alert(2, "1 second"))))

        def throttled() -> int | None:
            (found,) = job.job_status.versions
            return found.throttled_until_ms

        job.batch(letters("aa", 1_000))
        job.advance(1_100)
        assert throttled() is None
        job.batch(letters("a", 1_200))
        job.advance(1_300)
        assert throttled() == 2_000
        job.restart()
        job.advance(1_400)
        assert throttled() == 2_000
        job.advance(2_000)
        assert throttled() is None
        assert job.alerts.spent == {}

    def test_an_update_is_no_reason_to_spend_it_again(self) -> None:
        job = pipeline()
        job.publish(processor("p", version(1, A, alert=alert(2, "1 hour"))))
        job.batch(letters("aa", 1_000))
        job.publish(processor("p", version(2, A, alert=alert(3, "1 hour"))))
        job.batch(letters("aa", 1_002))
        job.advance(2_000)
        assert spelled(job.rows) == [
            "p1 match a1000",
            "p1 match a1001",
            "p2 match a1002",
            "p2 suppressed a1003",
        ]

    def test_what_a_shadow_finds_spends_nothing(self) -> None:
        job = pipeline(wanted=ALL_KINDS | {"shadow"})
        tried = SnapshotRollout(id="p", version=version(2, A, alert=alert(1)), share=0)
        job.publish(processor("p", version(1, A, alert=alert(1))), rollouts=[tried])
        job.batch(letters("aa", 1_000))
        job.advance(2_000)
        kinds = Counter((row.version, row.kind) for row in job.rows)
        assert kinds == {(1, "match"): 1, (1, "suppressed"): 1, (2, "shadow"): 2}

    def test_what_is_suppressed_spends_nothing(self) -> None:
        job = pipeline()
        both = alert(2, "1 hour", suppress={"for": "1 hour"})
        job.publish(processor("p", version(1, A, alert=both)))
        job.batch([event("a", 1_000 + n, user="uvw"[n // 2]) for n in range(6)])
        job.advance(2_000)
        assert {row.end_ms for row in job.rows if row.kind == "match"} == {1_000, 1_002}
        totals = job.job_status.totals
        assert (totals.matches, totals.suppressed) == (2, 4)

    def test_all_rows_of_a_match_go_out_or_none(self) -> None:
        clause = (
            "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES A.price AS price "
            "ALL ROWS PER MATCH PATTERN (A A A) DEFINE A AS name = 'a')"
        )
        rule = version(1, {"match_recognize": clause}, key_by=None, alert=alert(1, "1 hour"))
        job = pipeline()
        job.publish(processor("p", rule))
        job.batch([event("a", 1_000 + n, price=n) for n in range(9)])
        job.advance(2_000)
        found = [(row.kind, row.end_ms) for row in job.rows]
        assert Counter(found) == {
            ("match", 1_002): 3,
            ("suppressed", 1_005): 3,
            ("suppressed", 1_008): 3,
        }
        assert all(row.tag is None for row in job.rows)
        assert (job.job_status.totals.matches, job.job_status.totals.suppressed) == (1, 2)

    def test_it_is_kept_even_if_no_output_takes_matches(self) -> None:
        job = pipeline(wanted=frozenset({"error"}))
        job.publish(processor("p", version(1, A, alert=alert(1, "1 hour"))))
        job.batch(letters("aaa", 1_000))
        job.advance(2_000)
        totals = job.job_status.totals
        assert (totals.matches, totals.suppressed) == (1, 2)

    @pytest.mark.parametrize(
        ("written", "path"),
        [
            ({"for": "1 hour"}, "alert.budget.at_most"),
            ({"at_most": 1}, "alert.budget.for"),
            ({"at_most": 0, "for": "1 hour"}, "alert.budget.at_most"),
            ({"at_most": 100_001, "for": "1 hour"}, "alert.budget.at_most"),
            ({"at_most": True, "for": "1 hour"}, "alert.budget.at_most"),
            ({"at_most": 1, "for": "soon"}, "alert.budget.for"),
            ({"at_most": 1, "for": "1 hour", "by": []}, "alert.budget.by"),
        ],
    )
    def test_what_cannot_be_is_refused(self, written: dict[str, Any], path: str) -> None:
        document = {"pattern": A, "alert": {"budget": written}}
        schema = Schema.from_ddl("name STRING, price BIGINT")
        checked = check_definition(document, schema, ProcessorContent)
        assert [problem.path for problem in checked.problems] == [path]

    def test_what_is_kept_reads_as_it_was(self) -> None:
        spent = {Window("p", -10, 0): Spent(3, 0), Window("q", 0, 10): Spent(1, 2)}
        assert read_spent(write_spent(spent)) == spent


@st.composite
def arrivals(draw: st.DrawFn) -> tuple[int, list[Event]]:
    delay_ms = draw(st.sampled_from([0, 5]))
    arriving = []
    time_ms = 1_000
    for place in range(draw(st.integers(1, 50))):
        time_ms += draw(st.sampled_from([0, 0, 1, 3, 9]))
        happened = event(draw(st.sampled_from("ab")), time_ms, user=draw(st.sampled_from("uvwxyz")))
        arriving.append((time_ms + draw(st.integers(0, delay_ms)), place, happened))
    return delay_ms, [happened for *_, happened in sorted(arriving, key=lambda item: item[:2])]


def told(rows: Iterable[OutputRow]) -> Counter[tuple[str, str | None, int | None]]:
    return Counter(
        (row.kind, row.match_id, row.end_ms) for row in rows if row.kind in {"match", "suppressed"}
    )


@slow_property()
@given(
    arrived=arrivals(),
    for_ms=st.sampled_from([1, 7, 20, 1_000]),
    at_most=st.integers(1, 4),
    shards=st.integers(1, 4),
    data=st.data(),
)
def test_the_same_goes_out_however_events_come(
    *,
    arrived: tuple[int, list[Event]],
    for_ms: int,
    at_most: int,
    shards: int,
    data: st.DataObject,
) -> None:
    delay_ms, events = arrived
    plain = pipeline(delay_ms)
    plain.publish(processor("p", version(1, AB)))
    plain.batch(events)
    plain.advance(9_000)
    job = pipeline(delay_ms, shards=shards)
    job.publish(processor("p", version(1, AB, alert=alert(at_most, for_ms))))
    rest = events
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
    assert told(job.rows) == told(by_hand(plain.rows, for_ms, at_most))
    throttled = sum(row.kind == "suppressed" for row in job.rows)
    assert sum(status.totals.suppressed for status in job.job_status.versions) <= throttled


def by_hand(rows: Iterable[OutputRow], for_ms: int, at_most: int) -> Iterable[OutputRow]:
    """Yield the rows of a run without a budget as they should go out."""
    out = Counter[int]()
    matches = [row for row in rows if row.kind == "match"]
    for row in sorted(matches, key=lambda row: (row.end_ms or 0, row.match_id or "")):
        window = (row.end_ms or 0) // for_ms
        goes = out[window] < at_most
        out[window] += goes
        yield row if goes else row._replace(kind="suppressed")
