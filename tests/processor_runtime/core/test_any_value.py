"""Columns of every type with every value that a source can give, through the whole job.

No value ends a job, and no event is lost: each is matched, or it is a row that says what is wrong
with it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.processor import Steps
from contract.report_parts import ReportPart
from percept import PatternProcessFunction, ProcessContext
from processor_runtime.reporting.heartbeats import heartbeat, running_version
from processor_runtime.reporting.shortening import reported_match
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.valid_text import with_valid_text
from tests.letters import Document, processor, sequence, stream, version
from tests.processor_runtime.core.code_signing import WITH_KEYS, signed_function
from tests.processor_runtime.core.pipeline import Options, Pipeline
from tests.properties import slow_property

YEAR_1_US = -62_135_596_800_000_000
YEAR_10000_US = 253_402_300_800_000_000
YEAR_1_DAYS, YEAR_10000_DAYS = -719_162, 2_932_897


@dataclass(frozen=True)
class Column:
    """A type as Spark and Arrow write it, its values as Arrow stores them, and the readable ones.

    Texts are given as bytes, so that they need not be any.
    """

    ddl: str
    arrow: pa.DataType
    values: st.SearchStrategy[Any]
    readable: range | None = None
    is_key: bool = True


def _among(readable: range, bits: int) -> st.SearchStrategy[int]:
    edges = [0, readable[0], readable[0] - 1, readable[-1], readable[-1] + 1]
    return st.sampled_from(edges) | st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


DAYS = range(YEAR_1_DAYS, YEAR_10000_DAYS)
MOMENTS = range(YEAR_1_US, YEAR_10000_US)
_days, _moments = _among(DAYS, 32), _among(MOMENTS, 64)
_texts = st.binary(max_size=4) | st.text(max_size=4).map(str.encode)
_texts |= st.sampled_from([b"\0", b"\xed\xa0\x80", b'"\\', b"\xc3\xbc" * 70_000, b"\xff" * 9])
_decimals = st.integers(1 - 10**38, 10**38 - 1).map(
    lambda digits: Decimal(digits).scaleb(-18, Context(prec=38))
)
DECIMAL = "DECIMAL(38, 18)"
COLUMNS = [
    Column("BOOLEAN", pa.bool_(), st.booleans()),
    Column("TINYINT", pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    Column("INT", pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    Column("BIGINT", pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    Column("FLOAT", pa.float32(), st.floats(width=32)),
    Column("DOUBLE", pa.float64(), st.floats()),
    Column(DECIMAL, pa.decimal128(38, 18), _decimals),
    Column("STRING", pa.string(), _texts),
    Column("BINARY", pa.binary(), st.binary(max_size=9), is_key=False),
    Column("DATE", pa.date32(), _days, DAYS),
    Column("TIMESTAMP", pa.timestamp("us", tz="UTC"), _moments, MOMENTS),
    Column("TIMESTAMP_NTZ", pa.timestamp("us"), _moments, MOMENTS),
    Column("INTERVAL DAY TO SECOND", pa.duration("us"), st.integers(-(2**63), 2**63 - 1)),
]
NESTINGS = ["ARRAY", "STRUCT", "MAP", "DEEP"]


def nested(nesting: str, column: Column) -> tuple[str, pa.DataType]:
    """Return the type of values inside others, as Spark and Arrow write it."""
    ddl, arrow = column.ddl, column.arrow
    match nesting:
        case "ARRAY":
            return f"ARRAY<{ddl}>", pa.list_(arrow)
        case "STRUCT":
            return f"STRUCT<a: {ddl}>", pa.struct([("a", arrow)])
        case "MAP":
            return f"MAP<STRING, {ddl}>", pa.map_(pa.string(), arrow)
        case _:
            inner, inner_arrow = nested("STRUCT", column)
            for around in ["ARRAY", "MAP"] * 4:
                inner, inner_arrow = nested(around, Column(inner, inner_arrow, st.none()))
            return inner, inner_arrow


def around(nesting: str, values: pa.Array, ddl_type: pa.DataType) -> pa.Array:
    """Return each value inside others; that of every third row is empty or missing."""
    count = len(values)
    match nesting:
        case "STRUCT":
            return pa.StructArray.from_arrays([values], fields=list(ddl_type))
        case "ARRAY":
            return pa.ListArray.from_arrays(range(count + 1), values, ddl_type)
        case "MAP":
            keys = pa.array(["k"] * count, pa.string())
            return pa.MapArray.from_arrays(range(count + 1), keys, values, ddl_type)
        case _:
            if pa.types.is_struct(ddl_type):
                return around("STRUCT", values, ddl_type)
            is_map = pa.types.is_map(ddl_type)
            inner = ddl_type.item_type if is_map else ddl_type.value_type
            return around("MAP" if is_map else "ARRAY", around("", values, inner), ddl_type)


def stored(column: Column, values: list[Any]) -> pa.Array:
    """Return values as a source gives them: nothing is checked."""
    if pa.types.is_string(column.arrow):
        return pa.array(values, pa.binary()).view(pa.string())
    return pa.array(values, column.arrow)


def events_of(values: pa.Array, begin_ms: int, name: str) -> pl.DataFrame:
    """Return an event per value, as the first stage gets them."""
    count = len(values)
    batch = pa.RecordBatch.from_pydict(
        {
            "user": pa.array([str(number) for number in range(count)], pa.string()),
            "name": pa.array([name] * count, pa.string()),
            "ts": pa.array(range(begin_ms, begin_ms + count), pa.int64()),
            "x": values,
        }
    )
    return pl.DataFrame(pl.from_arrow(with_valid_text(batch)))


class Everything(PatternProcessFunction):
    """Gives out the values as it gets them."""

    def process_match(self, match: Steps, context: ProcessContext) -> Iterable[Any]:
        del context
        return [[event["x"] for step in match.values() for event in step]]


def job_with(ddl: str, *, is_key: bool = False) -> Pipeline:
    """Return a job with rules that wait, compare, select, give out and key by the column x."""
    job = Pipeline(
        stream().model_copy(update={"ddl": f"user STRING, name STRING, ts BIGINT, x {ddl}"}),
        Options(defaults=WITH_KEYS),
    )
    rules: dict[str, Document] = {
        "plain": {},
        "select": {"select": {"x": "a.x", "last": "LAST(b.x)", "n": "COUNT(a.x)"}},
        "code": {"function": signed_function(Everything)},
    }
    if is_key:
        compared = sequence("ab")
        compared["steps"][1]["where"] += " AND x IS NOT DISTINCT FROM FIRST(a.x)"
        rules["compared"] = {"pattern": compared}
        rules["keyed"] = {"key_by": ["x", "user"]}
    job.publish(
        *(
            processor(name, version(1, **{"pattern": sequence("ab"), **more}))
            for name, more in rules.items()
        )
    )
    return job


def run(job: Pipeline, values: pa.Array) -> None:
    """Let the values come twice, so that they wait in state, and let the last batch come again."""
    job.batch(events_of(values, 1_000, "a"))
    job.restart()
    job.batch(events_of(values, 2_000, "b"), until_ms=3_000)
    before = [row for row in job.rows if row.kind == "match"]
    job.replay()
    assert [row for row in job.rows if row.kind == "match"] == before


def check(job: Pipeline, is_readable: list[bool]) -> None:
    """Every event is matched by every rule or told as an error, and all of it can be written."""
    for state in job.job_status.versions:
        assert (state.state, state.error) == ("active", "")
        found = job.rows_of("match", state.processor_id)
        assert len(found) == sum(is_readable), state.processor_id
    errors = job.rows_of("error")
    assert len(errors) == 2 * is_readable.count(False)
    for row in errors:
        error = json.loads(row.error or "")
        assert error["reason"] == "out-of-range"
        assert error["message"].startswith("x: not within the years 1 to 9999")
        assert json.loads(row.events or "")["x"] is not None
    for row in job.rows:
        check_written(row)
    status = job.job_status
    versions = [running_version(each) for each in status.versions]
    part = ReportPart(versions, None, replaces_all=False)
    heartbeat(status, part, "instance-1", 1)


def check_written(row: OutputRow) -> None:
    """The columns of a row are the JSON they are said to be, in UTF-8."""
    assert isinstance(json.loads(row.events or ""), dict)
    for content in (row.key, row.output):
        if content is not None:
            json.loads(content)
    for text in row:
        str(text).encode()
    if row.kind == "match":
        reported_match(row._asdict())


def drawn(data: st.DataObject, column: Column) -> tuple[pa.Array, list[bool]]:
    """Return values of a type, and which of them Python can read."""
    values = data.draw(st.lists(st.none() | column.values, min_size=1, max_size=12))
    readable = column.readable
    is_readable = [value is None or readable is None or value in readable for value in values]
    return stored(column, values), is_readable


@pytest.mark.parametrize("column", COLUMNS, ids=[column.ddl for column in COLUMNS])
@slow_property()
@given(data=st.data())
def test_any_value_of_a_type_is_matched_or_told(column: Column, data: st.DataObject) -> None:
    values, is_readable = drawn(data, column)
    job = job_with(column.ddl, is_key=column.is_key)
    run(job, values)
    check(job, is_readable)


@pytest.mark.parametrize("nesting", NESTINGS)
@slow_property()
@given(data=st.data(), column=st.sampled_from(COLUMNS))
def test_any_value_inside_another_is_matched_or_told(
    nesting: str, data: st.DataObject, column: Column
) -> None:
    values, is_readable = drawn(data, column)
    ddl, arrow = nested(nesting, column)
    job = job_with(ddl)
    run(job, around(nesting, values, arrow))
    check(job, is_readable)


@pytest.mark.parametrize(
    ("ddl", "arrow", "values"),
    [
        ("ARRAY<DATE>", pa.list_(pa.date32()), [[], None, [None]]),
        ("MAP<DATE, INT>", pa.map_(pa.date32(), pa.int32()), [[], None, [(0, None)]]),
        ("MAP<BINARY, INT>", pa.map_(pa.binary(), pa.int32()), [[(b"\xff", 1)], []]),
        ("MAP<DOUBLE, INT>", pa.map_(pa.float64(), pa.int32()), [[(float("nan"), 1)], []]),
        ("STRUCT<a: STRUCT<b: DATE>>", pa.struct([("a", pa.struct([("b", pa.date32())]))]), [{}]),
    ],
)
def test_what_is_empty_is_an_event_like_any_other(
    ddl: str, arrow: pa.DataType, values: list[Any]
) -> None:
    job = job_with(ddl)
    run(job, pa.array(values, arrow))
    check(job, [True] * len(values))


def test_an_event_that_cannot_be_read_harms_none_that_comes_with_it() -> None:
    column = Column("TIMESTAMP", pa.timestamp("us", tz="UTC"), st.none())
    job = job_with(column.ddl)
    values = stored(column, [0, YEAR_10000_US, None, YEAR_1_US - 1])
    job.batch(events_of(values, 1_000, "a"))
    assert (job.job_status.totals.events, job.job_status.totals.errors) == (4, 2)
    told = [json.loads(row.events or "") for row in job.rows_of("error")]
    assert told[0] == {"user": "1", "name": "a", "ts": 1_001, "x": "+10000-01-01T00:00:00.000Z"}
    assert told[1]["x"] == "+0000-12-31T23:59:59.999Z"
    run(job, values)
