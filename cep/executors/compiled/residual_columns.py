"""What conditions on earlier events read, as columns: of the events of a call, and of those held.

    EventColumns, events of partial matches ──ResidualColumns──► Columns

An event that a key has held comes back as the list of its values, and is put under the columns of
the call, so that the same expressions are computed for both.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from cep.compiling import Ints
from cep.condition_code.arrays import Columns
from cep.condition_code.columns import FrameColumns
from cep.expression import evaluating
from cep.keyed.event_columns import EventColumns, frame_of
from cep.nfa_kernel.residual_code import ResidualCode


class ResidualColumns:
    """Works out the columns of a machine.

    Args:
        code: what its conditions ask of partial matches.
    """

    def __init__(self, code: ResidualCode) -> None:
        self._columns = FrameColumns(code.operands)

    @property
    def names(self) -> Sequence[str]:
        """The columns that are read; none if conditions look at nothing before."""
        return self._columns.names

    def of(
        self, events: EventColumns[Any], places: Ints, held: Sequence[list[Any]]
    ) -> tuple[Columns, Mapping[int, int]]:
        """Return the columns, and the ranks of constant texts; see `FrameColumns.of`.

        Args:
            events: the events of the call.
            places: which of them concern the machine, in the order in which they are wanted.
            held: the events that keys have held, which come after them.

        Raises:
            EvaluationError: they cannot be computed, or a value is not of the type of its column.
        """
        names = self._columns.names
        if not names:
            return _NO_COLUMNS, {}
        with evaluating():
            frame = events.frame.select(names)
            read, ranks = self._columns.of(
                pl.concat([frame[places], frame_of(held, frame.schema, events.frame.columns)])
            )
        return read, ranks


_NO_COLUMNS = Columns(
    np.empty((0, 0), np.int64),
    np.empty((0, 0), np.bool_),
    np.empty((0, 0), np.float64),
    np.empty((0, 0), np.bool_),
)
