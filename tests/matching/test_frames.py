"""Events and rows that are frames of Polars, pandas or Arrow."""

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cep.events.table import UnreadableEvents
from cep.matching.find_matches import find_matches, iter_matches
from cep.matching.match_recognize import match_recognize
from cep.pattern import Pattern

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON_MS = 1_767_268_800_000
EVENTS: list[dict[str, Any]] = [
    {"ts": NOON, "user": "ana", "amount": None, "tags": ["x"]},
    {"ts": NOON.replace(minute=1), "user": "ana", "amount": 7.5, "tags": []},
]
PATTERN = Pattern.begin("try").where("amount IS NULL").next("pay").where("amount > 7")
CLAUSE = """
    MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES p.amount AS amount, t.ts AS tried
      PATTERN (t p) DEFINE t AS amount IS NULL, p AS amount > 7)
"""
FRAMES: dict[str, Callable[[], Any]] = {
    "polars": lambda: pl.DataFrame(EVENTS),
    "pandas": lambda: pd.DataFrame(EVENTS),
    "pandas, types with NA": lambda: pd.DataFrame(EVENTS).convert_dtypes(),
    "pandas, time as index": lambda: pd.DataFrame(EVENTS).set_index("ts"),
    "arrow": lambda: pa.Table.from_pylist(EVENTS),
    "arrow, one batch": lambda: pa.RecordBatch.from_pylist(EVENTS),
    "arrow, batches to read": lambda: pa.Table.from_pylist(EVENTS).to_reader(),
}
UNREADABLE: dict[str, Callable[[], Any]] = {
    "polars.LazyFrame .* what its collect": lambda: pl.LazyFrame(EVENTS),
    "a list of mappings or objects, or a frame, not a dict": lambda: {"ts": [1, 2]},
    "not a str": lambda: "ts",
    "several columns called ts": lambda: pd.DataFrame([[1, 2]], columns=["ts", "ts"]),
    "pyarrow.*Table cannot be read": lambda: pa.table([[1], [2]], names=["ts", "ts"]),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_frame_is_matched_as_its_rows_are(frame: Callable[[], Any]) -> None:
    (match,) = find_matches(PATTERN, frame(), key_by="user").matches
    assert (match.key, match.at, match.time_ms) == ("ana", 1, NOON_MS + 60_000)
    assert match.steps == {"try": [EVENTS[0]], "pay": [EVENTS[1]]}
    assert [found.time_ms for found in iter_matches(PATTERN, frame())] == [match.time_ms]


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("schema", [None, "user STRING, ts TIMESTAMP, amount DOUBLE"])
def test_a_frame_shows_the_columns_of_its_rows(
    frame: Callable[[], Any], schema: str | None
) -> None:
    found = match_recognize(CLAUSE, frame(), schema=schema)
    assert found.dicts() == [{"user": "ana", "amount": 7.5, "tried": NOON}]


def test_of_a_series_of_structs_each_is_an_event() -> None:
    series = pl.DataFrame(EVENTS).to_struct("event")
    assert [match.at for match in find_matches(PATTERN, series).matches] == [1]


@pytest.mark.parametrize("told", UNREADABLE)
def test_a_frame_that_cannot_be_read_is_refused(told: str) -> None:
    with pytest.raises(UnreadableEvents, match=told):
        find_matches(PATTERN, UNREADABLE[told]())
    with pytest.raises(UnreadableEvents, match=told):
        match_recognize(CLAUSE, UNREADABLE[told]())


def test_a_dataframe_of_spark_is_refused_with_what_to_give() -> None:
    from pyspark.sql import DataFrame  # noqa: PLC0415 - only its class, without a session

    with pytest.raises(UnreadableEvents, match=r"pyspark\.DataFrame .* what its collect"):
        find_matches(PATTERN, cast("Any", object).__new__(DataFrame))


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([{"ts": 1}], "give the schema of the rows"),
        (pd.DataFrame({"ts": [1, "x"]}), "event 1: ts is 1, .* a schema"),
        (pd.DataFrame({"ts": []}), "shows no columns; give a schema"),
        (pl.DataFrame(), "shows no columns; give a schema"),
    ],
)
def test_rows_that_show_no_columns_need_a_schema(rows: Any, told: str) -> None:
    with pytest.raises(UnreadableEvents, match=told):
        match_recognize(CLAUSE, rows)


def test_neither_pandas_nor_arrow_is_imported_for_it() -> None:
    code = """
import sys
import polars as pl
from percept import Pattern, find_matches
frame = pl.DataFrame({"ts": [1, 2]})
print(len(find_matches(Pattern.begin("a"), frame).matches), {"pandas", "pyarrow"} & {*sys.modules})
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)  # noqa: S603 - our own code
    assert shown.stdout == "2 set()\n"
