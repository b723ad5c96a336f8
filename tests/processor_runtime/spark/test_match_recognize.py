"""MATCH_RECOGNIZE over DataFrames: static ones, and streams of files."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from cep.expression import Schema, compile_scalar, row_reader
from cep.matching.sorted_frames import needed_columns
from cep.pattern import PatternError
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.errors import ClauseError
from cep.row_pattern.parsing.clauses import read_query
from processor_runtime.spark.frames.match_recognize import match_recognize
from processor_runtime.spark.frames.row_tests import in_jvm
from tests.processor_runtime.spark.frames import in_memory, streamed
from tests.row_pattern.cases import Case, load, same_rows

CLAUSE = """MATCH_RECOGNIZE (
    PARTITION BY user ORDER BY ts
    MEASURES FIRST(FAIL.ts) AS since, COUNT(FAIL.*) AS failures, LAST(amount) AS amount
    PATTERN (FAIL{2,} LOGIN) WITHIN INTERVAL '10' MINUTE
    DEFINE FAIL AS action = 'fail', LOGIN AS action = 'login' AND amount > AVG(FAIL.amount)
)"""
DDL = "user STRING, action STRING, amount DOUBLE, ts BIGINT"
ROWS = [
    ("ben", "fail", 1.0, 1_500),
    ("ana", "fail", 1.0, 1_000),
    ("ana", "fail", 2.0, 2_000),
    ("ana", "login", 5.0, 3_000),
    ("ben", "login", 9.0, 4_000),
    ("eve", "fail", 1.0, 5_000),
    ("eve", "fail", 1.0, 6_000),
    ("eve", "login", 0.5, 7_000),
]
FOUND = [("ana", 1_000, 2, 5.0)]


def test_a_static_frame_gives_the_rows_and_columns_of_the_query(spark: SparkSession) -> None:
    found = match_recognize(spark.createDataFrame(ROWS, DDL), CLAUSE)
    assert found.columns == ["user", "since", "failures", "amount"]
    assert dict(found.dtypes)["failures"] == "bigint"
    assert [tuple(row) for row in found.collect()] == FOUND
    text = f"SELECT failures AS n, user FROM logins {CLAUSE}"  # noqa: S608 - no database
    chosen = match_recognize(spark.createDataFrame(ROWS, DDL), text)
    rows = [tuple(row) for row in chosen.collect()]
    assert (chosen.columns, rows) == (["n", "user"], [(2, "ana")])


def test_points_in_time_are_columns_of_the_result(spark: SparkSession) -> None:
    instant, reading = "TIMESTAMP '2026-03-01 01:30:00+02:00'", "TIMESTAMP_NTZ '2026-03-01 01:30'"
    clause = """MATCH_RECOGNIZE (
        ORDER BY ts MEASURES A.ts AS ts, A.ntz AS ntz, HOUR(A.ts) AS hour
        PATTERN (A) DEFINE A AS TRUE
    )"""
    found = match_recognize(spark.sql(f"SELECT {instant} AS ts, {reading} AS ntz"), clause)
    assert found.dtypes == [("ts", "timestamp"), ("ntz", "timestamp_ntz"), ("hour", "bigint")]
    same = found.selectExpr(f"ts = {instant}", f"ntz = {reading}", "hour").collect()
    assert [tuple(row) for row in same] == [(True, True, 23)]


def frame_of(spark: SparkSession, case: Case) -> DataFrame:
    types = {name: "BIGINT" if kind == "TIMESTAMP" else kind for name, kind in case.columns.items()}
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in types.items())
    return spark.createDataFrame(list(case.rows), ddl)


@pytest.mark.parametrize(
    "file", ["flink", *(pytest.param(name, marks=pytest.mark.long) for name in ("trino", "fuzz"))]
)
def test_frames_give_the_answers_of_the_standard(spark: SparkSession, file: str) -> None:
    cases = [case for case in load(file) if case.error is None][:: 30 if file != "fuzz" else 200]
    for case in cases:
        found = match_recognize(frame_of(spark, case), case.query).collect()
        assert same_rows(case, [tuple(row) for row in found]), case.id


TESTED = """MATCH_RECOGNIZE (
    PARTITION BY user ORDER BY ts MEASURES FIRST(ts) AS since, COUNT(*) AS rows
    AFTER MATCH SKIP TO NEXT ROW PATTERN (A B)
    DEFINE A AS {}, B AS TRUE
)"""


TYPED_DDL = "user STRING, action STRING, note STRING, flag BOOLEAN, amount BIGINT, ts BIGINT"
TYPED_ROWS = [
    ("ana", action, note, flag, amount, ts)
    for ts, (action, note, flag, amount) in enumerate(
        [
            ("fail", "a", True, 1),
            ("login", None, False, 2),
            (None, "b", None, None),
            ("Fail", None, True, 3),
            ('it\'s \\ "so"', "a", None, 4),
            ("fail ", "a", False, None),
            ("\ue000", "x", False, -5),
            ("\U0001f600", "y", True, 0),
        ]
    )
]
TESTED_BY_SPARK = [
    "action = 'fail'",
    "action <> 'fail' OR note IS NULL",
    "'m' <= action AND NOT (flag = TRUE)",
    "action IN ('fail', 'it''s \\ \"so\"') AND amount >= 2",
    "action > '\ue000'",
    "action = 'fail' OR amount < -4",
]
NOT_TESTED_BY_SPARK = ["UPPER(action) = 'FAIL'", "action = note", "amount * 2 > 3", "ts > 1"]


def test_what_spark_tests_means_the_same_to_it(spark: SparkSession) -> None:
    frame = spark.createDataFrame(TYPED_ROWS, TYPED_DDL)
    schema = Schema.from_ddl(TYPED_DDL)
    columns, expected = [], []
    for number, condition in enumerate(TESTED_BY_SPARK):
        clause = analyse(read_query(TESTED.format(condition)).clause, schema)
        (test,) = in_jvm(clause, schema, frame.schema).tests.values()
        columns.append(test.alias(f"c{number}"))
        (first, _) = clause.conditions
        assert first is not None
        holds = compile_scalar(first.node, row_reader([name for name, _ in schema.columns]))
        expected.append([holds(row, ()) for row in TYPED_ROWS])
    found = [tuple(row) for row in frame.select("ts", *columns).orderBy("ts").collect()]
    assert [row[1:] for row in found] == list(zip(*expected, strict=True))


def test_what_may_mean_something_else_to_spark_or_saves_nothing(spark: SparkSession) -> None:
    schema = Schema.from_ddl(TYPED_DDL)
    frame = spark.createDataFrame([], TYPED_DDL)
    for condition in NOT_TESTED_BY_SPARK:
        clause = analyse(read_query(TESTED.format(condition)).clause, schema)
        assert not in_jvm(clause, schema, frame.schema).tests, condition
    other = frame.withColumn("action", F.collate("action", "UTF8_LCASE"))
    clause = analyse(read_query(TESTED.format("action = 'FAIL'")).clause, schema)
    assert not in_jvm(clause, schema, other.schema).tests


@pytest.mark.long
def test_a_part_of_a_condition_is_tested_by_spark(spark: SparkSession) -> None:
    schema = Schema.from_ddl(TYPED_DDL)
    condition = "action = 'fail' AND amount > PREV(amount)"
    clause = analyse(read_query(TESTED.format(condition)).clause, schema)
    tested = in_jvm(clause, schema, spark.createDataFrame([], TYPED_DDL).schema)
    assert list(tested.tests) == ["_percept_test_0"]
    assert "action" not in needed_columns(tested.clause, tested.schema)


@pytest.mark.long
def test_a_mistake_is_told_before_anything_runs(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ROWS, DDL)
    with pytest.raises(ClauseError, match="no column acton"):
        match_recognize(frame, CLAUSE.replace("action = 'fail'", "acton = 'fail'"))


@pytest.mark.long
def test_a_stream_outputs_matches_as_they_are_decided(spark: SparkSession, tmp_path: Path) -> None:
    batches = (ROWS[:4], ROWS[4:], [("zed", "x", 0.0, 10_000_000)])
    stream = streamed(spark, tmp_path / "events", DDL, batches)
    found = match_recognize(stream, CLAUSE, delay_ms=1_000)
    assert [tuple(row) for row in in_memory(found, "recognized").collect()] == FOUND
    with pytest.raises(PatternError, match="a stream has none"):
        match_recognize(stream, CLAUSE.replace("LOGIN) WITHIN", "LOGIN $) WITHIN"))
