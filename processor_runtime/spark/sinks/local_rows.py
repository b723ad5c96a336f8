"""Brings rows to the driver in order of their identity, a bounded number at a time."""

from collections.abc import Iterator

from pyspark.sql import DataFrame, Row

from processor_runtime.spark.sinks.row_columns import ROW_ID
from processor_runtime.spark.sinks.row_identity import tasks_for


def rows_in_order(rows: DataFrame, row_count: int) -> Iterator[Row]:
    """Yield rows by `row_id`, so that a batch that is written again comes in the same order."""
    pieces = tasks_for(row_count)
    # Several ranges need a pass over the rows to find their bounds; one range does not.
    divided = rows.coalesce(1) if pieces == 1 else rows.repartitionByRange(pieces, ROW_ID)
    return divided.sortWithinPartitions(ROW_ID).toLocalIterator()
