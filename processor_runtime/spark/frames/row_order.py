"""In which order the search takes the rows of a task, and whether Spark or the worker sorts them.

    BoundClause ──row_order──► columns to sort by ──┬─ WorkerSort, by Polars: several times faster
                                                    └─ sorted_by_spark, if requested

The worker sorts in memory what Polars and Spark order alike, and refuses what is too much for it:
only Spark sorts by way of files.

Source: sorting by the least significant key first (Knuth, The Art of Computer Programming, 5.2.5).
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
from cep.row_pattern.bound import BoundClause

ARRIVAL: Final = "_percept_arrival"
"""A column that numbers the rows as they come: ties keep that order, which a shuffle does not."""
_MEMORY: Final = "spark.python.worker.memory"
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SHARE_OF_WORKER: Final = 4
_ROWS_PER_SLICE: Final = 200_000
_PLACE: Final = "_percept_place"
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


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A column to sort by. NaN is the greatest number, -0.0 equals 0.0, texts go by code points."""

    name: str
    is_descending: bool = False
    nulls_last: bool = True


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


class SortMemoryError(MemoryError):
    """The rows of a task are too many for the worker to sort."""


@dataclass(frozen=True, slots=True)
class WorkerSort:
    """How a Python worker sorts the rows of a task, in memory.

    Args:
        order: what to sort by, the most significant first; rows should differ in one of them.
        most_bytes: how much the rows and their sorted copy may take together.
    """

    order: tuple[SortColumn, ...]
    most_bytes: int

    def sorted(self, frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield the rows of frames in order, in slices.

        Raises:
            SortMemoryError: they would take more memory.
        """
        most_bytes = min(self.most_bytes, _own_share())
        held: list[pl.DataFrame] = []
        size = 0
        for frame in filter(len, frames):
            size += int(frame.estimated_size())
            if 2 * size > most_bytes:
                raise SortMemoryError(
                    f"the rows of a task take more than {most_bytes:,} bytes to sort; have Spark "
                    "sort them (match_recognize(..., spark_sorts=True)), allow more memory "
                    f"({_MEMORY}), or, with PARTITION BY, let more tasks share them "
                    "(spark.sql.shuffle.partitions)"
                )
            held.append(frame)
        if held:
            rows = pl.concat(held, rechunk=True)
            held.clear()  # they take memory
            yield from rows[self._places(rows)].iter_slices(_ROWS_PER_SLICE)

    def _places(self, rows: pl.DataFrame) -> pl.Series:
        """Return the places of rows in order.

        Polars sorts several times faster by one column at a time, the last one first, than by all.
        """
        first: dict[str, SortColumn] = {}
        for column in self.order:
            first.setdefault(column.name, column)  # of one that comes twice, what sorts the rows
        places = rows.select(*first).with_row_index(_PLACE)
        for column in reversed(first.values()):
            places = places.sort(
                column.name,
                descending=column.is_descending,
                nulls_last=column.nulls_last,
                maintain_order=True,
            ).drop(column.name)
        return places.get_column(_PLACE)


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
