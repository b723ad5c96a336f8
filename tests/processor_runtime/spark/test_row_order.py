"""The worker sorts rows as Spark and Python do, of any type; what it cannot, Spark sorts."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from random import Random
from resource import RLIM_INFINITY
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from cep.expression import Schema
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.parsing.clauses import read_query
from processor_runtime.spark.frames import row_order as row_order_module
from processor_runtime.spark.frames.match_recognize import match_recognize
from processor_runtime.spark.frames.row_order import (
    ARRIVAL,
    SortColumn,
    SortMemoryError,
    WorkerSort,
    is_ordered_alike,
    row_order,
    sorted_by_spark,
    worker_sort,
)

MEMORY = "spark.python.worker.memory"
TYPES: dict[str, list[Any]] = {
    "TINYINT": [1, -128, 127, None],
    "SMALLINT": [1, -32768, 32767, None],
    "INT": [1, -(2**31), 2**31 - 1, None],
    "BIGINT": [3, -(2**63), 2**63 - 1, 0, None],
    "FLOAT": [0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, None],
    "DOUBLE": [0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, None],
    "DECIMAL(38,2)": [Decimal("0.01"), Decimal("-99999999999.99"), Decimal(7), None],
    "STRING": ["", "a", "B", "ä", "\ue000", "😀", "a\x00", "a" * 40, None],
    "BOOLEAN": [True, False, None],
    "DATE": [date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31), None],
    "TIMESTAMP": [datetime(1969, 1, 1, 0, 0, 0, 1, UTC), datetime(2024, 1, 1, tzinfo=UTC), None],
    "TIMESTAMP_NTZ": [datetime(1969, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 7), None],  # noqa: DTZ001
}
NOT_ALIKE = ["STRING COLLATE UTF8_LCASE", "ARRAY<INT>", "STRUCT<a: INT>", "BINARY"]


@dataclass(frozen=True)
class Arrivals:
    """Gives the arrivals of rows in the order of the worker's sort."""

    sort: WorkerSort

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        frames = (pl.DataFrame(pa.Table.from_batches([batch])) for batch in batches)
        for frame in self.sort.sorted(frames):
            yield from frame.select(ARRIVAL).to_arrow().to_batches()


def orders(name: str) -> list[tuple[SortColumn, ...]]:
    """Return every way to sort by a column, ties by arrival."""
    flags = product([False, True], repeat=2)
    return [(SortColumn(name, *each), SortColumn(ARRIVAL)) for each in flags]


@pytest.mark.long
@pytest.mark.nightly
def test_the_worker_sorts_as_spark_does(spark: SparkSession) -> None:
    for kind, values in TYPES.items():
        random = Random(kind)  # noqa: S311 - any rows, but always the same
        rows = [(random.choice(values), place) for place in random.sample(range(80), 80)]
        frame = spark.createDataFrame(rows, f"v {kind}, {ARRIVAL} BIGINT").coalesce(1).cache()
        for order in orders("v"):
            assert is_ordered_alike(order, frame.schema)
            by_spark = [row[ARRIVAL] for row in sorted_by_spark(frame, order).collect()]
            task = Arrivals(WorkerSort(order, most_bytes=1 << 20))
            by_worker = frame.mapInArrow(task, f"{ARRIVAL} BIGINT").collect()
            assert [row[ARRIVAL] for row in by_worker] == by_spark, (kind, order)
        frame.unpersist()


def test_what_may_be_ordered_otherwise_is_not_sorted_by_the_worker(spark: SparkSession) -> None:
    for kind in NOT_ALIKE:
        frame = spark.createDataFrame([], f"v {kind}, {ARRIVAL} BIGINT")
        assert not any(is_ordered_alike(order, frame.schema) for order in orders("v")), kind


