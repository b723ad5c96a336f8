"""The rows of a frame for the compiled search: what conditions read, times, what is known.

frame ──FrameColumns──► Rows, ranks of constants
"""

import polars as pl

from cep.compiling import Ints, in_one_piece
from cep.condition_code.columns import FrameColumns
from cep.row_kernel.arrays import Rows


def rows_of(
    columns: FrameColumns, frame: pl.DataFrame, times_ms: Ints, known: Ints, true: Ints
) -> tuple[Rows, dict[int, int]]:
    """Return the rows of a call, and the rank of each constant text by its place in `ints`.

    Raises:
        EvaluationError: polars cannot work a column out.
    """
    read, ranks = columns.of(frame)
    times_ms, known, true = map(in_one_piece, (times_ms, known, true))
    return Rows(times_ms, known, true, read), ranks
