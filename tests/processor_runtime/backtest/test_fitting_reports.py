"""Reports of backtests are made small enough for the service, and told whatever they were."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.instants import iso_text
from contract.backtest_text import report_lines
from contract.backtests import (
    REPORT_BYTES,
    BacktestDifference,
    BacktestReport,
    FoundExample,
    PlacedMatch,
    RuleReport,
)
from processor_runtime.backtest.worker.fitting import fitting
from tests.properties import slow_property

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
YEAR_MS = 366 * DAY_MS
START_MS = 1_790_000_000_000 // HOUR_MS * HOUR_MS


def report(by_hour: dict[str, int], **more: Any) -> BacktestReport:
    example = FoundExample(match_id="m", key="eve", start="s", end="e", output=None, events={})
    rule = RuleReport(
        rule="failed-logins",
        matches=sum(by_hour.values()),
        timeouts=0,
        suppressed=0,
        left_out=0,
        partial_matches_at_most=1,
        partial_matches_at_the_end=0,
        error=None,
        by_hour=by_hour,
        keys=1,
        top_keys={"eve": 1},
        samples=[example],
    )
    return BacktestReport(
        events=1,
        unusable_events=0,
        first_event=None,
        last_event=None,
        seconds=1.0,
        events_per_second=1,
        peak_state_bytes=1,
        problems=[],
        rules=[rule.model_copy(update=more)],
    )


@pytest.mark.parametrize(
    ("step_ms", "counted_by", "told"),
    [
        (HOUR_MS, "day", "busiest days"),
        (DAY_MS, "month", "busiest months"),
        (73 * DAY_MS, "year", "busiest years"),
    ],
)
def test_hours_that_are_too_many_are_counted_by_longer_times(
    step_ms: int, counted_by: str, told: str
) -> None:
    whole = report({iso_text(place * step_ms): 1 for place in range(40_000)})
    fit = fitting(whole)
    assert len(fit.model_dump_json()) <= REPORT_BYTES < len(whole.model_dump_json())
    (rule,) = fit.rules
    assert (rule.counted_by, sum(rule.by_hour.values())) == (counted_by, 40_000)
    assert rule.samples == whole.rules[0].samples
    assert told in "\n".join(report_lines(fit))


def test_texts_without_bound_are_cut_at_last() -> None:
    place = PlacedMatch(key="y" * 600_000, end="e")
    compared = BacktestDifference(
        both=0, gained=1, lost=1, first_gained=[place], first_lost=[place]
    )
    whole = report({iso_text(START_MS): 1}, top_keys={"é" * 600_000: 1}, against=compared)
    fit = fitting(whole.model_copy(update={"problems": ["z" * 600_000]}))
    assert len(fit.model_dump_json().encode()) <= REPORT_BYTES
    assert fit.rules[0].by_hour == whole.rules[0].by_hour
    assert "matches          1 on 1 key" in "\n".join(report_lines(fit))


def test_a_report_that_fits_stays_as_it_is() -> None:
    whole = report({iso_text(START_MS + place * HOUR_MS): 2 for place in range(1_000)})
    assert fitting(whole) == whole


@pytest.mark.long
@slow_property()
@given(st.lists(st.integers(0, 8_000 * YEAR_MS // HOUR_MS), min_size=1, max_size=50))
def test_no_match_is_lost_however_times_lie(hours: list[int]) -> None:
    counts = Counter(iso_text(hour * HOUR_MS) for hour in hours)
    padding = {iso_text(place * HOUR_MS): 0 for place in range(40_000)}
    (rule,) = fitting(report(padding | counts)).rules
    assert sum(rule.by_hour.values()) == len(hours)
    assert {begin[:4] for begin, count in rule.by_hour.items() if count} == {
        hour[:4] for hour in counts
    }
