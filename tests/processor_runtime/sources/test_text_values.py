"""What a text is in a column of each type, in the JSON and CSV of a job and of an archive.

A locale, a spreadsheet or a sensor may write it. What is not surely a value becomes an error row.
"""

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any, Final

import pyarrow as pa
import pytest
from pydantic import ValidationError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from cep.events.table import json_objects
from cep.events.values import Reader, column_readers, text_reader, typed_event, value_reader
from cep.expression import Schema
from processor_runtime.job_file.source import Source
from processor_runtime.sources.csv_lines import CsvLines
from processor_runtime.sources.json_values import JsonValues
from processor_runtime.sources.time_patterns import TimePatterns
from processor_runtime.sources.values import Decoded

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


ARROW: Final = {
    "BOOLEAN": pa.bool_(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "DECIMAL(10,2)": pa.decimal128(10, 2),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "STRUCT<a: INT>": pa.struct([("a", pa.int32())]),
    "ARRAY<INT>": pa.list_(pa.int32()),
}


def in_json(data_type: pa.DataType, literals: Iterable[str], **keys: Any) -> list[Any]:
    """Return what a job makes of literals of JSON, one at a time and all together."""
    values = [f'{{"v": {literal}}}'.encode() for literal in literals]
    read = JsonValues(pa.schema([("v", data_type)]), **keys).read
    found = shown(read(values), values)
    alone = [shown(read([value]), [value])[0] for value in values]
    assert list(map(str, found)) == list(map(str, alone))
    return found


def shown(decoded: Decoded, values: list[bytes]) -> list[Any]:
    for row, (reason, raw) in decoded.malformed.items():
        assert reason == "does not fit the stream's schema: v"
        assert raw == values[row]
    found = decoded.columns.get_column("v").to_list()
    return [REFUSED if row in decoded.malformed else value for row, value in enumerate(found)]


def in_csv(data_type: pa.DataType, texts: Iterable[str]) -> list[Any]:
    """Return what a job makes of texts in CSV."""
    data = "".join(f'"{text}",x\n' for text in texts).encode()
    reader = CsvLines(pa.schema([("v", data_type), ("other", pa.string())]))
    (decoded,) = reader.read(BytesIO(data), len(data))
    return shown(decoded, data.splitlines())


@pytest.mark.parametrize("data_type", TABLE)
def test_a_text_is_its_value_or_an_error_row_in_json(data_type: str) -> None:
    texts, expected = list(TABLE[data_type]), list(TABLE[data_type].values())
    if data_type in IN_JSON_AS_NUMBERS:
        expected = [REFUSED] * len(texts)
    assert in_json(ARROW[data_type], map(json.dumps, texts)) == expected


@pytest.mark.parametrize("data_type", TABLE)
def test_a_text_is_its_value_or_an_error_row_in_csv(data_type: str) -> None:
    assert in_csv(ARROW[data_type], TABLE[data_type]) == list(TABLE[data_type].values())


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


@pytest.mark.parametrize("data_type", ARROW)
def test_a_literal_is_the_same_to_a_job_and_to_commands(data_type: str) -> None:
    schema = Schema.from_ddl(f"v {data_type}")
    # A time so far ahead is an error row of another reason, behind the reader.
    literals = [each for each in LITERALS if "TIME" not in data_type or "9007" not in each]
    by_commands = []
    for event in json_objects([f'{{"v": {each}}}'.encode() for each in literals], schema):
        try:
            by_commands.append(typed_event(event, column_readers(schema))["v"])
        except ValueError:
            by_commands.append(REFUSED)
    by_job = in_json(ARROW[data_type], literals)
    assert dict(zip(literals, map(str, by_commands), strict=True)) == dict(
        zip(literals, map(str, by_job), strict=True)
    )


COUNTS: Final = {"1", "-1", "1000", "3000000000", '" 1"', '"0042"', '"1"', '"1000"'}
UNLIKE_SPARK: Final = {
    # Spark counts seconds, and takes a text of digits for a year; without a zone, it takes none.
    "TIMESTAMP": COUNTS,
    "TIMESTAMP_NTZ": {*COUNTS, "0", '"1970-01-01T00:00:01Z"'},
    "DATE": {'"1"', '"0042"', '"1000"'},
}
"""Literals of which Percept makes something else than Spark's from_json, by type."""


@pytest.mark.long
def test_a_literal_is_what_spark_reads_but_for_these(spark: SparkSession) -> None:
    found: dict[str, set[str]] = {}
    for data_type, arrow in ARROW.items():
        literals = [each for each in LITERALS if "TIME" not in data_type or "9007" not in each]
        rows = spark.createDataFrame([(f'{{"v": {each}}}',) for each in literals], "value STRING")
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "bad"}
        ddl = f"v {data_type}, bad STRING"
        read = rows.select(F.from_json("value", ddl, options).alias("r")).select("r.*").toArrow()
        by_spark = [REFUSED if row["bad"] is not None else row["v"] for row in read.to_pylist()]
        by_us = in_json(arrow, literals)
        pairs = zip(literals, map(str, by_us), map(str, by_spark), strict=True)
        found[data_type] = {literal for literal, one, other in pairs if one != other}
    assert {name: unlike for name, unlike in found.items() if unlike} == UNLIKE_SPARK


