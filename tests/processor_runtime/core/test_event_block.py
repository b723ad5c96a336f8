"""Blocks of events: whatever Spark has for a value comes back."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

import polars as pl
import pytest

from processor_runtime.rows.event_block import TIME, Arrival, decode_events, encode_events

VALUES: Final = {
    "texts": pl.Series(["a" * 20, None, ""]),
    "integers": pl.Series([-(2**63), None, 2**63 - 1]),
    "bytes of one": pl.Series([-128, None, 127], dtype=pl.Int8),
    "floats": pl.Series([1.5, None, float("inf")]),
    "short floats": pl.Series([1.5, None, -0.0], dtype=pl.Float32),
    "flags": pl.Series([True, None, False]),
    "bytes": pl.Series([b"\x00", None, b""]),
    "decimals": pl.Series([Decimal("1.20"), None, Decimal(-3)], dtype=pl.Decimal(38, 18)),
    "dates": pl.Series([date(1, 1, 1), None, date(9999, 12, 31)]),
    "times": pl.Series([datetime(2026, 1, 1, tzinfo=UTC), None, datetime(1, 1, 1, tzinfo=UTC)]),
    "times without a zone": pl.Series([1, None, -1], dtype=pl.Datetime("us")),
    "durations": pl.Series([timedelta(days=-1), None, timedelta(microseconds=1)]),
    "lists": pl.Series([[1, None], None, []]),
    "lists of structs": pl.Series([[{"a": "x" * 30, "b": None}], None, []]),
    "structs": pl.Series([{"a": [1], "b": "x"}, None, {"a": None, "b": None}]),
    "nulls": pl.Series([None, None, None]),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_events_come_back_from_blocks(values: pl.Series) -> None:
    events = pl.DataFrame({TIME: [3, -1, 2], "value": values})
    block = encode_events("g", Arrival(4, 0), events)
    assert (block.from_ms, block.until_ms, block.count) == (-1, 3, 3)
    found = decode_events(block.data)
    assert found.schema == events.schema
    assert found.equals(events)


def test_a_block_has_no_texts_of_events_that_are_not_in_it() -> None:
    events = pl.DataFrame({TIME: range(20_000), "text": [f"{n:050}" for n in range(20_000)]})
    for some in (events[700:703], events[[1, 500, 9_000]]):
        assert len(encode_events("g", Arrival(0, 0), some).data) < 2_000
