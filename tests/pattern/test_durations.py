"""Durations as people write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.pattern.durations import LONGEST_MS, duration_ms, duration_text


@pytest.mark.parametrize(
    ("duration", "expected_ms"),
    [
        (1500, 1500),
        (0, 0),
        ("10 minutes", 600_000),
        ("10minutes", 600_000),
        ("1h 30m", 5_400_000),
        ("1h30m", 5_400_000),
        (" 1 Day 2 HOURS ", 93_600_000),
        ("5 ms", 5),
        ("90 sec", 90_000),
        ("PT10M", 600_000),
        ("P1DT2H", 93_600_000),
        ("PT0.001S", 1),
        ("P2W", 1_209_600_000),
        ("1 week 1d", 691_200_000),
        (timedelta(seconds=1.5), 1500),
    ],
)
def test_a_duration_is_read_to_milliseconds(
    duration: int | str | timedelta, expected_ms: int
) -> None:
    assert duration_ms(duration) == expected_ms


@pytest.mark.parametrize(
    ("duration", "reason"),
    [
        ("10", "not a duration"),
        ("", "not a duration"),
        ("ten minutes", "not a duration"),
        ("10 minutes and", "not a duration"),
        ("10 parsecs", "'parsecs' in '10 parsecs' is not a unit"),
        ("-5 s", "not a duration"),
        (-5, "out of range"),
        ("-PT5S", "out of range"),
        ("P1M", "no fixed length"),
        ("P1Y2D", "no fixed length"),
        ("Pfoo", "not an ISO-8601"),
        ("PT0.0001S", "whole number of milliseconds"),
        (timedelta(microseconds=1), "whole number of milliseconds"),
        (2**63, "out of range"),
        ("9999999999999999999 days", "out of range"),
        (True, "not a duration"),
        (1.5, "not a duration"),
    ],
)
def test_what_is_no_duration_is_refused_with_the_reason(duration: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        duration_ms(duration)  # type: ignore[arg-type] # wrong types on purpose


@given(st.integers(min_value=0, max_value=LONGEST_MS))
def test_the_text_of_a_duration_is_read_back(milliseconds: int) -> None:
    assert duration_ms(duration_text(milliseconds)) == milliseconds


def test_the_text_of_a_duration_reads_well() -> None:
    assert duration_text(5_400_001) == "1 hour 30 minutes 1 millisecond"
    assert duration_text(0) == "0 milliseconds"
