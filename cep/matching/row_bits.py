"""What the columns of a frame of sorted rows say, before any search looks at a row.

frame ──row tests, columnar──► known and true bits · times · runs of one partition
"""

from dataclasses import dataclass
from itertools import repeat

import numpy as np
import polars as pl

from cep.compiling import MOST_BITS, Ints
from cep.expression import Schema, compile_columnar
from cep.instants import NEVER_MS, time_ms_of
from cep.row_search.program import RowProgram


@dataclass(frozen=True, slots=True)
class RowBits:
    """Of each row: `known` and `true`, see `Partition`; `time_ms`; the number of its `run`.

    Rows next to each other of one partition are a run. Times are 0 where nothing depends on them.
    """

    known: pl.Series
    true: pl.Series
    time_ms: pl.Series
    run: pl.Series

    def filter(self, kept: pl.Series) -> "RowBits":
        """Return the bits of some of the rows."""
        return RowBits(
            self.known.filter(kept),
            self.true.filter(kept),
            self.time_ms.filter(kept),
            self.run.filter(kept),
        )


class RowBitsReader:
    """Works out the bits of frames for a clause."""

    def __init__(self, program: RowProgram, schema: Schema) -> None:
        self._program = program
        self._clause = program.clause
        self._tests = [
            None if test is None else compile_columnar(test, schema) for test in program.row_tests
        ]

    def of(self, frame: pl.DataFrame) -> RowBits:
        """Return the bits of a frame."""
        known, true = self._known_and_true(frame)
        return RowBits(known, true, self._times(frame), self._runs(frame))

    def _known_and_true(self, frame: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
        tested = [test for test in self._tests if test is not None]
        answers = iter(frame.select(test.alias(f"{i}") for i, test in enumerate(tested)))
        passed = [
            None if test is None else next(answers).fill_null(value=False) for test in self._tests
        ]
        if len(passed) > MOST_BITS:
            return self._long_bits(passed, len(frame))
        known = true = pl.repeat(0, len(frame), dtype=pl.Int64, eager=True)
        for variable, (condition, holds) in enumerate(
            zip(self._program.conditions, passed, strict=True)
        ):
            bit = 1 << variable
            if condition.residual is None:
                known += bit
                true += bit if holds is None else holds.cast(pl.Int64) * bit
            elif holds is not None:
                known += (~holds).cast(pl.Int64) * bit
        return known, true

    def _long_bits(
        self, passed: list[pl.Series | None], height: int
    ) -> tuple[pl.Series, pl.Series]:
        """Return bits as integers of Python, which have as many as there are variables."""
        answers = [
            repeat(True, height) if holds is None else holds.to_list()  # noqa: FBT003 - a value
            for holds in passed
        ]
        bits = [self._program.row_bits(row) for row in zip(*answers, strict=True)]
        known, true = [known for known, _ in bits], [true for _, true in bits]
        return pl.Series(known, dtype=pl.Object), pl.Series(true, dtype=pl.Object)

    def _times(self, frame: pl.DataFrame) -> pl.Series:
        if self._clause.within_ms is None:
            return pl.repeat(0, len(frame), dtype=pl.Int64, eager=True)
        column = frame.get_column(self._clause.order_by[0][0])
        if column.dtype.is_integer():
            return column.cast(pl.Int64).fill_null(NEVER_MS)
        if isinstance(column.dtype, pl.Datetime):
            return column.dt.epoch("ms").fill_null(NEVER_MS)
        times = [NEVER_MS if value is None else time_ms_of(value) for value in column]
        return pl.Series(times, dtype=pl.Int64)

    def _runs(self, frame: pl.DataFrame) -> pl.Series:
        if not self._clause.partition_by:
            return pl.repeat(0, len(frame), dtype=pl.UInt32, eager=True)
        keys = frame.select(self._clause.partition_by)
        return keys.select(pl.struct(pl.all()).rle_id()).to_series()


def bounds(runs: pl.Series) -> tuple[Ints, Ints]:
    """Return where the rows of each run begin, and behind which they end."""
    begin = (runs.diff().fill_null(1) != 0).arg_true().to_numpy().astype(np.int64)
    return begin, np.append(begin[1:], len(runs))
