"""Windows of one selector group and shard: their values in a batch, and what they keep of each key.

    events in order + rows kept ──with_columns──► events with the values of windows ──► tests
    rows that later events may count ──save──► buckets of their own, beside those of partial matches

A key is freed by time, once none of its events counts any more. Events before a rule is active do
not count for it, so that equal windows of several rules share what is kept.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Final

import numpy as np
import polars as pl

from cep.compiling import Ints
from cep.expression import EvaluationError, Node
from cep.expression.tree import Window
from cep.expression.values import Value
from cep.nfa.codec import pack_values, unpack_values
from cep.windows.columns import Evaluate
from cep.windows.rows import Flags, WindowRows, deadline_ms
from cep.windows.running import kept_too_many
from processor_runtime.rows.event_block import TIME
from processor_runtime.rows.key_hashing import key_bytes
from processor_runtime.rules.rule_set import SelectorGroup
from processor_runtime.rules.window_columns import GroupWindows
from processor_runtime.state.bucket_index import NEVER, BucketIndex
from processor_runtime.state.group_header import GroupHeader
from processor_runtime.state.key_buckets import (
    BatchKeys,
    HeldEntries,
    KeyPlace,
    PackedKeys,
    bucket_name,
    take_keys,
)
from processor_runtime.state.keyed_state import KeyedState, StateUnder

_BUCKETS_SWEPT: Final = 48
"""How many buckets per batch are written again because rules have read other columns then."""


@dataclass(slots=True)
class WindowState:
    """The windows of a group in a shard, during one batch.

    `failures`: the rules whose windows cannot be computed, or keep too much, with the error.
    """

    group: SelectorGroup
    windows: GroupWindows
    state: KeyedState
    header: GroupHeader
    failures: dict[str, Exception] = field(default_factory=dict)
    _batch: BatchKeys = field(init=False)
    _rows: WindowRows = field(init=False)
    _needed: dict[Window, Flags] = field(init=False)

    def __post_init__(self) -> None:
        layouts, texts = self.header.window_layouts, list(self.windows.texts.values())
        newest = max(layouts, default=0)
        if layouts.get(newest) != texts:
            layouts[newest + 1] = texts

    @property
    def next_deadline_ms(self) -> int | None:
        """When the next key is freed."""
        return self.header.windows.next_deadline_ms

    @property
    def size_bytes(self) -> int:
        """How many bytes the rows that are kept take in the state."""
        return self.header.windows.size_bytes

    def with_columns(
        self, events: pl.DataFrame | None, until_ms: int, stopped: Collection[str]
    ) -> pl.DataFrame | None:
        """Return the events of the batch with the values of windows, in new columns.

        `events` come in order, and later ones are after `until_ms`. Windows of `stopped` rules are
        NULL, and those of rules in `failures` from here on.
        """
        try:
            kept, new = self._taken(events, until_ms)
        except EvaluationError as error:
            # Without keys no window can be computed, and nothing is found that is wrong.
            columns = self.windows.columns
            self.failures = {w.rule: error for w in columns.names if w.rule not in stopped}
            kept = WindowRows.empty(list(columns.parts))
            new = WindowRows.unread(np.zeros(0 if events is None else len(events), np.int64))
            self._batch = self._keys(PackedKeys.of([]), until_ms)
        frame = self.group.compiled.no_events if events is None else events
        evaluate = partial(self.windows.evaluated, frame)
        self._rows, values = self._values(kept, new, evaluate, stopped)
        self._needed = self._counted_later(until_ms, {*stopped, *self.failures})
        self._check_limits()
        return None if events is None else self.windows.filled(events, values)

    def _values(
        self, kept: WindowRows, new: WindowRows, evaluate: Evaluate, stopped: Collection[str]
    ) -> tuple[WindowRows, dict[str, list[Value]]]:
        """Return all rows and the columns, which are NULL for rules whose windows fail."""
        columns, since_ms = self.windows.columns, self.group.since_ms
        out = {*stopped, *self.failures}
        try:
            return columns.values(kept, new, evaluate, since_ms, out)
        except EvaluationError:
            rules = {window.rule for window in columns.names} - out
        for rule in rules:
            try:
                columns.values(kept, new, evaluate, since_ms, {*out, *rules} - {rule})
            except EvaluationError as error:
                self.failures[rule] = error
        return columns.values(kept, new, evaluate, since_ms, {*out, *self.failures})

    def save(self, stopped: Collection[str]) -> None:
        """Keep what later events may count."""
        out = {*stopped, *self.failures}
        needed = {window: of for window, of in self._needed.items() if window.rule not in out}
        chosen = np.zeros(len(self._rows), np.bool_)
        deadlines_ms = np.full(len(self._batch), -1, np.int64)
        for window, of_window in needed.items():
            chosen |= of_window
            np.maximum.at(
                deadlines_ms, self._rows.keys[of_window], self._deadlines(window, of_window)
            )
        entries = self._entries(self._rows.where(chosen))
        held = HeldEntries(
            b"".join(entries),
            np.cumsum([0, *map(len, entries)], dtype=np.int64),
            deadlines_ms,
            np.zeros(len(entries), np.bool_),
        )
        layouts = self.header.window_layouts
        newest = max(layouts)
        self._batch.save(held, newest)
        oldest = self.header.windows.oldest_layout or newest
        used = {n: of for n, of in layouts.items() if n == newest or n >= oldest}
        self.header.window_layouts = used

    def _deadlines(self, window: Window, chosen: Flags) -> Ints:
        found = [deadline_ms(window, time_ms) for time_ms in self._rows.times_ms[chosen].tolist()]
        return np.array([NEVER if each is None else min(each, NEVER) for each in found], np.int64)

    def _counted_later(self, until_ms: int, without: Collection[str]) -> dict[Window, Flags]:
        intervals = self.group.intervals.items()
        over = {rule for rule, interval in intervals if interval.given_up_ms <= until_ms}
        columns = self.windows.columns
        return columns.needed(self._rows, until_ms, self.group.since_ms, {*without, *over})

    def _check_limits(self) -> None:
        """Find the rules whose windows keep more events of a key than partial matches may."""
        by_rule: dict[str, Flags] = {}
        for window, of_window in self._needed.items():
            earlier = by_rule.get(window.rule)
            by_rule[window.rule] = of_window if earlier is None else earlier | of_window
        for rule, chosen in by_rule.items():
            most = int(np.bincount(self._rows.keys[chosen]).max(initial=0))
            limit = self.group.compiled.limits[rule].events
            if most > limit:
                self.failures[rule] = kept_too_many(most, limit)

    def _taken(self, events: pl.DataFrame | None, until_ms: int) -> tuple[WindowRows, WindowRows]:
        """Return what is kept of the keys of some events, and times and keys of these."""
        if events is None:
            self._batch = self._keys(PackedKeys.of([]), until_ms)
            return self._kept(), WindowRows.empty([])
        compiled = self.group.compiled
        keys = compiled.keys(events).rows() if compiled.is_keyed else [()] * len(events)
        numbers: dict[tuple[Any, ...], int] = {}
        of_events = [numbers.setdefault(key, len(numbers)) for key in keys]
        self._batch = self._keys(PackedKeys.of(map(key_bytes, numbers)), until_ms)
        times_ms = events.get_column(TIME).cast(pl.Int64).to_numpy()
        return self._kept(), WindowRows(times_ms, np.array(of_events, np.int64), {})

    def _keys(self, keys: PackedKeys, until_ms: int) -> BatchKeys:
        return take_keys(
            KeyPlace(self.group.compiled.id, self.state, self.header.windows),
            keys,
            until_ms,
            older_than_layout=max(self.header.window_layouts),
            sweep=_BUCKETS_SWEPT,
        )

    def _kept(self) -> WindowRows:
        spans, layouts = self._batch.entries()
        times_ms: list[int] = []
        sizes = np.zeros(len(self._batch), np.int64)
        values: dict[Node, list[Value]] = {part: [] for part in self.windows.texts}
        for number in np.flatnonzero(spans[:, 1] > spans[:, 0]).tolist():
            begin, end = spans[number].tolist()
            of_key, columns = unpack_values(self._batch.data[begin:end])
            texts = self.header.window_layouts[int(layouts[number])]
            named = dict(zip(texts, columns, strict=True))
            for part, text in self.windows.texts.items():
                values[part] += named[text] if text in named else [None] * len(of_key)
            times_ms += of_key
            sizes[number] = len(of_key)
        keys = np.repeat(np.arange(len(sizes)), sizes)
        return WindowRows(np.array(times_ms, np.int64), keys, values)

    def _entries(self, rows: WindowRows) -> list[bytes]:
        """Return what is kept of each key of the batch as bytes."""
        order = np.argsort(rows.keys, kind="stable")
        begins = np.searchsorted(rows.keys[order], np.arange(len(self._batch) + 1)).tolist()
        places, times_ms = order.tolist(), rows.times_ms[order].tolist()
        columns = [[rows.values[part][n] for n in places] for part in self.windows.texts]
        entries = []
        for begin, end in pairwise(begins):
            of_key = [times_ms[begin:end], [column[begin:end] for column in columns]]
            entries.append(pack_values(of_key) if end > begin else b"")
        return entries


def forget(state: KeyedState, header: GroupHeader) -> None:
    """Free what the windows of a group have kept; `state` is that of the group."""
    if header.window_layouts:
        names = map(bucket_name, range(len(header.windows)))
        state_of_windows(state).put_many(dict.fromkeys(names))
        header.windows, header.window_layouts = BucketIndex.empty(), {}


def state_of_windows(state: KeyedState) -> KeyedState:
    """Return the part of the state of a group that windows have."""
    return StateUnder(state, "windows/")
