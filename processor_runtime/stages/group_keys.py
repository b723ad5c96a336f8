"""The keys of one selector group and shard in a batch: which it takes, and how they are written.

    keys with events, windows due ──GroupKeys.take──► entries ──restored, or as bytes──► matcher
    keys after the batch ──keep──► entries under the newest layout ──► KeyBuckets

A layout says which rules the bits in entries stand for; it is kept in the state for as long as an
entry was written under it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from cep.matching.key_state import EncodedKey, KeyRestorer, layout
from cep.nfa.codec import pack, unpack
from processor_runtime.rows.event_block import translation
from processor_runtime.rules.compiled_group import CompiledGroup
from processor_runtime.state.group_header import GroupHeader
from processor_runtime.state.key_bucket import KeyEntry
from processor_runtime.state.key_buckets import AlsoTaken, KeyBuckets
from processor_runtime.state.keyed_state import KeyedState

if TYPE_CHECKING:
    from processor_runtime.state.key_columns import KeptEntries, KeyColumns, PackedKeys

_BUCKETS_SWEPT: Final = 48
"""How many buckets per batch are rid of what replaced and deleted rules have left in them."""


@dataclass(slots=True)
class GroupKeys:
    """The keys of a group during one batch.

    Args:
        compiled: the rules of the group.
        state: the state of the group in this shard.
        header: what the shard keeps of the group.
    """

    compiled: CompiledGroup
    state: KeyedState
    header: GroupHeader
    buckets: KeyBuckets = field(init=False)
    _restorers: dict[int, KeyRestorer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.buckets = KeyBuckets(self.compiled.id, self.state, self.header.buckets)

    def take(
        self, keys: Iterable[bytes], until_ms: int, also: AlsoTaken
    ) -> list[tuple[bytes, KeyEntry]]:
        """Return the entries of keys, of those with windows due, and of others: `KeyBuckets`."""
        return list(
            self.buckets.take(keys, until_ms, self.layout_number(), _BUCKETS_SWEPT, also=also)
        )

    def save(self, keys: Iterable[tuple[bytes, EncodedKey | None]]) -> None:
        """Write what keys hold after the batch; `None` is nothing."""
        number = self.layout_number()
        for key, encoded in keys:
            entry = None
            if encoded is not None:
                entry = KeyEntry(encoded.deadline_ms, number, encoded.data, encoded.holds_back)
            self.buckets.put(key, entry)
        self.buckets.save()
        self._forget_layouts()

    def take_columns(self, keys: "PackedKeys", until_ms: int) -> "KeyColumns | None":
        """Return the same in columns, but for others; `None` if only Python can read what is kept.

        They are to be saved by `save_columns`.
        """
        from processor_runtime.state.key_columns import (  # noqa: PLC0415 - needs numba, an extra
            BucketPlace,
            take_keys,
        )

        place = BucketPlace(self.compiled.id, self.state, self.header.buckets)
        return take_keys(place, keys, until_ms, self.layout_number(), _BUCKETS_SWEPT)

    def save_columns(self, columns: "KeyColumns", kept: "KeptEntries") -> None:
        """Write what keys hold after the batch."""
        columns.save(kept, self.layout_number())
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
        oldest = self.buckets.oldest_layout
        for number in list(self.header.layouts):
            if number != newest and (oldest is None or number < oldest):
                del self.header.layouts[number]
                self.state.delete(f"l{number}")
