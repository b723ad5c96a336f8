"""MATCH_RECOGNIZE over sorted frames with the interpreting search: every clause there is.

    frames ──row tests, columnar──► runs of one partition ──RowPatternSearch──► frames of the result

Only what the clause reads becomes rows of Python, and only of partitions in which a match can
begin.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from cep.compiling import MOST_BITS
from cep.expression import Schema, row_reader
from cep.matching.result_frames import frame_of
from cep.matching.row_bits import RowBits, RowBitsReader, bounds
from cep.row_search.automaton.states import State
from cep.row_search.matched import MatchedRows
from cep.row_search.output import RowOutput
from cep.row_search.partition import Partition
from cep.row_search.program import RowProgram
from cep.row_search.search import RowPatternSearch

_MOST_ROWS: Final = 16
_MOST_STATES: Final = 1_000
_ROWS_PER_FRAME: Final = 16_384


class InterpretedFrames:
    """The rows of a clause over frames of sorted rows; see `cep.matching.sorted_frames`."""

    def __init__(
        self, search: RowPatternSearch, schema: Schema, result: list[tuple[str, pl.DataType]]
    ) -> None:
        clause = search.program.clause
        names = tuple(name for name, _ in schema.columns)
        self._names = names
        self._search = search
        self._output = RowOutput(clause, row_reader(names))
        self._bits = RowBitsReader(search.program, schema)
        has_few = len(clause.variables) <= MOST_BITS
        self._openings = openings(search.program) if has_few else ()
        self._key = [names.index(name) for name in clause.partition_by]
        self._partition = Partition()
        self._current: tuple[Any, ...] | None = None
        self._result = result
        self._waiting: list[tuple[Any, ...]] = []

    def process(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Take the next rows; yield rows of the result; errors as of `SortedFrames.process`."""
        if not len(frame):
            return
        bits = self._bits.of(frame)
        if self._openings and self._key:
            hopeful = self._hopeful(bits)
            frame, bits = frame.filter(hopeful), bits.filter(hopeful)
        known, true, times = bits.known.to_list(), bits.true.to_list(), bits.time_ms.to_list()
        rows = frame.select(self._names).rows()
        begins, ends = bounds(bits.run)
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            key = tuple(rows[begin][place] for place in self._key)
            if not _is_one_key(key, self._current):
                self._end_partition()
                self._current = key
            self._partition.extend(
                rows[begin:end], times[begin:end], known[begin:end], true[begin:end]
            )
            self._take(self._search.run(self._partition))
            yield from self._full()

    def end(self) -> Iterator[pl.DataFrame]:
        """End the last partition; yield the rest of the result."""
        self._end_partition()
        yield from self._full(at_least=1)

    def _end_partition(self) -> None:
        self._take(self._search.run(self._partition, is_ended=True))
        self._partition = Partition()

    def _take(self, found: Sequence[MatchedRows]) -> None:
        for each in found:
            self._waiting.extend(self._output.rows(each))

    def _full(self, at_least: int = _ROWS_PER_FRAME) -> Iterator[pl.DataFrame]:
        if len(self._waiting) >= at_least:
            yield frame_of(self._waiting, self._result)
            self._waiting = []

    def _hopeful(self, bits: RowBits) -> pl.Series:
        """Return of each row whether a match can begin in its run.

        The first and the last run may have rows in other frames, so they are left as they are.
        """
        runs = bits.run
        can_be = bits.true | ~bits.known
        begins = pl.repeat(value=True, n=len(runs), eager=True)
        for depth, variables in enumerate(self._openings):
            is_possible = ((can_be & variables) != 0) & (runs.shift(depth) == runs)
            begins &= is_possible.shift(-depth).fill_null(value=False)
        run = pl.col("run")
        at_the_edge = (run == run.first()) | (run == run.last())
        hopeful = at_the_edge | pl.col("begins").any().over("run")
        return pl.DataFrame({"run": runs, "begins": begins}).select(hopeful).to_series()


def _is_one_key(key: tuple[Any, ...], other: tuple[Any, ...] | None) -> bool:
    """Return whether keys are equal, NaN being equal to NaN as it is within a frame."""
    return other is not None and all(
        a == b or (a != a and b != b)  # noqa: PLR0124 - NaN alone differs from itself
        for a, b in zip(key, other, strict=True)
    )


def openings(program: RowProgram) -> tuple[int, ...]:
    """Return, as bits, the variables that each of the first rows of any match can be.

    No longer than the shortest match. It ends at the first row of which a condition looks at more
    than the row: that must be tried, as it may fail. Empty where every row brings something.

    Source: the factors of a regular expression that every match must have, as in Hyperscan.
    """
    if not program.beginners:
        return ()
    found: list[int] = []
    states = {program.states.initial(is_first_row=False)}
    while len(found) < min(program.fewest_rows, _MOST_ROWS) and len(states) <= _MOST_STATES:
        steps = [step for state in states for step in state.steps]
        variables = {step.variable for step in steps}
        found.append(sum(1 << variable for variable in variables))
        if any(program.conditions[variable].residual is not None for variable in variables):
            break
        following: set[State] = {program.states.at(step.place) for step in steps}
        states = following
    return tuple(found)