ODD: Final[dict[bytes, Any]] = {
    b' \n{"v": 1}\r\n ': 1,
    b'{"v": 1, "v": 2}': 2,
    b'{"V": 1}': None,
    b'{"v": 1, "other": [{"v": 2}]}': 1,
    b'{"other": "\xff", "v": 1}': 1,
    b'{"other": "\\ud800", "v": 1}': 1,
    b'{"other": NaN, "v": 1}': 1,
    **dict.fromkeys(
        [b"", b"{", b"1", b"null", b"[1]", b'{"v": 1}{"v": 2}', b'{"v": 1} x', b"{'v': 1}"],
        "not a JSON object",
    ),
    **dict.fromkeys(
        [b'{"v": 01}', b'{"v": 1,}', b'{"v": +1}', b'{"v": 1} // one', b"\xef\xbb\xbf{}", b"\xff"],
        "not a JSON object",
    ),
    b'{"v":' * 100_000 + b"}" * 100_000: "not a JSON object",
    b'{"other": ' + b"[" * 100_000 + b"]" * 100_000 + b"}": "not a JSON object",
    b'{"v": ' + b"1" * 5_000 + b"}": "not a JSON object",
    b'{"v": ' + b"1" * 50 + b"}": "does not fit the stream's schema: v",
}
"""Values, and the INT in them, or why they are malformed."""


def test_odd_values_cost_themselves_alone() -> None:
    read = JsonValues(pa.schema([("v", pa.int32())])).read
    values = [value for odd in ODD for value in (odd, b'{"v": 7}')]
    decoded = read(values)
    found = decoded.columns.get_column("v").to_list()
    assert found[1::2] == [7] * len(ODD)
    by_value = {
        value: decoded.malformed[row].reason if row in decoded.malformed else found[row]
        for row, value in enumerate(values)
        if row % 2 == 0
    }
    assert by_value == ODD


HOSTILE: Final = [
    *("1e99999999999999999999", "-1e-99999999999999999999", "1e999999999", "1E400", "1e39"),
    *("1" * 5_000, "1" * 40, "NaN", "-Infinity", "-0.0", "9223372036854775807"),
    *("253402300800000", "-62135596800001", "9223372036854776", '"1E999999999"', '"1" '),
    *('"9999-12-31T23:59:59.999999-13:00"', '"0001-01-01T00:00:00+13:00"', '"0000-01-01"'),
    *('"2024-01-01T24:00:00Z"', '"10000-01-01"', '"\\ud800"', '"\\u0000"', '"\u0663"', '"=="'),
    *("[[]]", "[null]", '{"": null}', '{"\\ud800": 1}', '{"a": 1e99999999999999999999}'),
    *('["1E999999999"]', '{"99999999999": "2024-01-01"}', "[1e99999999999999999999]"),
]
MORE_TYPES: Final = {
    "MAP<STRING, DATE>": pa.map_(pa.string(), pa.date32()),
    "MAP<INT, DOUBLE>": pa.map_(pa.int32(), pa.float64()),
    "ARRAY<TIMESTAMP>": pa.list_(pa.timestamp("us", "UTC")),
    "ARRAY<DECIMAL(5,1)>": pa.list_(pa.decimal128(5, 1)),
    "BINARY": pa.binary(),
    "DECIMAL(38,38)": pa.decimal128(38, 38),
    "TINYINT": pa.int8(),
}


