"""A whole batch of a selector group in compiled code, its keys going from bytes to bytes.

    events of one phase · BatchKeys ──match_encoded──► EncodedBatch, or None: restore the keys

That is how nearly every batch goes. Keys are restored, and go through objects, where a phase
begins or ends in the batch, a test or a key cannot be evaluated, a rule has a condition in Python,
or rules were numbered otherwise when a key was written.
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from cep.keyed.event_columns import EventColumns
from cep.keyed.shapes import EventKind
from processor_runtime.rows.key_hashing import key_values
from processor_runtime.rules.rule_set import SelectorGroup
from processor_runtime.stages.group_keys import GroupKeys
from processor_runtime.stages.relevant_events import RelevantEvents
from processor_runtime.state.bucket_index import NEVER
from processor_runtime.state.key_buckets import BatchKeys, HeldEntries

if TYPE_CHECKING:
    from cep.executors.encoded_keys import EncodedBatch, EncodedKeys


def held_after(batch: "EncodedBatch") -> HeldEntries:
    """Return what keys hold after a batch."""
    from cep.nfa_kernel.entries.summaries import NO_DEADLINE  # noqa: PLC0415 - numba is an extra

    now, summaries = batch.updated_keys, batch.updated_keys.summaries
    deadlines_ms = np.where(summaries.deadlines_ms < NO_DEADLINE, summaries.deadlines_ms, NEVER)
    hold_back = summaries.hold_back != 0
    return HeldEntries(now.entry_bytes, now.begins, deadlines_ms, hold_back)


def match_encoded(
    group: SelectorGroup,
    kept: GroupKeys,
    keys: BatchKeys,
    parts: Sequence[RelevantEvents],
    span_ms: tuple[int, int],
) -> "EncodedBatch | None":
    """Match a batch; `None` if it cannot be done so, with nothing changed.

    `keys`: the keys of the batch, those of the events first. `parts`: its events, one part at most.
    `span_ms`: from the time of the batch before to that of this one.
    """
    first, last = map(group.phases.at, span_ms)
    if first != last or any(part.phase != first or part.failing for part in parts):
        return None
    until_ms = span_ms[1]
    size = sum(len(part.events) for part in parts) + len(keys)
    encoded = group.compiled.batch_matcher.encoded(size)
    if encoded is None:
        return None
    events = _events(group, parts)
    held = _held(kept, _Keys(events.keys, keys), keys)
    if held is None:
        return None
    return encoded.process(events, held, keys.due(until_ms), span_ms, group.going_on(first))


def _events(group: SelectorGroup, parts: Sequence[RelevantEvents]) -> EventColumns[EventKind]:
    for part in parts:
        return part.events.with_kinds(tuple(kind.transitions for kind in part.events.kinds))
    none = np.empty(0, np.int64)
    return EventColumns(group.compiled.no_events, none, (), none, [], np.zeros(1, np.int64), none)


def _held(kept: GroupKeys, names: "_Keys", keys: BatchKeys) -> "EncodedKeys | None":
    """Return what is kept of keys; `None` if they have to be restored."""
    # Only here, as numba is an extra, and takes half a second to import.
    from cep.executors.encoded_keys import encoded_keys  # noqa: PLC0415

    spans, layouts = keys.entries()
    has_bytes = spans[:, 1] > spans[:, 0]
    numbers, of_entries = np.unique(layouts[has_bytes], return_inverse=True)
    numberings = [kept.restorer(number).numbering for number in numbers.tolist()]
    known = [each for each in numberings if each is not None]
    if len(known) < len(numberings):
        return None
    layouts[has_bytes] = of_entries
    return encoded_keys(names, keys.data, spans, layouts, known)


class _Keys(Sequence[Hashable]):
    """The keys of a batch: of those that no event has few are ever looked at."""

    def __init__(self, of_events: Sequence[tuple[Any, ...]], batch: BatchKeys) -> None:
        self._of_events = of_events
        self._batch = batch
        self._count = len(batch)

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
        return key_values(self._batch.key(index))
