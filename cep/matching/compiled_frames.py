"""MATCH_RECOGNIZE over sorted frames with the compiled search: many partitions in one call.

    frames ──some at once──► arrays ──cep.row_kernel──► matches ──columnar──► frames of the result

What is undecided when the rows of a call end is searched again with the next ones. A partition on
which the compiled search gives up goes on with the interpreting one, from the start it was at.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from cep.condition_code.columns import FrameColumns
from cep.condition_code.operands import NotCompilable
from cep.expression import EvaluationError, Schema, row_reader
from cep.matching.result_frames import frame_of
from cep.matching.row_bits import RowBits, RowBitsReader, bounds
from cep.row_kernel import outcomes
from cep.row_kernel.arrays import Matches, Partitions
from cep.row_kernel.columns import rows_of
from cep.row_kernel.output import CompiledOutput
from cep.row_kernel.plan import SearchPlan
from cep.row_kernel.walk import search
from cep.row_search.matched import MatchedRows, RowOutcome
from cep.row_search.output import RowOutput
from cep.row_search.partition import Partition
from cep.row_search.search import RowPatternSearch

_DEAD_CELLS: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class _Rest:
    """The last partition of a call: its rows that are needed further, and how far it has come.

    `start` is the place in `rows` of the next start. `interpreted` is its search, if that of the
    interpreter has it; then `rows` is one it has had already.
    """

    rows: pl.DataFrame
    start: int
    matches: int
    has_first_row: bool
    interpreted: Partition | None


@dataclass(frozen=True, slots=True)
class _Call:
    """The rows of one call, and what was found."""

    frame: pl.DataFrame
    bits: RowBits
    known: np.ndarray[Any, np.dtype[np.int64]]
    true: np.ndarray[Any, np.dtype[np.int64]]
    partitions: Partitions
    matches: Matches


class CompiledFrames:
    """The rows of a clause over frames of sorted rows; see `cep.matching.sorted_frames`."""

    def __init__(
        self,
        search: RowPatternSearch,
        plan: SearchPlan,
        schema: Schema,
        result: list[tuple[str, pl.DataType]],
        rows_at_once: int,
    ) -> None:
        clause = search.program.clause
        names = tuple(name for name, _ in schema.columns)
        reader = row_reader(names)
        self._search = search
        self._plan = plan
        self._rows_at_once = rows_at_once
        self._result = result
        self._names = names
        self._bits = RowBitsReader(search.program, schema)
        self._columns = FrameColumns(plan.operands)
        self._row_output = RowOutput(clause, reader)
        self._output: CompiledOutput | None
        try:
            self._output = CompiledOutput(clause, schema, result)
        except NotCompilable:
            self._output = None
        self._pending: list[pl.DataFrame] = []
        self._pending_rows = 0
        self._rest: _Rest | None = None

    def process(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Take the next rows; yield rows of the result; errors as of `SortedFrames.process`."""
        if len(frame):
            self._pending.append(frame.select(self._names))
            self._pending_rows += len(frame)
        if self._pending_rows >= self._rows_at_once:
            yield from self._take_pending(is_end=False)

    def end(self) -> Iterator[pl.DataFrame]:
        """End the last partition; yield the rest of the result."""
        yield from self._take_pending(is_end=True)

    def _take_pending(self, *, is_end: bool) -> Iterator[pl.DataFrame]:
        rest, self._rest = self._rest, None
        frames = [*([rest.rows] if rest else []), *self._pending]
        self._pending, self._pending_rows = [], 0
        if frames:
            call = self._called(pl.concat(frames, rechunk=True), rest, is_end=is_end)
            interpreted = rest.interpreted if rest else None
            yield from self._found(call, interpreted, is_end=is_end)

    def _called(self, frame: pl.DataFrame, rest: _Rest | None, *, is_end: bool) -> _Call:
        bits = self._bits.of(frame)
        known, true = bits.known.to_numpy().copy(), bits.true.to_numpy().copy()
        begin, end = bounds(bits.run)
        partitions = Partitions(
            begin,
            end,
            begin.copy(),
            np.zeros(len(begin), np.int64),
            np.ones(len(begin), np.bool_),
            np.ones(len(begin), np.bool_),
        )
        partitions.is_ended[-1] = is_end
        if rest is not None:
            partitions.start[0] = rest.start if rest.interpreted is None else end[0]
            partitions.matches[0] = rest.matches
            partitions.has_first_row[0] = rest.has_first_row
        rows, ranks = rows_of(self._columns, frame, bits.time_ms.to_numpy(), known, true)
        matches = search(self._plan.ranked(ranks), rows, partitions, _DEAD_CELLS)
        return _Call(frame, bits, known, true, partitions, matches)

    # What was found

    def _found(
        self, call: _Call, interpreted: Partition | None, *, is_end: bool
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows of the result, partition by partition."""
        last = len(call.partitions.begin) - 1
        done = 0
        given_up = np.flatnonzero(call.matches.status == outcomes.GAVE_UP).tolist()
        if not is_end and self._holds_too_much(call):
            given_up.append(last)
        if interpreted is not None:
            given_up.insert(0, 0)
        for number in dict.fromkeys(given_up):
            yield from self._output_of(call, _of_partitions(call.matches, done, number + 1))
            done = number + 1
            partition = interpreted if number == 0 else None
            search = self._interpreting(call, number, partition)
            is_ended = bool(call.partitions.is_ended[number])
            yield from self._in_rows(self._search.run(search, is_ended=is_ended))
            if not is_ended:
                self._rest = _Rest(call.frame[-1:], 0, 0, has_first_row=False, interpreted=search)
        yield from self._output_of(call, _of_partitions(call.matches, done, last + 1))
        if not is_end and self._rest is None:
            self._rest = self._rest_of(call, last)

    def _holds_too_much(self, call: _Call) -> bool:
        kept = call.partitions.end[-1] - call.matches.start[-1] + self._search.program.lookback
        return bool(kept > self._search.limits.events)

    def _rest_of(self, call: _Call, last: int) -> _Rest:
        begin, end = int(call.partitions.begin[last]), int(call.partitions.end[last])
        start = int(call.matches.start[last])
        # A row at least, which tells the partition.
        kept = max(begin, min(start - self._search.program.lookback, end - 1))
        is_first = bool(call.partitions.has_first_row[last]) and kept == begin
        matches = int(call.matches.matches[last])
        return _Rest(call.frame[kept:], start - kept, matches, is_first, None)

    def _interpreting(self, call: _Call, number: int, partition: Partition | None) -> Partition:
        """Return a partition as the interpreting search has it, with all its rows."""
        begin, end = int(call.partitions.begin[number]), int(call.partitions.end[number])
        if partition is not None:
            kept = begin + 1  # the interpreter has had that row
        else:
            start = int(call.matches.start[number])
            kept = max(begin, start - self._search.program.lookback)
            partition = Partition()
            partition.base = 0 if kept == begin and call.partitions.has_first_row[number] else 1
            partition.start = partition.covered = partition.base + start - kept
            partition.matches = int(call.matches.matches[number])
        partition.extend(
            call.frame[kept:end].rows(),
            call.bits.time_ms[kept:end].to_list(),
            call.known[kept:end].tolist(),
            call.true[kept:end].tolist(),
        )
        return partition

    def _output_of(self, call: _Call, matches: Matches) -> Iterator[pl.DataFrame]:
        if not len(matches.first_row):
            return
        if self._output is not None:
            try:
                frame = self._output.frame(call.frame, call.partitions, matches)
            except (EvaluationError, pl.exceptions.PolarsError):
                frame = None  # by themselves they say which it is, or do not fail
            if frame is not None:
                yield frame
                return
        yield from self._in_rows(self._matched(call, matches))

    def _matched(self, call: _Call, matches: Matches) -> Iterator[MatchedRows]:
        back, ahead = self._search.program.output_back, self._search.program.output_ahead
        rows = call.frame.rows()
        coded = 0
        for partition, first, length, number in zip(
            *(each.tolist() for each in matches[:4]), strict=True
        ):
            codes = tuple(matches.codes[coded : coded + length].tolist())
            coded += length
            begin = max(int(call.partitions.begin[partition]), first - back)
            end = min(int(call.partitions.end[partition]), first + max(1, length) + ahead)
            around = tuple(rows[begin:end])
            yield MatchedRows(RowOutcome.MATCH, around, first - begin, codes, number, first)

    def _in_rows(self, found: Iterator[MatchedRows] | list[MatchedRows]) -> Iterator[pl.DataFrame]:
        rows = [row for each in found for row in self._row_output.rows(each)]
        if rows:
            yield frame_of(rows, self._result)


def _of_partitions(matches: Matches, first: int, last: int) -> Matches:
    """Return the matches of some partitions."""
    begin, end = np.searchsorted(matches.partition, [first, last]).tolist()
    codes = np.concatenate([[0], np.cumsum(matches.length)])
    return matches._replace(
        partition=matches.partition[begin:end],
        first_row=matches.first_row[begin:end],
        length=matches.length[begin:end],
        number=matches.number[begin:end],
        codes=matches.codes[codes[begin] : codes[end]],
    )
