"""A rule gives out so many matches of all keys in a time: beside a run without, for any batches."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from contract.snapshot import SnapshotRollout
from processor_runtime.rows.output_rows import OutputRow
from tests.letters import event, letters, processor, spelled, version
from tests.processor_runtime.core.alert_jobs import (
    AB,
    ALL_KINDS,
    ALL_ROWS,
    A,
    alerting_arrivals,
    pipeline,
    run_at_once,
    run_divided,
)
from tests.processor_runtime.core.pipeline import Event
from tests.properties import slow_property


def alert(at_most: int, for_time: int | str = 10, **more: Any) -> dict[str, Any]:
    return {"budget": {"for": for_time, "at_most": at_most}, **more}


class TestOneRule:
    def test_the_first_of_all_keys_go_out_and_the_next_window_has_a_budget_of_its_own(self) -> None:
        job = pipeline(version(1, A, alert=alert(2)))
        job.batch([event("a", 1_000 + n, user=f"user {n}") for n in range(12)], until_ms=2_000)
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
        job = pipeline(version(1, A, alert=alert(2, "1 second")))

        def throttled() -> int | None:
            (found,) = job.job_status.versions
            return found.throttled_until_ms

        job.batch(letters("aa", 1_000), until_ms=1_100)
        assert throttled() is None
        job.batch(letters("a", 1_200), until_ms=1_300)
        assert throttled() == 2_000
        job.restart()
        job.advance(1_400)
        assert throttled() == 2_000
        job.advance(2_000)
        assert throttled() is None
        assert job.alerts.spent == {}

    def test_an_update_is_no_reason_to_spend_it_again(self) -> None:
        job = pipeline(version(1, A, alert=alert(2, "1 hour")))
        job.batch(letters("aa", 1_000))
        job.publish(processor("p", version(2, A, alert=alert(3, "1 hour"))))
        job.batch(letters("aa", 1_002), until_ms=2_000)
        assert spelled(job.rows) == [
            "p1 match a1000",
            "p1 match a1001",
            "p2 match a1002",
            "p2 suppressed a1003",
        ]

    def test_what_a_shadow_finds_spends_nothing(self) -> None:
        tried = SnapshotRollout(id="p", version=version(2, A, alert=alert(1)), share=0)
        rule, wanted = version(1, A, alert=alert(1)), ALL_KINDS | {"shadow"}
        job = pipeline(rule, rollouts=[tried], wanted=wanted)
        job.batch(letters("aa", 1_000), until_ms=2_000)
        kinds = Counter((row.version, row.kind) for row in job.rows)
        assert kinds == {(1, "match"): 1, (1, "suppressed"): 1, (2, "shadow"): 2}

    def test_what_is_suppressed_spends_nothing(self) -> None:
        both = alert(2, "1 hour", suppress={"for": "1 hour"})
        job = pipeline(version(1, A, alert=both))
        job.batch([event("a", 1_000 + n, user="uvw"[n // 2]) for n in range(6)], until_ms=2_000)
        assert {row.end_ms for row in job.rows if row.kind == "match"} == {1_000, 1_002}
        totals = job.job_status.totals
        assert (totals.matches, totals.suppressed) == (2, 4)

    def test_all_rows_of_a_match_go_out_or_none(self) -> None:
        job = pipeline(version(1, ALL_ROWS, key_by=None, alert=alert(1, "1 hour")))
        job.batch([event("a", 1_000 + n, price=n) for n in range(9)], until_ms=2_000)
        found = [(row.kind, row.end_ms) for row in job.rows]
        assert Counter(found) == {
            ("match", 1_002): 3,
            ("suppressed", 1_005): 3,
            ("suppressed", 1_008): 3,
        }
        assert all(row.tag is None for row in job.rows)
        assert (job.job_status.totals.matches, job.job_status.totals.suppressed) == (1, 2)

    def test_it_is_kept_even_if_no_output_takes_matches(self) -> None:
        job = pipeline(version(1, A, alert=alert(1, "1 hour")), wanted=frozenset({"error"}))
        job.batch(letters("aaa", 1_000), until_ms=2_000)
        totals = job.job_status.totals
        assert (totals.matches, totals.suppressed) == (1, 2)


def told(rows: Iterable[OutputRow]) -> Counter[tuple[str, str | None, int | None]]:
    return Counter(
        (row.kind, row.match_id, row.end_ms) for row in rows if row.kind in {"match", "suppressed"}
    )


@slow_property()
@given(
    arrived=alerting_arrivals("uvwxyz"),
    for_ms=st.sampled_from([1, 7, 20, 1_000]),
    at_most=st.integers(1, 4),
    shards=st.integers(1, 4),
    data=st.data(),
)
def test_the_same_goes_out_however_events_come(
    *, arrived: tuple[int, list[Event]], for_ms: int, at_most: int, shards: int, data: st.DataObject
) -> None:
    delay_ms, events = arrived
    plain = run_at_once(version(1, AB), arrived)
    job = pipeline(version(1, AB, alert=alert(at_most, for_ms)), delay_ms=delay_ms, shards=shards)
    run_divided(job, events, data)
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
