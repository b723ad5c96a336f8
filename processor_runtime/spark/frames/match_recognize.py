"""MATCH_RECOGNIZE over any DataFrame: the clause that Spark SQL does not have.

    static:    frame ──tests, by partition──► sorted, SortedFrames in Python workers ──► result
    streaming: frame ──match_patterns──► matches of a rule ──► the columns of the result

Source: ISO/IEC 9075-2 feature R010; SPARK-17022 asks for it since 2016.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructType

from cep.expression import Schema
from cep.expression.errors import problem_at
from cep.expression.sql import quoted_name
from cep.matching.result_frames import result_type
from cep.matching.sorted_frames import SortedFrames, needed_columns
from cep.nfa.limits import Limits
from cep.pattern import Pattern
from cep.row_pattern.analysis.analyse import analyse, selected
from cep.row_pattern.bound import BoundClause
from cep.row_pattern.clause import Query
from cep.row_pattern.errors import ClauseError, Mistake
from cep.row_pattern.parsing.clauses import read_query
from processor_runtime.rows.valid_text import with_valid_text
from processor_runtime.spark.frames.match_patterns import frame_ddl, match_patterns
from processor_runtime.spark.frames.row_order import (
    ARRIVAL,
    WorkerSort,
    is_ordered_alike,
    row_order,
    sorted_by_spark,
    worker_sort,
)
from processor_runtime.spark.frames.row_tests import TestedRows, in_jvm
from processor_runtime.spark.session import use_this_python


def match_recognize(
    frame: DataFrame,
    clause: str,
    *,
    delay_ms: int = 0,
    limits: Limits | None = None,
    spark_sorts: bool = False,
) -> DataFrame:
    """Return the result of `SELECT * FROM frame MATCH_RECOGNIZE (...)`; streaming if the frame is.

    A streaming frame is matched in event time: the first column of ORDER BY, TIMESTAMP or BIGINT
    milliseconds. It has no end, so `$` is refused, and a match is output once nothing that is
    preferred to it can still come.

    Args:
        frame: the rows.
        clause: the clause alone, or a whole `SELECT ... FROM name MATCH_RECOGNIZE (...)`.
        delay_ms: how late a row of a stream may come.
        limits: how many candidates, and rows, a partition may hold.
        spark_sorts: have Spark sort the rows of a static frame, which takes several times as long
            as in the memory of its Python workers, and needs no room in that.

    Raises:
        ClauseError: the clause is not well formed, or does not fit the columns of the frame.
        PatternError: a stream cannot decide it.
    """
    use_this_python(frame.sparkSession)
    query = read_query(clause)
    schema = Schema.from_ddl(frame_ddl(frame))
    bound = analyse(query.clause, schema)
    if frame.isStreaming:
        found = _streaming(frame, clause, bound, delay_ms, limits)
    else:
        tested = in_jvm(bound, schema, frame.schema)
        found = _static(frame, tested, limits, spark_sorts=spark_sorts)
    return _selected(found, query)


def _static(
    frame: DataFrame, tested: TestedRows, limits: Limits | None, *, spark_sorts: bool
) -> DataFrame:
    bound = tested.clause
    needed = needed_columns(bound, tested.schema)
    of_needed = Schema(
        tuple(column for column in tested.schema.columns if column[0] in needed),
        tested.schema.lists,
    )
    rows = frame.withColumns({**tested.tests, ARRIVAL: F.monotonically_increasing_id()})
    rows = rows.select(*map(quoted_name, needed), ARRIVAL)
    keys = [F.col(quoted_name(name)) for name in bound.partition_by]
    together = rows.repartition(*keys) if keys else rows.coalesce(1)
    order = row_order(bound)
    sort = None
    if not spark_sorts and is_ordered_alike(order, rows.schema):
        sort = worker_sort(frame.sparkSession, order)
    else:
        together = sorted_by_spark(together, order).drop(ARRIVAL)
    types = [str(result_type(data_type)) for _, data_type in bound.columns]
    ddl = ", ".join(f"`{place}` {kind}" for place, kind in enumerate(types))
    result = to_arrow_schema(cast("StructType", DataType.fromDDL(ddl)), timezone="UTC")
    found = together.mapInArrow(_StaticTask(bound, of_needed, limits, sort, result), ddl)
    return found.toDF(*(name for name, _ in bound.columns))


@dataclass(frozen=True, slots=True)
class _StaticTask:
    """What a Python worker does with the rows of some partitions; unless it sorts, they are."""

    clause: BoundClause
    schema: Schema
    limits: Limits | None
    sort: WorkerSort | None
    result: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the result."""
        frames = SortedFrames(self.clause, self.schema, self.limits)
        rows = (pl.DataFrame(pa.Table.from_batches([with_valid_text(batch)])) for batch in batches)
        for frame in rows if self.sort is None else self.sort.sorted(rows):
            for found in frames.process(frame):
                yield from self._batches(found)
        for found in frames.end():
            yield from self._batches(found)

    def _batches(self, found: pl.DataFrame) -> Iterator[pa.RecordBatch]:
        yield from found.to_arrow().cast(self.result).to_batches()


def _streaming(
    frame: DataFrame, text: str, bound: BoundClause, delay_ms: int, limits: Limits | None
) -> DataFrame:
    if not bound.order_by:
        hint = "write ORDER BY and the column of event time"
        raise ClauseError(
            Mistake.STREAM, problem_at(text, (0, 15), "a stream needs an ORDER BY", hint)
        )
    (event_time, _), *rest = bound.order_by
    found = match_patterns(
        frame,
        Pattern.from_sql(text),
        event_time=event_time,
        key_by=[quoted_name(name) for name in bound.partition_by],
        delay_ms=delay_ms,
        order_by=[name for name, _ in rest],
        limits=limits,
    )
    ddl = ", ".join(f"{quoted_name(name)} {result_type(kind)}" for name, kind in bound.columns)
    output = F.from_json("output", ddl)
    return found.matches.select(output.alias("row")).select("row.*")


def _selected(found: DataFrame, query: Query) -> DataFrame:
    """Return the columns that the SELECT in front of the clause names; all for `*`."""
    if query.columns is None:
        return found
    columns = found.columns
    return found.select(
        *(
            F.col(quoted_name(columns[place])).alias(name)
            for place, name in selected(query, columns)
        )
    )