def test_partitions_of_null_come_first_and_rows_of_null_last() -> None:
    schema = Schema.from_ddl("k STRING, a BIGINT, b BIGINT")
    text = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY a, b DESC MEASURES 1 AS c
        PATTERN (A) DEFINE A AS TRUE)"""
    assert row_order(analyse(read_query(text).clause, schema)) == (
        SortColumn("k", nulls_last=False),
        SortColumn("a"),
        SortColumn("b", is_descending=True),
        SortColumn(ARRIVAL),
    )


CLAUSES = [
    "PARTITION BY user ORDER BY at",
    "PARTITION BY user, real ORDER BY real DESC, at",
    "PARTITION BY real ORDER BY word DESC, at DESC",
    "PARTITION BY user ORDER BY user DESC, at, at DESC",
    "PARTITION BY word",
    "ORDER BY word, real",
    "",
]
RUNS = """MATCH_RECOGNIZE ({}
    MEASURES MATCH_NUMBER() AS number, FIRST(n) AS first_n, LAST(n) AS last_n, COUNT(*) AS rows
    PATTERN (A B*) DEFINE B AS n > PREV(n))"""


def unordered(spark: SparkSession, count: int = 600) -> DataFrame:
    """Return rows of few values, so that there are many ties, in several tasks."""
    random = Random(7)  # noqa: S311 - any rows, but always the same
    columns: list[list[Any]] = [
        ["ana", "ben", "", None],
        [0.0, -0.0, math.nan, 1.0, None],
        ["x", "y" * 30, "é", None],
        [1, 2, 3, None],
    ]
    rows = [(*map(random.choice, columns), n) for n in range(count)]
    return spark.createDataFrame(rows, "user STRING, real DOUBLE, word STRING, at INT, n BIGINT")


@pytest.fixture
def little_memory(spark: SparkSession) -> Iterator[None]:
    """Let workers hold next to nothing, and Spark hand them a few rows at a time."""
    settings = {MEMORY: "1k", "spark.sql.execution.arrow.maxRecordsPerBatch": "17"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name in settings:
        spark.conf.unset(name)


def plain(rows: list[Any]) -> list[str]:
    return [repr(tuple(row)) for row in rows]  # NaN equals itself there


@pytest.mark.parametrize(
    "how", [CLAUSES[0], *(pytest.param(how, marks=pytest.mark.long) for how in CLAUSES[1:])]
)
def test_a_clause_finds_the_same_whoever_sorts(
    spark: SparkSession, request: pytest.FixtureRequest, how: str
) -> None:
    frame = unordered(spark).repartition(3)
    in_memory = plain(match_recognize(frame, RUNS.format(how)).collect())
    assert len(in_memory) > 20
    request.getfixturevalue("little_memory")
    by_spark = match_recognize(frame, RUNS.format(how), spark_sorts=True)
    assert plain(by_spark.collect()) == in_memory


@pytest.mark.usefixtures("little_memory")
def test_rows_that_do_not_fit_are_refused_with_what_helps(spark: SparkSession) -> None:
    found = match_recognize(unordered(spark), RUNS.format("PARTITION BY user ORDER BY at"))
    with pytest.raises(PythonException) as raised:
        found.collect()
    for words in ("more than 1,024 bytes", "spark_sorts=True", MEMORY, "shuffle.partitions"):
        assert words in str(raised.value)


def test_texts_that_are_no_utf8_are_sorted_too(spark: SparkSession) -> None:
    text = F.expr("CAST(UNHEX(IF(id % 2 = 0, 'FF41', 'FE')) AS STRING)")
    frame = spark.range(300).select("id", text.alias("k"))
    clause = """MATCH_RECOGNIZE (PARTITION BY k ORDER BY id DESC MEASURES FIRST(id) AS f,
        COUNT(*) AS n PATTERN (A+) DEFINE A AS TRUE)"""
    found = match_recognize(frame, clause).select("f", "n").collect()
    assert sorted(map(tuple, found)) == [(298, 150), (299, 150)]


def test_the_memory_is_a_setting_of_spark(spark: SparkSession) -> None:
    assert worker_sort(spark, ()).most_bytes == 512 << 20
    try:
        for text, expected in (("512m", 512 << 20), ("2g", 2 << 30), ("1Kb", 1024), ("77", 77)):
            spark.conf.set(MEMORY, text)
            assert worker_sort(spark, ()).most_bytes == expected
        spark.conf.set(MEMORY, "much")
        with pytest.raises(ValueError, match=r"spark\.python\.worker\.memory is 'much'; write"):
            match_recognize(unordered(spark, 5), RUNS.format(""))
    finally:
        spark.conf.unset(MEMORY)


def test_the_columns_of_a_clause_decide_who_sorts(spark: SparkSession) -> None:
    frame = unordered(spark, 5).withColumn("word", F.collate("word", "UTF8_LCASE"))
    for how, by_spark in (("PARTITION BY user", False), ("PARTITION BY word", True)):
        found = match_recognize(frame, RUNS.format(how))
        plan = found._jdf.queryExecution().executedPlan().toString()
        assert ("Sort [" in plan) == by_spark


def test_a_worker_with_little_address_space_holds_less(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({ARRIVAL: [3, 1, 2]})
    sort = WorkerSort((SortColumn(ARRIVAL),), most_bytes=10**9)
    monkeypatch.setattr(row_order_module, "getrlimit", lambda _: (RLIM_INFINITY, RLIM_INFINITY))
    assert pl.concat(sort.sorted([frame, frame]))[ARRIVAL].to_list() == [1, 1, 2, 2, 3, 3]
    monkeypatch.setattr(row_order_module, "getrlimit", lambda _: (100, RLIM_INFINITY))
    with pytest.raises(SortMemoryError, match="more than 25 bytes"):
        list(sort.sorted([frame, frame]))


BY_ARRIVAL = SortColumn("arrival")
VALUES: dict[str, tuple[pl.DataType, list[Any]]] = {
    "whole": (pl.Int64(), TYPES["BIGINT"]),
    "small": (pl.Int8(), TYPES["TINYINT"]),
    "real": (pl.Float64(), TYPES["DOUBLE"]),
    "text": (pl.String(), [*TYPES["STRING"], "a" * 41]),
    "exact": (pl.Decimal(38, 2), TYPES["DECIMAL(38,2)"]),
    "day": (pl.Date(), TYPES["DATE"]),
    "moment": (pl.Datetime("us", "UTC"), TYPES["TIMESTAMP"]),
    "flag": (pl.Boolean(), TYPES["BOOLEAN"]),
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
    found = pl.concat(WorkerSort((*order, BY_ARRIVAL), 10**9).sorted(given_frames))
    assert found["arrival"].to_list() == expected(rows, order)
    assert found.sort("arrival").equals(rows.sort("arrival"))


def test_as_much_is_sorted_as_fits_with_its_sorted_copy() -> None:
    frame = pl.DataFrame({"arrival": range(1_000)}).reverse()
    frames = [frame[:500], frame[500:]]
    size = int(frame.estimated_size())
    (found,) = WorkerSort((BY_ARRIVAL,), 2 * size).sorted(frames)
    assert found["arrival"].to_list() == list(range(1_000))
    with pytest.raises(SortMemoryError):
        next(WorkerSort((BY_ARRIVAL,), 2 * size - 1).sorted(frames))
    assert not list(WorkerSort((BY_ARRIVAL,), 0).sorted([]))
