"""What compiled code has found, in columns, until somebody wants it as objects.

    walk of a shape ──► FoundColumns ──emit_order of all shapes──► FoundBlock ──► lists of Detection
                                                                      └──► rows, all at once

Most finds only become rows of output, for which no object of theirs is needed.
"""

import heapq
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from cep.compiling import Ints
from cep.keyed.event_columns import DetectionsAt
from cep.keyed.shapes import Detection, Shape
from cep.nfa.chains import Chain, ChainColumns, FoundChains

_AT_ONCE: Final = 4_096
"""So many finds become objects at a time."""
_IN_BLOCK: Final = 16_384
"""About so many are in a block: what is done for a block takes a millisecond or more."""
_MOST_IN_BLOCK: Final = 65_536
"""About so many if several shapes have found them: it is done for each of them."""


class EventChains(Protocol):
    """The events behind finds; see `cep.nfa_kernel.chains.Chains`."""

    def ending_with(self, lasts: Ints) -> FoundChains:
        """Return the finds that end with these cells, to be looked at one by one."""

    def columns(self, lasts: Ints) -> ChainColumns:
        """Return their events; of finds at the end none, if they have very many together."""


@dataclass(frozen=True, slots=True)
class FoundColumns:
    """What one shape has found, in order.

    Args:
        shape: the rules.
        keys: the keys of the call.
        key_numbers: of each find, the place of its key in `keys`.
        rules: the rules that have found it, as bits.
        cells: its last event.
        times_ms: the event time at which it was found.
        is_timeout: whether it is a partial match that timed out.
        emit_order: twice the index of the event at which it was emitted, plus 1 if by that event.
        chains: the events behind the cells.
    """

    shape: Shape
    keys: Sequence[Hashable]
    key_numbers: Ints
    rules: Ints
    cells: Ints
    times_ms: Ints
    is_timeout: NDArray[np.bool_]
    emit_order: Ints
    chains: EventChains

    def __len__(self) -> int:
        """Return the number of finds; each may be one of several rules."""
        return len(self.cells)

    def between(self, first: int, last: int) -> "FoundColumns":
        """Return what came out from a moment to another, both included."""
        begin, end = np.searchsorted(self.emit_order, [first, last + 1]).tolist()
        return FoundColumns(
            self.shape,
            self.keys,
            self.key_numbers[begin:end],
            self.rules[begin:end],
            self.cells[begin:end],
            self.times_ms[begin:end],
            self.is_timeout[begin:end],
            self.emit_order[begin:end],
            self.chains,
        )

    def iter_detections(self) -> Iterator[DetectionsAt]:
        """Yield the detections in order; none of rules that have been stopped meanwhile.

        What a moment has brought comes in parts.
        """
        machine = self.shape.machine
        for begin in range(0, len(self), _AT_ONCE):
            part = slice(begin, begin + _AT_ONCE)
            chains = self.chains.ending_with(self.cells[part])
            columns = (
                self.emit_order[part],
                self.key_numbers[part],
                self.rules[part],
                self.times_ms[part],
                self.is_timeout[part],
            )
            finds = zip(*(column.tolist() for column in columns), strict=True)
            for number, (moment, key, rules, time_ms, is_timeout) in enumerate(finds):
                detections = self.shape.detections(
                    rules & ~machine.stopped,
                    self.keys[key],
                    Chain(chains, number),
                    time_ms,
                    is_timeout=is_timeout,
                )
                yield (moment >> 1, bool(moment & 1)), list(detections)


@dataclass(frozen=True, slots=True)
class FoundBlock:
    """What some moments in a row have brought, each as a whole: of each shape its finds, if any.

    At one moment the finds of an earlier part come first.
    """

    parts: Sequence[FoundColumns]

    def __len__(self) -> int:
        """Return the number of finds."""
        return sum(map(len, self.parts))

    def smaller(self) -> "Iterator[FoundBlock]":
        """Yield blocks of fewer finds in its place; none if there are only some thousand."""
        size = len(self) // 4
        return blocks_of(self.parts, size) if size >= _AT_ONCE else iter(())

    def detections(self) -> Iterator[list[Detection]]:
        """Yield what each moment has brought; none of rules that have been stopped meanwhile."""
        return by_moment(
            heapq.merge(*(part.iter_detections() for part in self.parts), key=itemgetter(0))
        )


def by_moment(told: Iterator[DetectionsAt]) -> Iterator[list[Detection]]:
    """Yield all that a moment has brought; parts of it come one after the other."""
    for _, parts in groupby(told, itemgetter(0)):
        if detections := [one for _, part in parts for one in part]:
            yield detections


def blocks_of(found: Sequence[FoundColumns], size: int | None = None) -> Iterator[FoundBlock]:
    """Yield what shapes have found, some thousand finds or about so many at a time, in order."""
    if size is None:
        size = min(_IN_BLOCK * max(1, len(found)), _MOST_IN_BLOCK)
    order = np.sort(np.concatenate([each.emit_order for each in found])) if found else np.empty(0)
    begin = 0
    while begin < len(order):
        last = order[min(begin + size, len(order)) - 1]
        parts = [each.between(order[begin], last) for each in found]
        yield FoundBlock([part for part in parts if len(part)])
        begin = int(np.searchsorted(order, last, side="right"))
