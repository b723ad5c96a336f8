"""The keys of one selector group and shard in a batch: which it takes, and how they are written.

    keys with events, windows due ──take──► BatchKeys ──restored, or as bytes──► matcher
    keys after the batch ──save──► entries under the newest layout ──► state

A layout says which rules the bits in entries stand for; it is kept in the state for as long as an
entry was written under it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from cep.keyed.key_state import EncodedKey, KeyRestorer, layout
from cep.nfa.codec import pack, unpack
from processor_runtime.rows.event_block import translation
from processor_runtime.rules.compiled_group import CompiledGroup
from processor_runtime.state.bucket_index import NEVER
from processor_runtime.state.group_header import GroupHeader
from processor_runtime.state.key_buckets import (
    AlsoTaken,
    BatchKeys,
    HeldEntries,
    KeyPlace,
    PackedKeys,
    take_keys,
)
from processor_runtime.state.keyed_state import KeyedState

_BUCKETS_SWEPT: Final = 48
"""How many buckets per batch are rid of what replaced and deleted rules have left in them."""


@dataclass(slots=True)
class GroupKeys:
    """The keys of a group during one batch."""

    compiled: CompiledGroup
    state: KeyedState
    header: GroupHeader
    _restorers: dict[int, KeyRestorer] = field(default_factory=dict)

    def take(self, keys: PackedKeys, until_ms: int, also: AlsoTaken) -> BatchKeys:
        """Return keys with what is kept of them, those with windows due, and others: `take_keys`.

        Raises:
            LookupError: the state has lost something.
            StateEncodingError: it is corrupt.
        """
        return take_keys(
            KeyPlace(self.compiled.id, self.state, self.header.buckets),
            keys,
            until_ms,
            older_than_layout=self.layout_number(),
            sweep=_BUCKETS_SWEPT,
            also=also,
        )

    def save(self, keys: BatchKeys, held: HeldEntries) -> None:
        """Write what keys hold after the batch."""
        keys.save(held, self.layout_number())
        self._forget_layouts()

    def restorer(self, number: int) -> KeyRestorer:
        """Return what restores keys that were written under a layout."""
        if number not in self._restorers:
            self._restorers[number] = self._new_restorer(number)
        return self._restorers[number]

    def _new_restorer(self, number: int) -> KeyRestorer:
        matcher = self.compiled.matcher
        if number == self.layout_number():
            return KeyRestorer(matcher, layout(matcher))
        data = self.state.get(f"l{number}")
        if data is None:
            raise LookupError(f"the state has lost the layout {number} of its keys")
        columns, written = unpack(data)
        return KeyRestorer(matcher, written, translation(columns, self.compiled.columns))

    def layout_number(self) -> int:
        """Return the number of the layout keys are written under now; a new one if it changed."""
        layouts: Mapping[int, str] = self.header.layouts
        digest = self.compiled.layout_digest
        newest = max(layouts, default=0)
        if layouts.get(newest) == digest:
            return newest
        self.header.layouts[newest + 1] = digest
        content: list[Any] = [list(self.compiled.columns), layout(self.compiled.matcher)]
        self.state.put(f"l{newest + 1}", pack(content))
        return newest + 1

    def _forget_layouts(self) -> None:
        newest = max(self.header.layouts)
        oldest = self.header.buckets.oldest_layout
        for number in list(self.header.layouts):
            if number != newest and (oldest is None or number < oldest):
                del self.header.layouts[number]
                self.state.delete(f"l{number}")


def held_entries(states: Sequence[EncodedKey | None]) -> HeldEntries:
    """Return what keys hold as one; `None` is nothing."""
    deadlines_ms = [NEVER if each is None else _deadline(each) for each in states]
    return HeldEntries(
        b"".join(each.data for each in states if each is not None),
        np.cumsum([0, *(0 if each is None else len(each.data) for each in states)], dtype=np.int64),
        np.array(deadlines_ms, np.int64),
        np.array([each is not None and each.holds_back for each in states], np.bool_),
    )


def _deadline(state: EncodedKey) -> int:
    # One behind all time is none.
    return NEVER if state.deadline_ms is None else min(state.deadline_ms, NEVER)
