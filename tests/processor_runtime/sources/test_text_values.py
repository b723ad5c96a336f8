"""What a text is in a column of each type, in the JSON and CSV of a job and of an archive.

A locale, a spreadsheet or a sensor may write it. What is not surely a value becomes an error row.
"""

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from cep.events.table import json_objects
from cep.events.values import Reader, column_readers, text_reader, typed_event, value_reader
from cep.expression import Schema
from processor_runtime.job_file.source import Source
from processor_runtime.spark.sources import events_of
from processor_runtime.spark.sources.columns import stream_schema
from processor_runtime.spark.sources.parsing import reader_options, reader_schema
from tests.processor_runtime.sources.streams import json_events, malformed, stream

REFUSED: Final = "refused"


def at(*parts: int) -> datetime:
    return datetime(*parts).replace(tzinfo=UTC)  # type: ignore[arg-type] # noqa: DTZ001 - a time has no more parts


TABLE: Final[dict[str, dict[str, Any]]] = {
    "BOOLEAN": {
        "true": True,
        "TRUE": True,
        "False": False,
        **dict.fromkeys(["yes", "t", "1", "0", "on", "wahr", "null"], REFUSED),
    },
    "INT": {
        "1": 1,
        "+1": 1,
        "-1": -1,
        "0042": 42,
        **dict.fromkeys(
            ["1.5", "1.0", "1e3", " 1", "1,5", "1,000", "1_000", "0x10", "2147483648", "½"], REFUSED
        ),
    },
    "DOUBLE": {
        "1.5": 1.5,
        "1e3": 1000.0,
        "-.5": -0.5,
        "01": 1.0,
        **dict.fromkeys(["1,5", "1.234,5", "1,234.5", "0x10", "1_000", "five", "½"], REFUSED),
    },
    "DECIMAL(10,2)": {
        "1.5": Decimal("1.50"),
        "1E3": Decimal("1000.00"),
        "-1": Decimal("-1.00"),
        "-.5": Decimal("-0.50"),
        "01": Decimal("1.00"),
        "12345678.91": Decimal("12345678.91"),
        **dict.fromkeys(
            ["1,5", "1.234,5", "1,234.5", "1'234", "1_000", "0x10", "123456789.00", "NaN", "+1"],
            REFUSED,
        ),
    },
    "DATE": {
        "2024-02-29": date(2024, 2, 29),
        "2024-01-02 03:04": date(2024, 1, 2),
        **dict.fromkeys(
            ["20240102", "45293", "2024", "2024-1-2", "2024-02-30", "01.02.2024", "1/2/2024"],
            REFUSED,
        ),
    },
    "TIMESTAMP": {
        "1000": at(1970, 1, 1, 0, 0, 1),
        "1700000000000": at(2023, 11, 14, 22, 13, 20),
        "-1000": at(1969, 12, 31, 23, 59, 59),
        "2024-01-02": at(2024, 1, 2),
        "2024-01-02 03:04": at(2024, 1, 2, 3, 4),
        "2024-01-02T03:04:05Z": at(2024, 1, 2, 3, 4, 5),
        "2024-01-02T03:04:05+01:00": at(2024, 1, 2, 2, 4, 5),
        "2024-01-02T03:04:05.5-0330": at(2024, 1, 2, 6, 34, 5, 500_000),
        **dict.fromkeys(
            ["12:00", "03:04:05", "2024-1-2", "2024-02-30", "2024-01-02T25:00:00", "1700000000.5"],
            REFUSED,
        ),
        **dict.fromkeys(
            ["02.01.2024 03:04", "1/2/2024 3:04 PM", "now", "today", "1.7e12"], REFUSED
        ),
    },
}
IN_JSON_AS_NUMBERS: Final = {"BOOLEAN", "INT", "DOUBLE"}
"""Spark takes no text for these in JSON; a number or true is no text there."""


