"""Lines of JSON that workers write are what Spark writes of the same rows, to the byte."""

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from processor_runtime.output import plain_blocks, row_plan
from processor_runtime.output.row_chunks import RowChunks
from processor_runtime.output.row_columns import LINES, RowColumns, RowLines
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.row_limits import RowLimits
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.spark.plan.stages import OUTPUT_DDL, STAGE_DDL, InlineLines, rows_as_pandas
from processor_runtime.spark.sinks.row_columns import row_lines
from processor_runtime.stages.shard_matcher import MatchSettings
from tests.letters import event, job_of, processor, sequence, version
from tests.matching.compiled_machine import machines_of

YEAR_1_MS = -62_135_596_800_000
YEAR_9999_MS = 253_402_300_799_999
BEGINS_MS = (YEAR_1_MS, -1_000, 0, 1_700_000_000_000, YEAR_9999_MS - 1_000)
SELECTS: Sequence[dict[str, Any]] = (
    {},
    {"select": {"key": "a.user", "price": "b.price"}},
    {"select": {"odd": "1.5"}},
)


def events_at(begin_ms: int) -> list[dict[str, Any]]:
    """Return events whose keys and times have all that JSON writes in a way of its own."""
    users = ("u", "v'\"\\\té\u2028😀", None)
    return [
        event(name, begin_ms + 7 * place, user=user, price=place if place % 3 else None)
        for place, name in enumerate("abcab" * 3)
        for user in users
    ]


def chunks_of(monkeypatch: pytest.MonkeyPatch, *, writes_lines: bool) -> list[Any]:
    """Return the rows that a job gives out many at a time."""
    given: list[Any] = []

    def add(_chunks: RowChunks, kind: str, rows: Sequence[OutputRow]) -> None:
        assert kind == "match"
        given.append(rows)

    rules = (
        processor(f"p'{n}", version(3 + n, sequence("ab"), **select))
        for n, select in enumerate(SELECTS)
    )
    matching = MatchSettings(frozenset({"match"}), writes_lines=writes_lines)
    job = job_of(*rules, defaults=RuleDefaults(row_limits=RowLimits()), matching=matching)
    with machines_of("compiled"), monkeypatch.context() as patch:
        patch.setattr(RowChunks, "add_many", add)
        patch.setattr(plain_blocks, "FEWEST_FINDS", 0)
        for begin_ms in BEGINS_MS:
            job.batch(events_at(begin_ms))
        job.advance(YEAR_9999_MS)
    return given


def lines_in_spark(spark: SparkSession, rows: Sequence[OutputRow]) -> list[str]:
    lines = row_lines(spark.createDataFrame(rows, OUTPUT_DDL))
    return [row.value for row in lines.collect()]


def test_lines_are_what_spark_writes(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for each in chunks_of(monkeypatch, writes_lines=False) for row in each]
    given = chunks_of(monkeypatch, writes_lines=True)
    assert all(isinstance(each, RowLines) for each in given)
    lines = [line for each in given for line in text_of(each).split("\n")]
    assert lines == lines_in_spark(spark, rows)
    assert sum(map(len, given)) == len(rows) > 100
    assert {row.start_ms for row in rows} >= set(BEGINS_MS)


def test_rows_and_lines_are_written_side_by_side(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first, *_) = chunks_of(monkeypatch, writes_lines=True)
    late = OutputRow("late", start_ms=5, end_ms=5, events='{"user":"ana"}')
    frame = spark.createDataFrame(rows_as_pandas(first), STAGE_DDL).unionByName(
        spark.createDataFrame([(*late, None)], STAGE_DDL)
    )
    written = [row.value for row in row_lines(frame).collect()]
    assert written == [text_of(first), *lines_in_spark(spark, [late])]


def test_few_lines_go_with_the_status_and_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    given = chunks_of(monkeypatch, writes_lines=True)
    late = [OutputRow("late", start_ms=5, end_ms=5, events="{}")]
    size = sum(each.size_bytes for each in given)
    for most, sent in ((size, [late]), (size - 1, [late, *given]), (0, [*given, late])):
        in_hand = InlineLines(most)
        out = [rows for each in [*given[:-1], late, given[-1]] for rows in in_hand.send(each)]
        assert sorted(map(id, out)) == sorted(map(id, sent))
        text = "\n".join(map(text_of, given))
        assert in_hand.rest() == (text.encode() if sent == [late] else None)


def test_very_large_rows_are_no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_plan, "CHARACTERS_PER_CHUNK", 100)
    given = chunks_of(monkeypatch, writes_lines=True)
    assert given
    assert all(isinstance(each, RowColumns) for each in given)


def text_of(lines: RowLines) -> str:
    (text,) = lines.batch.column(LINES).to_pylist()
    return bytes(text).decode()
