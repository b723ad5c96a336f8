"""A shape that compiled code can run: its keys from bytes to bytes, and what was found on the way.

    EventColumns · Payloads ──states_of──► arrays ──cep.nfa_kernel.walk──► found, Payloads

The one way into compiled code for keys that are objects (`object_keys`) and for those of a store
(`stored_keys`). Nothing changes where compiled code gives up.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from cep.compiling import Ints
from cep.compiling.byte_copying import Bytes
from cep.executors.compiled.residual_columns import ResidualColumns
from cep.expression import EvaluationError
from cep.keyed.event_columns import EventColumns
from cep.keyed.found_columns import FoundColumns
from cep.keyed.matcher import KeyedMatcher
from cep.keyed.shapes import EventKind, Shape
from cep.nfa.chains import EventsByNumber
from cep.nfa.codec import pack_values, unpack_values
from cep.nfa.machine import Machine
from cep.nfa.step_counts import StepCounts
from cep.nfa.transition_table import EventTransitions
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel import counting
from cep.nfa_kernel.arrays import KeyArrays, KeyEvents
from cep.nfa_kernel.chains import Chains
from cep.nfa_kernel.entries.compacting import compacted
from cep.nfa_kernel.entries.reading import spans_of, states_of
from cep.nfa_kernel.entries.writing import list_of, payloads_of
from cep.nfa_kernel.residual_code import ResidualCode
from cep.nfa_kernel.tables import MachineTables
from cep.nfa_kernel.walk import walk
from cep.number_order import stable_order


@dataclass(frozen=True, slots=True)
class CompiledShape:
    """A shape that compiled code can run: what its machine does, and what its conditions read."""

    shape: Shape
    machine: Machine
    tables: MachineTables
    columns: ResidualColumns


def compiled_shape(shape: Shape, machine: Machine, code: ResidualCode) -> CompiledShape:
    """Return a shape with its tables.

    Args:
        shape: the shape.
        machine: its machine.
        code: what conditions ask of partial matches.
    """
    return CompiledShape(shape, machine, MachineTables(machine, code), ResidualColumns(code))


@dataclass(frozen=True, slots=True)
class Payloads:
    """What keys hold of one shape, as it is written (see `cep.nfa.codec.runs_payload`).

    Args:
        entry_bytes: where the payloads are, among other things.
        spans: begin and end of each; where both are equal the key holds nothing.
    """

    entry_bytes: bytes
    spans: Ints


@dataclass(frozen=True, slots=True)
class WalkedShape:
    """A shape at the end of a call: what was found and counted, and what its keys hold now.

    Args:
        compiled: the shape.
        found: what was found, keys by their place in the walk.
        counts: see `count_walk`.
        chains: the events behind cells.
        payloads: what the keys hold, one after the other; of those that hold nothing no bytes.
        begins: where each begins; one more at the end.
    """

    compiled: CompiledShape
    found: Ints
    counts: Ints
    chains: Chains
    payloads: Bytes
    begins: Ints


def walk_shape(  # noqa: PLR0913, PLR0917 - what one call of compiled code takes
    compiled: CompiledShape,
    events: EventColumns[EventKind],
    of_keys: KeyEvents,
    held: Payloads,
    rules: int,
    counted: int,
    span_ms: tuple[int, int],
) -> WalkedShape | None:
    """Move the keys of a shape by events, and close their windows up to a time.

    Args:
        compiled: the shape.
        events: the events of the call.
        of_keys: those that concern the shape, key by key.
        held: what the keys hold, in the same order.
        rules: those that go on, as bits; what keys hold of others is given up.
        counted: the rules whose timeouts are counted, and not among what is found, as bits.
        span_ms: the time up to which windows are closed already, and how far time goes.

    Returns:
        What has come of it; `None` if compiled code gave up or a payload is not well formed. Then
        nothing has changed.

    Raises:
        StateEncodingError: an event that a key would hold has a value that cannot be written; then
            nothing has changed, either.
    """
    data = np.frombuffer(held.entry_bytes, np.uint8)
    states = states_of(data, held.spans, len(events), rules)
    if not states.is_well_formed:
        return None
    of_held = _HeldEvents(held.entry_bytes, states.events)
    try:
        columns, ranks = compiled.columns.of(
            events, of_keys.order, of_held.every if compiled.columns.names else ()
        )
    except EvaluationError:
        return None
    walked = walk(
        compiled.tables.ranked(ranks),
        of_keys,
        columns,
        states.keys,
        compiled.machine.stopped,
        counted,
        span_ms,
    )
    if walked.status == at.GAVE_UP:
        return None
    payloads, begins = _payloads(walked.keys, events, data, states.events)
    chains = Chains(walked.keys.cells, EventsByNumber(events.frame, of_held.at))
    return WalkedShape(compiled, walked.found, walked.counts, chains, payloads, begins)


def _payloads(
    keys: KeyArrays, events: EventColumns[EventKind], data: Bytes, held: Ints
) -> tuple[Bytes, Ints]:
    """Return what keys hold after a walk as bytes, and where that of each begins."""
    kept = compacted(keys, len(events) + len(held))
    is_new = kept.events < len(events)
    spans = np.empty((len(kept.events), 3), np.int64)
    spans[:, 0] = is_new
    spans[~is_new, 1:] = held[kept.events[~is_new] - len(events)]
    new = _packed(events.events_at(kept.events[is_new]))
    spans[is_new, 1:] = spans_of(new)
    return payloads_of(keys, kept, data, new, spans)


@dataclass(frozen=True, slots=True)
class _HeldEvents:
    """Events that keys have held, by number, as they were written."""

    written: bytes
    spans: Ints

    @property
    def every(self) -> list[list[Any]]:
        """All of them."""
        return self._read(self.spans)

    def at(self, numbers: Ints) -> list[list[Any]]:
        """Return some of them."""
        return self._read(self.spans[numbers])

    def _read(self, spans: Ints) -> list[list[Any]]:
        packed = list_of(np.frombuffer(self.written, np.uint8), spans)
        events: list[list[Any]] = unpack_values(packed.tobytes())
        return events


def _packed(events: Sequence[tuple[Any, ...]]) -> Bytes:
    """Return events as they are written, in an array of theirs."""
    return np.frombuffer(pack_values([list(event) for event in events]), np.uint8)


def transitions_by_shape(
    kinds: Sequence[EventKind],
) -> dict[int, list[tuple[int, EventTransitions]]]:
    """Return by identity of a shape which kinds of events concern it, and what they do."""
    by_shape: defaultdict[int, list[tuple[int, EventTransitions]]] = defaultdict(list)
    for number, kind in enumerate(kinds):
        for shape, transitions in kind:
            by_shape[id(shape)].append((number, cast("EventTransitions", transitions)))
    return by_shape


def count_walk(matcher: KeyedMatcher, compiled: CompiledShape, counts: Ints) -> None:
    """Count what compiled code has counted by rule and step, and timeouts that are counted only."""
    machine, step_count = compiled.machine, compiled.tables.tables.step_count
    rows = np.flatnonzero(counts[:, : counting.KINDS].any(axis=1))
    for row, numbers in zip(rows.tolist(), counts[rows].tolist(), strict=True):
        reached, again, timed_out, broken, pruned, newest_ms = numbers
        taken = reached + again
        found = StepCounts(
            reached, taken, timed_out, broken, pruned, last_event_ms=newest_ms if taken else None
        )
        rule, step = divmod(row, step_count)
        machine.tally.add(rule, step, found)
        if timed_out:
            matcher.count_timeouts(compiled.shape, 1 << rule & ~machine.stopped, timed_out)


def in_order(
    shape: Shape,
    events: EventColumns[EventKind],
    keys: tuple[Sequence[Hashable], Ints],
    chains: Chains,
    found: Ints,
) -> FoundColumns:
    """Return what a walk has found in order of time.

    Args:
        shape: whose walk.
        events: of the call.
        keys: some, and which of them the walk has gone through.
        chains: the events behind cells.
        found: what the walk has found.
    """
    all_keys, numbers = keys
    # Events are in order of time; what windows that close have brought is among them by time.
    has_closed = (found[:, at.FOUND_EVENT] == at.NO_EVENT).any()
    of_time = (found[:, at.FOUND_ORDER_MS],) if has_closed else ()
    ordered = found.take(stable_order(*of_time, found[:, at.FOUND_EVENT]), axis=0)
    order_ms = ordered[:, at.FOUND_ORDER_MS]
    is_of_event = ordered[:, at.FOUND_EVENT] != at.NO_EVENT
    places = ordered[:, at.FOUND_EVENT].copy()
    places[~is_of_event] = _places_of_times(events.times_ms, order_ms[~is_of_event])
    return FoundColumns(
        shape,
        all_keys,
        numbers[ordered[:, at.FOUND_KEY]],
        ordered[:, at.FOUND_RULES],
        ordered[:, at.FOUND_CELL],
        ordered[:, at.FOUND_TIME_MS],
        ordered[:, at.FOUND_IS_TIMEOUT] != 0,
        2 * places + is_of_event,
        chains,
    )


def _places_of_times(times_ms: Ints, asked_ms: Ints) -> Ints:
    """Return where among events times are; each after the last event is a place of its own."""
    if not len(times_ms):
        return asked_ms
    after_last: Ints = np.maximum(asked_ms - int(times_ms[-1]) - 1, 0)
    return np.searchsorted(times_ms, asked_ms) + after_last
