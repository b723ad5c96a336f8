"""Rows exactly as Spark's Kafka source gives them → events of the stream."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from contract.snapshot import StreamDefinition
from processor_runtime.job_file.source import Source
from processor_runtime.spark.sources import EventsWanted, SourceError, rows_of, stream_frames
from processor_runtime.spark.sources.columns import stream_schema
from tests.processor_runtime.sources.streams import Event, events_of, malformed, stream

KAFKA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "timestampType INT, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
WRITTEN_AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def kafka(columns: dict[str, str] | None = None, **keys: Any) -> Source:
    options = {"kafka.bootstrap.servers": "kafka-1:9092", "subscribe": "logins"}
    return Source.model_validate(
        {"format": "kafka", "options": options, "columns": columns or {}} | keys
    )


def records(spark: SparkSession, *values: bytes | None) -> DataFrame:
    headers = [("trace", b"abc")]
    rows = [
        (b"ana", value, "logins", 3, 100 + number, WRITTEN_AT, 0, headers)
        for number, value in enumerate(values)
    ]
    return spark.createDataFrame(rows, KAFKA)


def read(frame: DataFrame, source: Source, definition: StreamDefinition) -> list[Event]:
    wanted = EventsWanted(definition.event_time_column)
    return events_of(
        *rows_of(frame, source, stream_schema(definition), stream_frames(definition, wanted))
    )


def test_a_value_of_json_becomes_the_columns_of_the_stream_in_their_order_and_types(
    spark: SparkSession,
) -> None:
    frame = records(
        spark, b'{"ts": "2026-05-01T10:00:00Z", "amount": 12.5, "more": 1, "user": "a"}'
    )
    definition = stream("user STRING, amount DECIMAL(10,2), ts TIMESTAMP, tags ARRAY<STRING>")

    (event,) = read(frame, kafka(), definition)

    assert event == {
        "_time_ms": 1_777_629_600_000,
        "user": "a",
        "amount": Decimal("12.50"),
        "ts": datetime(2026, 5, 1, 10, tzinfo=UTC),
        "tags": None,
        "_malformed": None,
        "_too_far_ahead_ms": None,
        "_place_in_kafka": {"topic": "logins", "partition": 3, "offset": 100},
    }
    assert list(event)[1:5] == ["user", "amount", "ts", "tags"]


def test_what_stands_beside_the_value_comes_under_names_of_the_job_file(
    spark: SparkSession,
) -> None:
    definition = stream(
        "action STRING, who STRING, partition INT, place BIGINT, written TIMESTAMP, topic STRING, "
        "headers ARRAY<STRUCT<key: STRING, value: STRING>>",
        "written",
    )
    same = {name: name for name in ("partition", "topic", "headers")}
    beside = same | {"who": "key", "place": "offset", "written": "timestamp"}
    frame = records(spark, b'{"action": "fail", "who": "not this"}')

    (event,) = read(frame, kafka(beside), definition)

    assert event == {
        "_time_ms": 1_777_636_800_000,
        "action": "fail",
        "who": "ana",
        "partition": 3,
        "place": 100,
        "written": WRITTEN_AT,
        "topic": "logins",
        "headers": [{"key": "trace", "value": "abc"}],
        "_place_in_kafka": {"topic": "logins", "partition": 3, "offset": 100},
        "_malformed": None,
        "_too_far_ahead_ms": None,
    }


def test_malformed_values_are_kept_with_text_place_and_reason(spark: SparkSession) -> None:
    frame = records(
        spark,
        b'{"user": "a", "amount": "many", "ts": "yesterday"}',
        b"{broken",
        b"",
        None,
        b"[1]",
        b'{"where": {"x": "far"}}',
        b"\xff\xfe\x00avro",
        b'{"user": "fine"}',
    )
    definition = stream("user STRING, amount BIGINT, ts TIMESTAMP, where STRUCT<x: INT>")

    rows = read(frame, kafka(), definition)

    skipping = read(frame, kafka(null_values="skip"), definition)
    assert skipping == [row for row in rows if "value is NULL" not in (row["_malformed"] or "")]
    assert len(skipping) == len(rows) - 1
    *bad, fine = rows
    assert fine["_malformed"] is None
    told = [malformed(row) for row in bad]
    assert [each["reason"] for each in told] == [
        "does not fit the stream's schema: amount, ts",
        *["not a JSON object"] * 2,
        "the value is NULL",
        "not a JSON object",
        "does not fit the stream's schema: where",
        "not a JSON object",
    ]
    assert told[0] == {
        "reason": "does not fit the stream's schema: amount, ts",
        "raw": '{"user": "a", "amount": "many", "ts": "yesterday"}',
        "topic": "logins",
        "partition": 3,
        "offset": 100,
    }
    assert told[6]["raw_base64"] == "//4AYXZybw=="
    assert "raw" not in told[6]
    assert (bad[0]["user"], bad[0]["amount"]) == ("a", None)


@pytest.mark.long
def test_a_column_beside_the_value_must_fit_its_type(spark: SparkSession) -> None:
    definition = stream("offset INT, ts TIMESTAMP")
    with pytest.raises(SourceError, match=r"'offset' is BIGINT, which cannot become INT"):
        read(records(spark), kafka({"offset": "offset"}), definition)


@pytest.mark.long
def test_text_of_any_length_null_and_odd_names_are_taken(spark: SparkSession) -> None:
    frame = records(spark, b'{"a.b `c`": "longer than two", "_": 1}')
    definition = stream("`a.b ``c``` VARCHAR(2), ts TIMESTAMP NOT NULL, `_` INT, topic STRING")

    (event,) = read(frame, kafka({"topic": "topic"}), definition)

    assert list(event.values())[1:5] == ["longer than two", None, 1, "logins"]
