"""Points in time as milliseconds, the same wherever they come from."""

from datetime import UTC, date, datetime, timedelta, timezone

import polars as pl
import pytest

from cep.instants import epoch_ms, time_ms_of
from cep.matching.find_matches import to_time_ms

JUST_BEFORE_1970 = datetime(1969, 12, 31, 23, 59, 59, 999_500, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (datetime(1970, 1, 1, 0, 0, 1, 1_999, tzinfo=UTC), 1_001),
        (JUST_BEFORE_1970, -1),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0),
        (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), 253_402_300_799_999),
        (datetime(1970, 1, 2), 86_400_000),  # noqa: DTZ001 - a time without a zone is UTC
    ],
)
def test_all_ways_to_read_a_time_agree(moment: datetime, expected: int) -> None:
    assert epoch_ms(moment) == to_time_ms(moment) == time_ms_of(moment) == expected
    in_a_frame = pl.Series([moment]).dt.epoch("ms")
    assert in_a_frame.to_list() == [expected]


def test_a_day_is_the_time_it_begins() -> None:
    assert time_ms_of(date(1969, 12, 31)) == -86_400_000
