"""A batch of events and time through all shapes, keys going from bytes to bytes.

    EventColumns · EncodedKeys ──walk of each shape to the end of the batch──► EncodedBatch
                                              found, in columns · keys as bytes · what is open

What `cep.executors.column_matcher` does for keys that are objects, for a whole batch of a matcher
all of whose shapes compiled code can run. Nothing is changed where it cannot do all of it: then
`process` returns `None`, and the keys go through objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from cep.compiling import Ints
from cep.executors.compiled.shape_events import NumberedKinds, ShapeEvents, ShapeInput
from cep.executors.compiled.shape_walk import (
    CompiledShape,
    Payloads,
    WalkedShape,
    count_walk,
    in_order,
    transitions_by_shape,
    walk_shape,
)
from cep.executors.encoded_keys import EncodedBatch, EncodedKeys, ShapeSummaries, kept_keys
from cep.keyed.event_columns import EventColumns
from cep.keyed.found_columns import FoundColumns
from cep.keyed.matcher import KeyedMatcher
from cep.keyed.shapes import EventKind, Selection
from cep.nfa_kernel.arrays import KeyEvents
from cep.nfa_kernel.entries.reading import PART_ENTRY
from cep.nfa_kernel.entries.writing import PIECE_WIDTH

_NO_BYTES: Final = np.empty(0, np.uint8)


class EncodedShapes:
    """Takes whole batches to a matcher whose keys are bytes.

    Args:
        matcher: the matcher, which closes windows in the order of deadlines; it holds no keys.
        shapes: all its shapes.
    """

    def __init__(self, matcher: KeyedMatcher, shapes: Sequence[CompiledShape]) -> None:
        self._matcher = matcher
        self._shapes = shapes
        self._summaries = ShapeSummaries([each.shape for each in shapes])

    def process(
        self,
        events: EventColumns[EventKind],
        held: EncodedKeys,
        is_due: NDArray[np.bool_],
        span_ms: tuple[int, int],
        rules: Selection,
    ) -> EncodedBatch | None:
        """Move keys by events, and close their windows up to a time.

        Args:
            events: the events; their keys are the first of `held`, in the same order.
            held: what keys hold.
            is_due: of each key, whether one of its windows may close.
            span_ms: how far time went in the batch before, and how far it goes now; events are of
                times between.
            rules: those that go on; what keys hold of others is given up.

        Of rules that are stopped meanwhile more may have been found.
        """
        kept_rules = tuple(
            of_shape & ~each.machine.stopped
            for of_shape, each in zip(rules, self._shapes, strict=True)
        )
        before = self._summaries.of(held.data, held.parts, len(held.keys), kept_rules)
        if not before.could:
            return None
        by_shape = transitions_by_shape(events.kinds)
        of_shapes = ShapeEvents(events)
        batch = _Batch(events, held, is_due, of_shapes)
        walked: list[tuple[Ints, WalkedShape]] = []
        pieces = [_untouched(held)]
        is_touched = np.zeros(len(held.parts), np.bool_)
        size = 0
        for number, compiled in enumerate(self._shapes):
            transitions = by_shape.get(id(compiled.shape), ())
            compiled.tables.make_room(len(transitions))
            kinds = [(kind, compiled.tables.number(each)) for kind, each in transitions]
            places = held.of_shape(number)
            concerning = batch.concerning(kinds)
            going_on = kept_rules[number]
            is_every = going_on != compiled.machine.all_rules
            keys = batch.keys(concerning, places, is_every=is_every)
            if not len(keys):
                continue
            spans = held.spans(places, keys)
            of_shape = walk_shape(
                compiled,
                events,
                _with_all(concerning, keys),
                Payloads(held.entry_bytes, spans),
                going_on,
                self._matcher.counted_of(compiled.shape),
                span_ms,
            )
            if of_shape is None:
                return None
            walked.append((keys, of_shape))
            is_walked = np.zeros(len(held.keys), np.bool_)
            is_walked[keys] = True
            is_touched[places] = is_walked[held.parts[places, PART_ENTRY]]
            pieces.append(_pieces_of(of_shape, keys, number, size))
            size += len(of_shape.payloads)
        pieces[0] = pieces[0][~is_touched]
        new = np.concatenate([_NO_BYTES, *(each.payloads for _, each in walked)])
        kept = kept_keys(held, np.concatenate(pieces), new, self._summaries, kept_rules)
        if kept is None:
            return None
        return EncodedBatch(
            [self._found(keys, each, events, held) for keys, each in walked],
            kept,
            self._summaries.open_steps(before),
            self._summaries.open_steps(kept.summaries),
        )

    def _found(
        self, keys: Ints, of: WalkedShape, events: EventColumns[EventKind], held: EncodedKeys
    ) -> FoundColumns:
        count_walk(self._matcher, of.compiled, of.counts)
        return in_order(of.compiled.shape, events, (held.keys, keys), of.chains, of.found)


@dataclass(frozen=True, slots=True)
class _Batch:
    """One batch, for one shape after the other."""

    events: EventColumns[EventKind]
    held: EncodedKeys
    is_due: NDArray[np.bool_]
    of_shapes: ShapeEvents

    def concerning(self, kinds: NumberedKinds) -> ShapeInput:
        """Return the events of some kinds, and which keys they have."""
        if self.of_shapes.count([kind for kind, _ in kinds]):
            return self.of_shapes.input_for(kinds)
        nothing = np.empty(0, np.int64)
        begin = np.zeros(1, np.int64)
        return ShapeInput(KeyEvents(begin, nothing, nothing, nothing, len(self.events)), nothing)

    def keys(self, concerning: ShapeInput, places: Ints, *, is_every: bool) -> Ints:
        """Return the keys that events concern, and those with windows due or all, ascending."""
        entries = self.held.parts[places, PART_ENTRY]
        is_wanted = np.zeros(len(self.held.keys), np.bool_)
        is_wanted[concerning.keys] = True
        is_wanted[entries if is_every else entries[self.is_due[entries]]] = True
        return np.flatnonzero(is_wanted)


def _with_all(concerning: ShapeInput, keys: Ints) -> KeyEvents:
    """Return events with more keys, which have none; both are ascending."""
    counts = np.zeros(len(keys) + 1, np.int64)
    counts[1 + np.searchsorted(keys, concerning.keys)] = np.diff(concerning.events.begin)
    return concerning.events._replace(begin=np.cumsum(counts))


def _untouched(held: EncodedKeys) -> Ints:
    """Return all parts as pieces of the entries to come."""
    pieces = np.zeros((len(held.parts), PIECE_WIDTH), np.int64)
    pieces[:, [0, 1, 3, 4]] = held.parts
    return pieces


def _pieces_of(of: WalkedShape, keys: Ints, number: int, first: int) -> Ints:
    """Return the new payloads of a shape as pieces, given its number and where they will be."""
    pieces = np.ones((len(keys), PIECE_WIDTH), np.int64)
    pieces[:, 0], pieces[:, 1] = keys, number
    pieces[:, 3], pieces[:, 4] = of.begins[:-1] + first, of.begins[1:] + first
    has_bytes = of.begins[1:] > of.begins[:-1]
    kept: Ints = pieces[has_bytes]
    return kept