def seen(row: Row) -> Any:
    if row["_malformed"] is None:
        return row.at if row.v is None else row.v
    assert malformed(row)["reason"] == "does not fit the stream's schema: v"
    assert malformed(row)["raw"]
    return REFUSED


def in_json(spark: SparkSession, data_type: str, values: list[Any]) -> list[Any]:
    """Return what a job makes of values in JSON."""
    lines = [json.dumps({"v": value}) for value in values]
    events = json_events(spark, lines, of_type(data_type))
    return [seen(row) for row in with_text(events, data_type)]


def in_csv(spark: SparkSession, data_type: str, texts: list[str], folder: Path) -> list[Any]:
    """Return what a job makes of texts in CSV."""
    lines = ["v,other", *(f'"{text}",x' for text in texts)]
    (folder / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    source = Source.model_validate(
        {"format": "csv", "path": str(folder), "options": {"header": "true"}}
    )
    definition = of_type(data_type)
    reader = spark.read.format("csv").options(**reader_options(source))
    frame = reader.schema(reader_schema(source, stream_schema(definition))).load(str(folder))
    return [seen(row) for row in with_text(events_of(frame, source, definition), data_type)]


def of_type(data_type: str) -> Any:
    return stream(f"v {data_type}, other STRING", "v")


def with_text(events: Any, data_type: str) -> list[Row]:
    """Return rows with instants in UTC, wherever this machine is."""
    is_time = data_type == "TIMESTAMP"
    micros = F.unix_micros("v") if is_time else F.lit(None)
    value = F.lit(None) if is_time else F.col("v")
    rows = events.select(value.alias("v"), micros.alias("at"), "_malformed").collect()
    start, tick = at(1970, 1, 1), timedelta(microseconds=1)
    return [
        row if row.at is None else Row(v=start + row.at * tick, at=None, _malformed=row._malformed)
        for row in rows
    ]


@pytest.mark.long
@pytest.mark.parametrize("data_type", TABLE)
def test_a_text_is_its_value_or_an_error_row_wherever_it_is_read(
    data_type: str, spark: SparkSession, tmp_path: Path
) -> None:
    texts, expected = list(TABLE[data_type]), list(TABLE[data_type].values())
    assert in_csv(spark, data_type, texts, tmp_path) == expected
    if data_type in IN_JSON_AS_NUMBERS:
        expected = [REFUSED] * len(texts)
    assert in_json(spark, data_type, texts) == expected


@pytest.mark.parametrize("data_type", TABLE)
def test_an_archive_and_an_example_make_the_same_of_it(data_type: str) -> None:
    kind = dict(Schema.from_ddl(f"v {data_type}").columns)["v"]

    def value(text: str, read: Reader) -> Any:
        try:
            return read(text)
        except ValueError:
            return REFUSED

    of_csv, of_json = text_reader(kind), value_reader(kind)
    assert {text: value(text, of_csv) for text in TABLE[data_type]} == TABLE[data_type]
    in_json = dict.fromkeys(TABLE[data_type], REFUSED)
    in_json = in_json if data_type in IN_JSON_AS_NUMBERS else TABLE[data_type]
    assert {text: value(text, of_json) for text in TABLE[data_type]} == in_json


LITERALS: Final = [
    *("1", "-1", "0", "1.0", "1.5", "1.10", "1e3", "1e7", "true", "false", "null", "3000000000"),
    *('"x"', '"1"', '"true"', '"NaN"', '"-Infinity"', '""', '"0042"', '"2024-01-02"', '" 1"'),
    *('{"a":1}', "[1]", '{"a":"1"}', "[]", "{}", '["x"]', "[null]", '{"b":2}', '{"a":null}'),
    *("0.1", "9007199254740993", "12345678901234567890", "1000"),
    *('"1000"', '"1970-01-01T00:00:01Z"'),
]


@pytest.mark.long
@pytest.mark.parametrize(
    "data_type",
    [*TABLE, "STRING", "BIGINT", "FLOAT", "TIMESTAMP_NTZ", "STRUCT<a: INT>", "ARRAY<INT>"],
)
def test_a_literal_is_the_same_to_a_job_and_to_commands(
    data_type: str, spark: SparkSession
) -> None:
    schema = Schema.from_ddl(f"v {data_type}")
    # A time so far ahead is an error row of another reason, behind the reader.
    literals = [each for each in LITERALS if "TIME" not in data_type or "9007" not in each]
    lines = [f'{{"v": {literal}}}' for literal in literals]
    rows = with_text(json_events(spark, lines, of_type(data_type)), data_type)
    by_job = [plain_row(row) for row in rows]
    by_commands = []
    for event in json_objects([line.encode() for line in lines], schema):
        try:
            by_commands.append(typed_event(event, column_readers(schema))["v"])
        except ValueError:
            by_commands.append(REFUSED)
    assert dict(zip(literals, map(repr, by_commands), strict=True)) == dict(
        zip(literals, map(repr, by_job), strict=True)
    )


def plain_row(row: Row) -> Any:
    if row["_malformed"] is not None:
        return REFUSED
    value = row.at if row.v is None else row.v
    return value.asDict() if isinstance(value, Row) else value


def test_a_number_in_a_column_of_times_is_milliseconds(spark: SparkSession) -> None:
    numbers: list[Any] = [1000, 1_700_000_000_000, -1, 1.5, True, {"a": 1}, None]
    assert in_json(spark, "TIMESTAMP", numbers) == [
        *(at(1970, 1, 1, 0, 0, 1), at(2023, 11, 14, 22, 13, 20)),
        *(at(1969, 12, 31, 23, 59, 59, 999_000), REFUSED, REFUSED, REFUSED, None),
    ]


def test_numbers_in_a_column_of_decimals_keep_their_digits(spark: SparkSession) -> None:
    line = '{"v": 12345678901234567.89, "other": null}'
    (row,) = json_events(spark, [line], of_type("DECIMAL(20,2)")).collect()
    assert (row.v, row["_malformed"]) == (Decimal("12345678901234567.89"), None)


def test_values_inside_others_are_read_so_too(spark: SparkSession) -> None:
    ddl = "s STRUCT<at: TIMESTAMP, n: INT>, l ARRAY<DECIMAL(5,1)>, m MAP<STRING, DATE>, ts BIGINT"
    good = {"s": {"at": 1000, "n": 1}, "l": ["1.5", 2, None], "m": {"a": "2024-01-02"}, "ts": 1}
    lines = [
        good,
        good | {"s": {"at": "noon", "n": 1}},
        good | {"l": ["1,5"]},
        good | {"m": {"a": "20240102"}},
        {"ts": 1},
    ]
    events = json_events(spark, map(json.dumps, lines), stream(ddl)).select(
        F.unix_millis("s.at").alias("at"), "s.n", "l", "m", "_malformed"
    )
    first, *bad, empty = events.collect()
    assert (first.at, first.n, first["_malformed"]) == (1000, 1, None)
    assert first.l == [Decimal("1.5"), Decimal("2.0"), None]
    assert first.m == {"a": date(2024, 1, 2)}
    assert [malformed(row)["reason"].rpartition(": ")[2] for row in bad] == [
        "a field inside a column does not fit the stream's schema",
        "l",
        "a field inside a column does not fit the stream's schema",
    ]
    assert (empty.l, empty.m, empty.at, empty["_malformed"]) == (None, None, None, None)


def test_a_format_in_the_options_leaves_a_type_to_spark(spark: SparkSession) -> None:
    options = {"timestampFormat": "dd.MM.yyyy HH:mm", "locale": "de-DE"}
    lines = ['{"v": "1,5", "ts": "02.01.2024 03:04"}']
    definition = stream("v DECIMAL(5,1), ts TIMESTAMP")
    events = json_events(spark, lines, definition, value_options=options)
    (row,) = events.select("v", F.unix_millis("ts").alias("at")).collect()
    assert (row.v, row.at) == (Decimal("1.5"), 1_704_164_640_000)
