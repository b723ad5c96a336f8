"""Gives every row a unique id, which is the same when its batch is written again.

    match, timeout, group, … ──► match_id         of several of a match: match_id, match_id-2, …
    side, late, error ──► hash of batch and row   of several equal rows: hash, hash-2, …

Numbers are assigned by the content of rows, so they do not depend on the order in which tasks find
them. Rows come to the driver in order of their id, a bounded number at a time.
"""

from collections.abc import Iterator
from typing import Final

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - how PySpark's functions are named everywhere

from processor_runtime.spark.sinks.row_columns import ROW_ID

ROWS_PER_TASK: Final = 20_000
_NAMED: Final = ("match", "timeout", "shadow", "suppressed", "grouped", "group")


def with_identity(rows: DataFrame, batch_id: int, row_count: int) -> DataFrame:
    """Return rows with the column `row_id`.

    `row_count`: about how many rows there are; a single task handles few rows.
    """
    content = F.sha2(
        F.to_json(F.struct(F.lit(batch_id).alias("batch_id"), *rows.columns)), numBits=256
    )
    is_match = F.col("kind").isin(*_NAMED) & F.col("match_id").isNotNull()
    named = rows.withColumn("_content", content).withColumn(
        "_name", F.when(is_match, F.col("match_id")).otherwise(F.col("_content"))
    )
    # A query with state has as many partitions as shards, which are far too many for a few rows.
    named = named.repartition(tasks_for(row_count), "_name")
    number = F.row_number().over(Window.partitionBy("_name").orderBy("_content"))
    suffix = F.when(number == 1, F.lit("")).otherwise(F.concat(F.lit("-"), number.cast("string")))
    return named.withColumn(ROW_ID, F.concat("_name", suffix)).drop("_name", "_content")


def tasks_for(row_count: int) -> int:
    """Return how many tasks are to work on so many rows."""
    return max(1, -(-row_count // ROWS_PER_TASK))


def rows_in_order(rows: DataFrame, row_count: int) -> Iterator[Row]:
    """Yield rows by `row_id`, so that a batch that is written again comes in the same order."""
    return ordered(rows, row_count, ROW_ID).toLocalIterator()


def ordered(rows: DataFrame, row_count: int, *columns: str) -> DataFrame:
    """Return rows in order of columns."""
    pieces = tasks_for(row_count)
    # Several ranges need a pass over the rows to find their bounds; one range does not.
    divided = rows.coalesce(1) if pieces == 1 else rows.repartitionByRange(pieces, *columns)
    return divided.sortWithinPartitions(*columns)
