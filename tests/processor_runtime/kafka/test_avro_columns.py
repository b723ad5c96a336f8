"""Random records of Avro, read into columns: the same values as fastavro has, one by one."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from io import BytesIO
from itertools import zip_longest
from math import isnan
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processor_runtime.kafka.registry import record

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")
from fastavro import parse_schema, schemaless_reader, schemaless_writer

from processor_runtime.kafka.formats.decoding import ValueForm
from processor_runtime.sources.schema_values import SchemaValues

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INSTANT = pa.timestamp("us", "UTC")


class Kind(NamedTuple):
    """A type of Avro, if named by a text, the column for it, and its values.

    `wanted` makes of one what the column has, if that is another.
    """

    schema: Callable[[str], Any]
    column: pa.DataType
    values: st.SearchStrategy[Any]
    wanted: Callable[[Any], Any] = lambda value: value


def plain(kind: str, column: pa.DataType, values: Any, logical: str = "", **more: Any) -> Kind:
    wanted = more.pop("wanted", lambda value: value)
    schema: Any = {"type": kind, **more} | ({"logicalType": logical} if logical else {})
    return Kind(lambda name: schema | {"name": name}, column, values, wanted)


def whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def milliseconds(at: Any) -> Any:
    return at.replace(microsecond=at.microsecond // 1_000 * 1_000)


NAIVE = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))  # noqa: DTZ001 - as they are local
TIMES = NAIVE.map(lambda at: at.replace(tzinfo=UTC))
DECIMALS = st.integers(-(10**9), 10**9).map(lambda digits: Decimal(digits).scaleb(-3))
PAYMENTS = ["CARD", "CASH"]
PLAIN = [
    plain("boolean", pa.bool_(), st.booleans()),
    plain("int", pa.int32(), whole(32)),
    plain("long", pa.int64(), whole(64)),
    plain("int", pa.string(), whole(32), wanted=str),
    plain("int", pa.float64(), whole(32)),
    plain("float", pa.float32(), st.floats(width=32)),
    plain("double", pa.float64(), st.floats()),
    plain("string", pa.string(), st.text()),
    plain("bytes", pa.binary(), st.binary()),
    plain("fixed", pa.binary(), st.binary(min_size=4, max_size=4), size=4),
    plain("enum", pa.string(), st.sampled_from(PAYMENTS), symbols=PAYMENTS),
    plain("int", pa.date32(), st.dates(), "date"),
    plain("int", pa.string(), st.times().map(milliseconds), "time-millis", wanted=time.isoformat),
    plain("long", INSTANT, TIMES.map(milliseconds), "timestamp-millis"),
    plain("long", INSTANT, TIMES, "timestamp-micros"),
    plain("long", pa.timestamp("us"), NAIVE, "local-timestamp-micros"),
    plain(
        "long", pa.int64(), TIMES, "timestamp-micros",
        wanted=lambda at: (at - EPOCH) // timedelta(milliseconds=1),
    ),
    plain("bytes", pa.decimal128(10, 3), DECIMALS, "decimal", precision=10, scale=3),
    plain("fixed", pa.string(), DECIMALS, "decimal", size=5, precision=10, scale=3, wanted=str),
    plain("string", pa.string(), st.uuids(), "uuid", wanted=str),
    Kind(lambda _: ["string", "long"], pa.string(), st.one_of(st.text(), whole(64)), str),
]  # fmt: skip


def optional(kind: Kind) -> Kind:
    def schema(name: str) -> Any:
        inner = kind.schema(name)
        return ["null", *(inner if isinstance(inner, list) else [inner])]

    return Kind(
        schema,
        kind.column,
        st.one_of(st.none(), kind.values),
        lambda value: None if value is None else kind.wanted(value),
    )


def nested(kind: Kind) -> st.SearchStrategy[Kind]:
    """Return what has values of a kind in it: an array, a map, a record."""
    array = Kind(
        lambda name: {"type": "array", "items": kind.schema(name)},
        pa.list_(kind.column),
        st.lists(kind.values, max_size=3),
        lambda value: list(map(kind.wanted, value)),
    )
    mapping = Kind(
        lambda name: {"type": "map", "values": kind.schema(name)},
        pa.map_(pa.string(), kind.column),
        st.dictionaries(st.text(max_size=3), kind.values, max_size=3),
        lambda value: {name: kind.wanted(each) for name, each in value.items()},
    )
    inner = Kind(
        lambda name: record(f"In_{name}", part=kind.schema(name)),
        pa.struct([("part", kind.column)]),
        st.fixed_dictionaries({"part": kind.values}),
        lambda value: {"part": kind.wanted(value["part"])},
    )
    return st.sampled_from([array, mapping, inner])


SINGLE = st.sampled_from(PLAIN)
KINDS = st.one_of(
    SINGLE, SINGLE.map(optional), st.one_of(SINGLE, SINGLE.map(optional)).flatmap(nested)
)


class Topic(NamedTuple):
    """Values of one schema, the columns for it, and what these have."""

    schema: dict[str, Any]
    columns: dict[str, pa.DataType]
    values: list[bytes]
    rows: list[dict[str, Any]]


@st.composite
def topics(draw: st.DrawFn, number: int) -> Topic:
    drawn = draw(st.lists(KINDS, min_size=1, max_size=5))
    kinds = {f"s{number}_{place}": kind for place, kind in enumerate(drawn)}
    schema = record("Event", **{name: kind.schema(name) for name, kind in kinds.items()})
    fields = st.fixed_dictionaries({name: kind.values for name, kind in kinds.items()})
    values, rows = [], []
    for event in draw(st.lists(fields, min_size=1, max_size=4)):
        parsed = parse_schema(json.loads(json.dumps(schema)))
        target = BytesIO()
        schemaless_writer(target, parsed, event)
        values.append(b"\0" + number.to_bytes(4, "big") + target.getvalue())
        target.seek(0)
        as_read: Any = schemaless_reader(target, parsed, None)
        rows.append({name: kind.wanted(as_read[name]) for name, kind in kinds.items()})
    wanted = draw(st.sets(st.sampled_from(sorted(kinds)), min_size=1))
    return Topic(schema, {name: kinds[name].column for name in sorted(wanted)}, values, rows)


def read(first: Topic, second: Topic, values: list[bytes]) -> tuple[list[Any], dict[int, Any]]:
    schemas = [
        {"id": number, "schema": json.dumps(topic.schema)}
        for number, topic in enumerate((first, second), 1)
    ]
    columns = pa.schema([*first.columns.items(), *second.columns.items()])
    found = SchemaValues(ValueForm("avro", schemas=json.dumps(schemas)), columns).read(values)
    return found.columns.to_dicts(), dict(found.malformed)


def is_same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, float):
        return found == wanted or (isnan(found) and isnan(wanted))
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(
            is_same(found[name], each) for name, each in wanted.items()
        )
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(is_same, found, wanted))
    return bool(found == wanted)


def mixed(first: Topic, second: Topic, times: int = 1) -> list[tuple[bytes, dict[str, Any]]]:
    """Return values of two schemas by turns, with their rows."""
    nothing = dict.fromkeys([*first.columns, *second.columns])
    of_each = [
        [
            (value, nothing | {name: row[name] for name in topic.columns})
            for value, row in zip(topic.values, topic.rows, strict=True)
        ]
        for topic in (first, second)
    ]
    return [each for pair in zip_longest(*of_each) for each in pair if each is not None] * times


@given(topics(1), topics(2))
def test_columns_have_what_fastavro_reads_in_any_order_of_schemas(
    first: Topic, second: Topic
) -> None:
    events = mixed(first, second, 3)
    found, malformed = read(first, second, [value for value, _ in events])
    assert malformed == {}
    for row, (_, wanted) in zip(found, events, strict=True):
        assert is_same(row, wanted), (row, wanted)


@given(topics(1), topics(2), st.data())
def test_changed_octets_make_at_most_their_own_row_malformed(
    first: Topic, second: Topic, data: st.DataObject
) -> None:
    events = mixed(first, second, 2)
    values = [value for value, _ in events]
    changed = data.draw(st.sets(st.integers(0, len(values) - 1), min_size=1, max_size=3))
    for row in changed:
        begin = data.draw(st.integers(0, len(values[row])))
        end = data.draw(st.integers(begin, len(values[row])))
        values[row] = values[row][:begin] + data.draw(st.binary(max_size=6)) + values[row][end:]
    found, malformed = read(first, second, values)
    assert malformed.keys() <= changed
    for place, (row, (_, wanted)) in enumerate(zip(found, events, strict=True)):
        assert place in changed or is_same(row, wanted), (row, wanted)
