"""`values:` of a source: columns that are computed from what was read, and what cannot be."""

import json
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from cep.expression import EvaluationError, Schema
from processor_runtime.sources import computed_columns
from processor_runtime.sources.computed_columns import ComputedColumns
from processor_runtime.sources.event_frames import EventFrames
from processor_runtime.sources.tick_events import TickEvents

READ = Schema.from_ddl("user STRING, cents BIGINT, at TIMESTAMP")
COLUMNS = {"user": pl.String(), "kind": pl.String(), "amount": pl.Int16(), "ts": pl.Int64()}
ROWS = pl.DataFrame(
    {
        "user": ["a", "b", "c"],
        "cents": [250, 7_000_000, None],
        "at": [datetime(2026, 5, day, tzinfo=UTC) for day in (1, 2, 3)],
    },
    schema_overrides={"at": pl.Datetime("us", "UTC")},
)


def added(**texts: str) -> tuple[list[dict[str, Any]], dict[int, str]]:
    rows, reasons = ComputedColumns(READ, tuple(texts.items())).added_to(ROWS, COLUMNS)
    return rows.to_dicts(), reasons


def test_a_constant_and_an_expression_have_the_types_of_their_columns() -> None:
    rows, reasons = added(kind="'pay'", ts="cents * 2", user="CONCAT(user, '!')")
    assert [(row["kind"], row["ts"], row["user"]) for row in rows] == [
        ("pay", 500, "a!"),
        ("pay", 14_000_000, "b!"),
        ("pay", None, "c!"),
    ]
    assert reasons == {}


def test_what_does_not_fit_is_malformed_and_null_is_not() -> None:
    rows, reasons = added(amount="cents")
    assert [row["amount"] for row in rows] == [250, None, None]
    assert reasons == {1: "does not fit the stream's schema: amount"}


def test_where_an_expression_fails_the_other_rows_are_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(rows: pl.DataFrame) -> pl.DataFrame:
        if "b" in rows.get_column("user").to_list():
            raise EvaluationError("no")
        return rows

    expression = pl.struct("user").map_batches(
        lambda s: failing(s.struct.unnest()).get_column("user"), return_dtype=pl.String()
    )
    monkeypatch.setattr(computed_columns, "_compiled", lambda _: [("kind", expression)])
    rows, reasons = added(kind="user")
    assert [row["kind"] for row in rows] == ["a", None, "c"]
    assert reasons == {1: "kind: it cannot be computed"}


def test_a_row_that_cannot_be_computed_is_no_event_and_keeps_what_was_read() -> None:
    computed = ComputedColumns(READ, (("amount", "cents"), ("kind", "'pay'"), ("ts", "cents")))
    columns = pa.schema(
        [("user", pa.string()), ("kind", pa.string()), ("amount", pa.int16()), ("ts", pa.int64())]
    )
    frames = EventFrames.of_schema(columns, "ts", computed=computed)
    found = frames.of(ROWS, 10**12, {2: "unread"}).to_dicts()
    assert [row["_time_ms"] for row in found] == [250, None, None]
    told = json.loads(found[1]["_malformed"])
    assert told["reason"] == "does not fit the stream's schema: amount"
    assert json.loads(told["raw"]) == {
        "user": "b",
        "cents": 7_000_000,
        "at": "2026-05-02 00:00:00+00:00",
    }
    assert found[2]["_malformed"] == "unread"
    # Rows that stand for a file that breaks off, and ticks, are computed from nothing.
    assert len(frames.of(frames.nothing(1), 0, {0: "broken"})) == 1


def test_each_row_of_ticks_is_one() -> None:
    columns = pa.schema([("user", pa.string()), ("ts", pa.int64())])
    ticks = TickEvents(EventFrames.of_schema(columns, "ts"))
    batch = pa.RecordBatch.from_pylist([{"_tick": 1}, {"_tick": 1}])
    (found,) = ticks([batch], lambda: 0)
    assert found.get_column("_tick").to_list() == [1, 1]