@pytest.mark.parametrize("data_type", [*ARROW, *MORE_TYPES])
def test_no_value_costs_another_one_or_ends_a_task(data_type: str) -> None:
    columns = pa.schema([("v", (ARROW | MORE_TYPES)[data_type]), ("other", pa.int32())])
    values = [value.encode() for each in HOSTILE for value in (f'{{"v": {each}}}', '{"other": 7}')]
    decoded = JsonValues(columns).read(values)
    assert decoded.columns.get_column("other").to_list()[1::2] == [7] * len(HOSTILE)
    assert not {row for row in decoded.malformed if row % 2}
    beside = [f'{{"other": 7, "ignored": {each}}}'.encode() for each in HOSTILE[:3]]
    assert not JsonValues(columns).read(beside).malformed


@pytest.mark.parametrize("data_type", ARROW)
def test_a_hostile_value_is_the_same_to_a_job_and_to_commands(data_type: str) -> None:
    # A time that no event can have is an error row of another reason, behind the reader.
    far = {"253402300800000", "-62135596800001", "9223372036854776", "1" * 5_000}
    literals = [each for each in HOSTILE if each not in far and "\\ud" not in each]
    schema = Schema.from_ddl(f"v {data_type}")
    by_commands = []
    for event in json_objects([f'{{"v": {each}}}'.encode() for each in literals], schema):
        try:
            by_commands.append(typed_event(event, column_readers(schema))["v"])
        except ValueError:
            by_commands.append(REFUSED)
    by_job = in_json(ARROW[data_type], literals)
    assert dict(zip(literals, map(comparable, by_commands), strict=True)) == dict(
        zip(literals, map(comparable, by_job), strict=True)
    )


def comparable(value: Any) -> str:
    """Return a value as a text, without the sign of a decimal 0, which columns do not have."""
    return f"{value + 0}" if isinstance(value, Decimal) else f"{value}"


def test_what_a_text_cannot_hold_is_replaced() -> None:
    wrong = [b'{"v": "a\xffb"}', b'{"v": "a\\ud800b"}', b'{"v": ["\\ud800"]}', b'{"v": "\\u0000"}']
    decoded = JsonValues(pa.schema([("v", pa.string())])).read(wrong)
    assert decoded.columns.get_column("v").to_list() == ["a\ufffdb", "a?b", '["?"]', "\0"]
    assert not decoded.malformed


def test_a_number_in_a_column_of_times_is_milliseconds() -> None:
    numbers = ["1000", "1700000000000", "-1", "1.5", "true", '{"a": 1}', "null"]
    assert in_json(ARROW["TIMESTAMP"], numbers) == [
        *(at(1970, 1, 1, 0, 0, 1), at(2023, 11, 14, 22, 13, 20)),
        *(at(1969, 12, 31, 23, 59, 59, 999_000), REFUSED, REFUSED, REFUSED, None),
    ]
    # Microseconds are no error of the reader: they are beyond the years that an event can have.
    far = JsonValues(pa.schema([("v", ARROW["TIMESTAMP"])])).read([b'{"v": 1777629600000000}'])
    assert not far.malformed
    assert in_json(ARROW["TIMESTAMP"], ["1777629600000000000", "1" * 30]) == [REFUSED, REFUSED]


def test_numbers_in_a_column_of_decimals_keep_their_digits() -> None:
    (found,) = in_json(pa.decimal128(20, 2), ["12345678901234567.89"])
    assert found == Decimal("12345678901234567.89")


