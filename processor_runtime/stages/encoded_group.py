"""A whole batch of a selector group in compiled code, its keys going from bytes to bytes.

    events of one phase · KeyColumns ──match_encoded──► EncodedMatch, or None: restore the keys

That is how nearly every batch goes. Keys are restored, and go through objects, where a phase
begins or ends in the batch, a test or a key cannot be evaluated, a rule has a condition in Python,
or rules were numbered otherwise when a key was written.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from cep.matching.event_columns import EventColumns
from cep.matching.key_state import EncodedKey
from cep.matching.shapes import EventKind
from processor_runtime.rows.key_hashing import key_values
from processor_runtime.rules.rule_set import SelectorGroup
from processor_runtime.stages.group_keys import GroupKeys
from processor_runtime.stages.relevant_events import RelevantEvents

if TYPE_CHECKING:
    from cep.matching.encoded_keys import EncodedKeys
    from cep.matching.encoded_shapes import EncodedBatch
    from processor_runtime.state.key_columns import KeyColumns


@dataclass(frozen=True, slots=True)
class EncodedMatch:
    """A batch that compiled code has matched, and its keys."""

    batch: "EncodedBatch"
    columns: "KeyColumns"

    def save(self, kept: GroupKeys) -> None:
        """Write what keys hold after the batch."""
        from processor_runtime.state.key_columns import KeptEntries  # noqa: PLC0415 - numba is an extra

        now = self.batch.updated_keys
        data = np.frombuffer(now.entry_bytes, np.uint8)
        summaries = now.summaries
        entries = KeptEntries(data, now.begins, summaries.deadlines_ms, summaries.hold_back)
        kept.save_columns(self.columns, entries)

    def encoded(self) -> Iterator[tuple[bytes, EncodedKey | None]]:
        """Yield each key as bytes, and its state; `None` if it holds nothing."""
        for number, (_, state) in enumerate(self.batch.updated_keys.encoded()):
            yield self.columns.key(number), state


def match_encoded(
    group: SelectorGroup,
    kept: GroupKeys,
    parts: Sequence[RelevantEvents],
    span_ms: tuple[int, int],
) -> EncodedMatch | None:
    """Match a batch; `None` if it cannot be done so, with nothing changed.

    Args:
        group: the rules.
        kept: the keys of the group.
        parts: its events, one part at most.
        span_ms: from the time of the batch before to that of this one.

    Raises:
        LookupError: the state has lost something.
        StateEncodingError: it is corrupt.
    """
    first, last = map(group.phases.at, span_ms)
    if first != last or any(part.phase != first or part.failing for part in parts):
        return None
    until_ms = span_ms[1]
    size = sum(len(part.events) for part in parts) + kept.buckets.keys_near_due(until_ms)
    encoded = group.compiled.batch_matcher.encoded(size)
    if encoded is None:
        return None
    # Only here, as numba is an extra, and takes half a second to import.
    from processor_runtime.state.key_columns import packed_keys  # noqa: PLC0415

    events = _events(group, parts)
    columns = kept.take_columns(packed_keys(events.keys), until_ms)
    if columns is None:
        return None
    held = _held(kept, _Keys(events.keys, columns), columns)
    if held is None:
        return None
    is_due = columns.due(until_ms)
    batch = encoded.process(events, held, is_due, span_ms, group.going_on(first))
    return None if batch is None else EncodedMatch(batch, columns)


def _events(group: SelectorGroup, parts: Sequence[RelevantEvents]) -> EventColumns[EventKind]:
    for part in parts:
        return part.events.with_kinds(tuple(kind.transitions for kind in part.events.kinds))
    none = np.empty(0, np.int64)
    return EventColumns(group.compiled.no_events, none, (), none, [], np.zeros(1, np.int64), none)


def _held(kept: GroupKeys, keys: "_Keys", columns: "KeyColumns") -> "EncodedKeys | None":
    """Return what is kept of keys; `None` if they have to be restored."""
    from cep.matching.encoded_keys import encoded_keys  # noqa: PLC0415 - as above

    spans, layouts = columns.entries()
    has_bytes = spans[:, 1] > spans[:, 0]
    numbers, of_entries = np.unique(layouts[has_bytes], return_inverse=True)
    numberings = [kept.restorer(number).numbering for number in numbers.tolist()]
    known = [each for each in numberings if each is not None]
    if len(known) < len(numberings):
        return None
    layouts[has_bytes] = of_entries
    return encoded_keys(keys, columns.joined, spans, layouts, known)


class _Keys(Sequence[Hashable]):
    """The keys of a batch: of those that no event has few are ever looked at."""

    def __init__(self, of_events: Sequence[tuple[Any, ...]], columns: "KeyColumns") -> None:
        self._of_events = of_events
        self._columns = columns
        self._count = len(columns)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Hashable: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Hashable]: ...

    def __getitem__(self, index: int | slice) -> Hashable | Sequence[Hashable]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(self._count))]
        try:
            return self._of_events[index]
        except IndexError:
            if index >= self._count:
                raise
        return key_values(self._columns.key(index))
