"""What keys hold, from their bytes to arrays and back, shape by shape: no object for any of it.

    entries ──EncodedKeys──► parts of each shape ──► LoadedKeys ──walk──► payloads ──► entries

A key keeps what no event concerns byte for byte. Where something cannot be read so, because it was
written by rules that are numbered otherwise, or is corrupt, it is left to `cep.keyed.key_state`.

Source: `cep.keyed.key_state`, whose bytes these are.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cep.compiling import Ints
from cep.compiling.byte_copying import Bytes
from cep.keyed.found_columns import FoundColumns
from cep.keyed.key_state import EncodedKey
from cep.keyed.shapes import Selection, Shape
from cep.nfa.machine import Machine
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel.entries.reading import (
    NO_SHAPE,
    PART_BEGIN,
    PART_END,
    PART_ENTRY,
    PART_SHAPE,
    parts_of,
)
from cep.nfa_kernel.entries.summaries import NO_DEADLINE, Summaries, Windows, summaries_of
from cep.nfa_kernel.entries.writing import PIECE_WIDTH, entries_of
from cep.number_order import stable_order


@dataclass(frozen=True)
class EncodedKeys:
    """What some keys hold.

    Args:
        keys: the keys.
        entry_bytes: where their entries are, among other things.
        parts: what each shape holds of each, see `cep.nfa_kernel.entries.reading`.
    """

    keys: Sequence[Hashable]
    entry_bytes: bytes
    parts: Ints

    @cached_property
    def data(self) -> Bytes:
        """The bytes as an array."""
        return np.frombuffer(self.entry_bytes, np.uint8)

    @cached_property
    def _by_shape(self) -> tuple[Ints, Ints]:
        """Places of parts in order of shapes, and their shapes."""
        order = stable_order(self.parts[:, PART_SHAPE])
        return order, self.parts[order, PART_SHAPE]

    def of_shape(self, number: int) -> Ints:
        """Return the places of the parts of a shape, in order of keys."""
        order, shapes = self._by_shape
        begin, end = np.searchsorted(shapes, [number, number + 1]).tolist()
        places: Ints = order[begin:end]
        return places

    def spans(self, places: Ints, keys: Ints) -> Ints:
        """Return where a shape's part of each key begins and ends, both 0 if there is none.

        Args:
            places: of the parts of the shape.
            keys: which keys, ascending.
        """
        of_keys = np.zeros((len(self.keys), 2), np.int64)
        of_keys[self.parts[places, PART_ENTRY]] = self.parts[places, PART_BEGIN : PART_END + 1]
        spans: Ints = of_keys[keys]
        return spans


def encoded_keys(
    keys: Sequence[Hashable],
    entry_bytes: bytes,
    spans: Ints,
    layouts: Ints,
    numberings: Sequence[Sequence[int]],
) -> EncodedKeys | None:
    """Return what was written of keys; `None` if it is not well formed.

    Args:
        keys: the keys.
        entry_bytes: where their entries are.
        spans: begin and end of each; where both are equal the key holds nothing.
        layouts: of each, the place of its layout among the numberings.
        numberings: of the layouts, see `KeyRestorer.numbering`.
    """
    width = max(map(len, numberings), default=0)
    numbers = np.full((max(1, len(numberings)), width), NO_SHAPE, np.int64)
    for row, numbering in zip(numbers, numberings, strict=False):
        row[: len(numbering)] = numbering
    parts, could = parts_of(np.frombuffer(entry_bytes, np.uint8), spans, layouts, numbers)
    return EncodedKeys(keys, entry_bytes, parts) if could else None


class ShapeSummaries:
    """What bytes say of keys: deadlines, and what is open.

    Args:
        shapes: all shapes of a matcher, each with a machine that compiled code can run.
    """

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self._shapes = shapes
        programs = [shape.machine.program for shape in shapes if isinstance(shape.machine, Machine)]
        states = [program.states for program in programs]
        steps = [1 + max(state.step for state in of_program) for of_program in states]
        rules = [shape.machine.all_rules.bit_length() for shape in shapes]
        previous_ms = [each.previous_window_ms or at.NO_WINDOW for some in states for each in some]
        self._windows = Windows(
            np.array([program.window_ms for program in programs], np.int64),
            np.cumsum([0, *map(len, states)], dtype=np.int64),
            np.array(previous_ms, np.int64),
            np.array(steps, np.int64),
            np.cumsum([0, *(r * s for r, s in zip(rules, steps, strict=True))], dtype=np.int64),
        )

    def of(self, data: Bytes, parts: Ints, count: int, kept: Selection) -> Summaries:
        """Return what is known of so many keys, and some rules."""
        return summaries_of(data, parts, count, self._windows, np.array(kept, np.int64))

    def open_steps(self, summaries: Summaries) -> Counter[tuple[str, str]]:
        """Return how many partial matches are open, by rule and the step of their last event."""
        counts = Counter[tuple[str, str]]()
        windows = self._windows
        places = np.flatnonzero(summaries.open_steps)
        shapes = np.searchsorted(windows.open_begin, places, side="right") - 1
        numbers = summaries.open_steps[places].tolist()
        for shape, place, number in zip(shapes.tolist(), places.tolist(), numbers, strict=True):
            of_shape = place - int(windows.open_begin[shape])
            rule, step = divmod(of_shape, int(windows.step_counts[shape]))
            member = self._shapes[shape].members[rule]
            counts[member.rule, member.step_name(step)] += number
        return counts


@dataclass(frozen=True, slots=True)
class UpdatedKeys:
    """What some keys hold after a call.

    Args:
        keys: the keys.
        entry_bytes: their entries, one after the other.
        begins: where each begins; one more at the end. Keys that hold nothing have no bytes.
        summaries: what is known of them.
    """

    keys: Sequence[Hashable]
    entry_bytes: bytes
    begins: Ints
    summaries: Summaries

    def encoded(self) -> Iterator[tuple[Hashable, EncodedKey | None]]:
        """Yield each key with its state, `None` if it holds nothing."""
        begins = self.begins.tolist()
        deadlines_ms, hold_back = self.summaries.deadlines_ms, self.summaries.hold_back
        for key, begin, end, deadline_ms, holds_back in zip(
            self.keys, begins, begins[1:], deadlines_ms.tolist(), hold_back.tolist(), strict=False
        ):
            if begin == end:
                yield key, None
                continue
            due_ms = None if deadline_ms == NO_DEADLINE else deadline_ms
            yield key, EncodedKey(self.entry_bytes[begin:end], due_ms, bool(holds_back))


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """What a batch has brought.

    Args:
        found_columns: what was found, shape by shape.
        updated_keys: what keys hold now.
        open_before: how many partial matches were open, by rule and the step of their last event.
        open_after: how many are.
    """

    found_columns: Sequence[FoundColumns]
    updated_keys: UpdatedKeys
    open_before: Counter[tuple[str, str]]
    open_after: Counter[tuple[str, str]]


def kept_keys(
    held: EncodedKeys, pieces: Ints, new: Bytes, of: ShapeSummaries, rules: Selection
) -> UpdatedKeys | None:
    """Return keys of which some payloads are new; `None` if others are not well formed.

    Args:
        held: what they held.
        pieces: see `cep.nfa_kernel.entries.writing`, in any order.
        new: the new payloads.
        of: the shapes.
        rules: those of which anything is wanted.
    """
    count = len(held.keys)
    ordered = pieces[stable_order(pieces[:, 0], pieces[:, 1])].reshape(-1, PIECE_WIDTH)
    data, begins, parts = entries_of(np.ascontiguousarray(ordered), count, held.data, new)
    summaries = of.of(data, parts, count, rules)
    return UpdatedKeys(held.keys, data.tobytes(), begins, summaries) if summaries.could else None