def test_values_inside_others_are_read_so_too() -> None:
    columns = pa.schema(
        [
            ("s", pa.struct([("at", pa.timestamp("us", "UTC")), ("n", pa.int32())])),
            ("l", pa.list_(pa.decimal128(5, 1))),
            ("m", pa.map_(pa.string(), pa.date32())),
            ("b", pa.binary()),
        ]
    )
    good = {"s": {"at": 1000, "n": 1}, "l": ["1.5", 2, None], "m": {"a": "2024-01-02"}, "b": "/wA="}
    values = [
        good,
        good | {"s": {"at": "noon", "n": 1}},
        good | {"l": ["1,5"], "b": "%"},
        good | {"m": {"a": "20240102"}},
        {},
    ]
    decoded = JsonValues(columns).read([json.dumps(each).encode() for each in values])
    first, *_, empty = decoded.columns.to_dicts()
    assert first == {
        "s": {"at": at(1970, 1, 1, 0, 0, 1), "n": 1},
        "l": [Decimal("1.5"), Decimal("2.0"), None],
        "m": {"a": date(2024, 1, 2)},
        "b": b"\xff\x00",
    }
    assert empty == dict.fromkeys(good)
    assert [why.reason.rpartition(": ")[2] for why in decoded.malformed.values()] == [
        "s",
        "l, b",
        "m",
    ]


def test_names_of_fields_are_any_texts_and_may_be_others_than_those_of_columns() -> None:
    columns = pa.schema([("user", pa.string()), ("n", pa.int32())])
    read = JsonValues(columns, ("a.b `c`", "class")).read
    decoded = read([b'{"a.b `c`": "ana", "class": 1}', b'{"a.b `c`": "bo", "class": "x"}'])
    assert decoded.columns.to_dicts() == [{"user": "ana", "n": 1}, {"user": "bo", "n": None}]
    assert decoded.malformed[1].reason == "does not fit the stream's schema: class"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("dd.MM.yyyy HH:mm", "02.01.2024 03:04", at(2024, 1, 2, 3, 4)),
        ("d/M/yy h:m a", "2/1/24 12:4 AM", at(2024, 1, 2, 0, 4)),
        ("yyyy-MM-dd'T'HH:mm:ss[.SSS]XXX", "2024-01-02T03:04:05+01:00", at(2024, 1, 2, 2, 4, 5)),
        ("yyyy-MM-dd'T'HH:mm:ss[.SSS]XXX", "2024-01-02T03:04:05.5Z", REFUSED),
        ("dd MMM yyyy 'o''clock' H", "02 Jan 2024 o'clock 3", at(2024, 1, 2, 3)),
        ("dd/MM/yyyy HH:mm Z", "01/05/2026 10:30 +0000", at(2026, 5, 1, 10, 30)),
        ("dd.MM.yyyy", "30.02.2024", REFUSED),
        ("dd.MM.yyyy", "2024-01-02", REFUSED),
        ("h a", "13 PM", REFUSED),
    ],
)
def test_times_are_written_as_a_pattern_says(pattern: str, text: str, found: Any) -> None:
    times = TimePatterns(pattern, pattern, pattern)
    literal = json.dumps(text)
    assert in_json(ARROW["TIMESTAMP"], [literal, "1000"], times=times) == [
        found,
        at(1970, 1, 1, 0, 0, 1),
    ]
    is_time = isinstance(found, datetime)
    assert in_json(ARROW["DATE"], [literal], times=times) == [found.date() if is_time else found]
    naive = [found.replace(tzinfo=None) if is_time else found]
    assert in_json(ARROW["TIMESTAMP_NTZ"], [literal], times=times) == naive


@pytest.mark.parametrize("pattern", ["dd.MM.yyyy 'at", "QQ", "yyyy yyyy", "[HH", "HH]", "EEE"])
def test_a_pattern_that_is_none_is_refused_where_it_stands(pattern: str) -> None:
    source = {"format": "json", "path": "in", "options": {"timestampFormat": pattern}}
    with pytest.raises(ValidationError, match=r"options: timestampFormat: "):
        Source.model_validate(source)


def test_an_option_of_spark_is_refused_with_those_that_there_are() -> None:
    source = {"format": "json", "path": "in", "options": {"dateFromat": "dd.MM.yyyy"}}
    with pytest.raises(
        ValidationError, match=r"no option 'dateFromat'\. Did you mean 'dateFormat'"
    ):
        Source.model_validate(source)
    source = {
        "format": "text",
        "path": "in",
        "value_format": "json",
        "value_options": {"locale": "de"},
    }
    with pytest.raises(ValidationError, match=r"value_options: .* no option 'locale'"):
        Source.model_validate(source)
