"""Rows of every type that the worker sorts: any rows, cut anywhere, as Python sorts them."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.spark.row_order import SortColumn, SortMemoryError, WorkerSort

ARRIVAL = SortColumn("arrival")
VALUES: dict[str, tuple[pl.DataType, list[Any]]] = {
    "whole": (pl.Int64(), [3, -(2**63), 2**63 - 1, 0, None]),
    "small": (pl.Int8(), [1, 2, -128, None]),
    "real": (pl.Float64(), [0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, None]),
    "text": (pl.String(), ["", "a", "B", "ä", "\ue000", "😀", "a" * 40, "a" * 41, None]),
    "exact": (pl.Decimal(38, 2), [Decimal("0.01"), Decimal("-99999999999.99"), None]),
    "day": (pl.Date(), [date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31), None]),
    "moment": (
        pl.Datetime("us", "UTC"),
        [datetime(1969, 1, 1, 0, 0, 0, 1, UTC), datetime(2024, 1, 1, tzinfo=UTC), None],
    ),
    "flag": (pl.Boolean(), [True, False, None]),
}
SCHEMA = {name: data_type for name, (data_type, _) in VALUES.items()}


@st.composite
def frames(draw: st.DrawFn) -> list[pl.DataFrame]:
    """Return rows of every type, which have come in any order, cut anywhere."""
    row = st.tuples(*(st.sampled_from(values) for _, values in VALUES.values()))
    rows = draw(st.lists(row, min_size=1, max_size=60))
    arrivals = draw(st.permutations(range(len(rows))))
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    frame = frame.with_columns(arrival=pl.Series(arrivals, dtype=pl.Int64))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=8)))
    return [frame[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def columns() -> st.SearchStrategy[list[SortColumn]]:
    """Return some columns, one of them perhaps twice."""
    names = st.sampled_from(list(VALUES))
    column = st.builds(SortColumn, names, is_descending=st.booleans(), nulls_last=st.booleans())
    return st.lists(column, max_size=3)


def rank(value: Any) -> Any:
    """Return what a value is ordered by: NaN is the greatest, texts go by their bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def expected(rows: pl.DataFrame, order: list[SortColumn]) -> list[int]:
    """Return the arrivals of rows in order, by Python's sort."""
    found = rows.sort("arrival").rows(named=True)
    for column in reversed(order):
        known = [row for row in found if row[column.name] is not None]
        nothing = [row for row in found if row[column.name] is None]
        known.sort(key=lambda row: rank(row[column.name]), reverse=column.is_descending)
        found = known + nothing if column.nulls_last else nothing + known
    return [row["arrival"] for row in found]


@given(frames(), columns())
def test_any_rows_are_in_order(given_frames: list[pl.DataFrame], order: list[SortColumn]) -> None:
    rows = pl.concat(given_frames)
    found = pl.concat(WorkerSort((*order, ARRIVAL), 10**9).sorted(given_frames))
    assert found["arrival"].to_list() == expected(rows, order)
    assert found.sort("arrival").equals(rows.sort("arrival"))


def test_as_much_is_sorted_as_fits_with_its_sorted_copy() -> None:
    frame = pl.DataFrame({"arrival": range(1_000)}).reverse()
    frames = [frame[:500], frame[500:]]
    size = int(frame.estimated_size())
    (found,) = WorkerSort((ARRIVAL,), 2 * size).sorted(frames)
    assert found["arrival"].to_list() == list(range(1_000))
    with pytest.raises(SortMemoryError):
        next(WorkerSort((ARRIVAL,), 2 * size - 1).sorted(frames))
    assert not list(WorkerSort((ARRIVAL,), 0).sorted([]))
