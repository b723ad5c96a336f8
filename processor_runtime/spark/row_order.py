"""In which order the search takes the rows of a task, and whether Spark or the worker sorts them.

    BoundClause ──row_order──► columns to sort by ──┬─ sorted_by_spark
                                                    └─ WorkerSort, by Polars: several times faster

The worker sorts what Polars and Spark order alike.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
from typing import Final

import polars as pl
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from cep.expression.sql import quoted_name
from cep.matching.external_sort import ExternalSort, SortColumn, SpillError
from cep.row_pattern.bound import BoundClause
from processor_runtime.spark.local_files import local_directory

ARRIVAL: Final = "_percept_arrival"
"""A column that numbers the rows as they come: ties keep that order, which a shuffle does not."""
_MEMORY: Final = "spark.python.worker.memory"
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SHARE_OF_WORKER: Final = 4
_ALIKE: Final = (
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType,
    DateType,
    TimestampType,
    TimestampNTZType,
)


def row_order(clause: BoundClause) -> tuple[SortColumn, ...]:
    """Return what the rows of a task are sorted by: partition, ORDER BY, arrival.

    A partition of NULL comes first, as Spark has it; within a partition NULLs come last.
    """
    keys = (SortColumn(name, nulls_last=False) for name in clause.partition_by)
    order = (SortColumn(name, is_descending) for name, is_descending in clause.order_by)
    return (*keys, *order, SortColumn(ARRIVAL))


def is_ordered_alike(order: Sequence[SortColumn], schema: StructType) -> bool:
    """Return whether Polars orders the columns as Spark does; texts only in binary collation."""
    return all(_is_alike(schema[column.name].dataType) for column in order)


def _is_alike(data_type: DataType) -> bool:
    return isinstance(data_type, _ALIKE) or data_type == StringType("UTF8_BINARY")


def sorted_by_spark(rows: DataFrame, order: Sequence[SortColumn]) -> DataFrame:
    """Return rows sorted within each task."""
    return rows.sortWithinPartitions(*map(_spark_order, order))


def _spark_order(column: SortColumn) -> Column:
    of_column = F.col(quoted_name(column.name))
    if column.is_descending:
        return of_column.desc_nulls_last() if column.nulls_last else of_column.desc_nulls_first()
    return of_column.asc_nulls_last() if column.nulls_last else of_column.asc_nulls_first()


@dataclass(frozen=True, slots=True)
class WorkerSort:
    """How a Python worker sorts the rows of a task, holding no more of them than `most_bytes`."""

    order: tuple[SortColumn, ...]
    most_bytes: int

    def sorted(self, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield the rows of frames in order.

        Raises:
            SpillError: they do not fit into memory, and cannot be written to disk.
        """
        sort = ExternalSort(self.order, min(self.most_bytes, _own_share()), local_directory())
        try:
            yield from sort.sorted(frames)
        except SpillError as error:
            raise SpillError(
                error.errno,
                f"{error.strerror}. Make room there or name other directories (spark.local.dir), "
                f"allow more memory ({_MEMORY}), or let more tasks share the rows "
                "(spark.sql.shuffle.partitions)",
            ) from error


def worker_sort(spark: SparkSession, order: tuple[SortColumn, ...]) -> WorkerSort:
    """Return how workers sort; what they may hold is Spark's `spark.python.worker.memory`.

    Raises:
        ValueError: that setting is no amount of memory.
    """
    return WorkerSort(order, _bytes_of(spark.conf.get(_MEMORY, "512m") or ""))


def _bytes_of(text: str) -> int:
    written = re.fullmatch(r"\s*(\d+)\s*([kmgt]?)b?\s*", text, re.IGNORECASE)
    if written is None:
        raise ValueError(f"{_MEMORY} is {text!r}; write an amount as 512m or 2g")
    number, unit = written.groups()
    return int(number) * _UNITS[unit.lower()]


def _own_share() -> int:
    """Return how much of the memory that Spark limits a worker to may be rows to sort."""
    limit, _ = getrlimit(RLIMIT_AS)
    return sys.maxsize if limit == RLIM_INFINITY else limit // _SHARE_OF_WORKER
