"""A whole batch of a selector group in compiled code, its keys going from bytes to bytes.

    events of one phase · entries ──matched_at_once──► EncodedBatch, or None: then keys are restored

That is how nearly every batch goes. Keys are restored, and go through objects, where a phase
begins or ends in the batch, a test or a key cannot be evaluated, a rule has a condition in Python,
or rules were numbered otherwise when a key was written.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cep.matching.event_columns import EventColumns
from cep.matching.shapes import EventKind
from processor_runtime.rules.rule_set import SelectorGroup
from processor_runtime.stages.group_keys import GroupKeys
from processor_runtime.stages.relevant_events import RelevantEvents
from processor_runtime.state.key_bucket import KeyEntry

if TYPE_CHECKING:
    from cep.matching.encoded_keys import EncodedKeys
    from cep.matching.encoded_shapes import EncodedBatch

Taken = Sequence[tuple[bytes, KeyEntry]]
"""Encoded keys and what is kept of them."""


def matched_at_once(  # noqa: PLR0913, PLR0917 - what a batch is about
    group: SelectorGroup,
    kept: GroupKeys,
    parts: Sequence[RelevantEvents],
    keys: Mapping[tuple[Any, ...], bytes],
    taken: Taken,
    span_ms: tuple[int, int],
) -> "EncodedBatch | None":
    """Match a batch; `None` if it cannot be done so, with nothing changed.

    Args:
        group: the rules.
        kept: how keys of the group are written.
        parts: its events, one part at most.
        keys: the keys of the batch with their bytes, those with events first, in their order.
        taken: what is kept of them.
        span_ms: from the time of the batch before to that of this one.
    """
    first, last = map(group.phases.at, span_ms)
    if first != last or any(part.phase != first or part.failing for part in parts):
        return None
    size = sum(len(part.events) for part in parts) + len(taken)
    encoded = group.compiled.at_once.encoded(size)
    if encoded is None:
        return None
    held = _held(kept, keys, taken)
    if held is None:
        return None
    until_ms = span_ms[1]
    due = {key for key, entry in taken if (entry.deadline_ms or until_ms + 1) <= until_ms}
    is_due = np.fromiter((key in due for key in keys.values()), np.bool_, len(keys))
    events = _events(group, parts)
    return encoded.process(events, held, is_due, until_ms, group.going_on(first))


def _events(group: SelectorGroup, parts: Sequence[RelevantEvents]) -> EventColumns[EventKind]:
    for part in parts:
        return part.events.with_kinds(tuple(kind.transitions for kind in part.events.kinds))
    none = np.empty(0, np.int64)
    return EventColumns(group.compiled.no_events, none, (), none, [], np.zeros(1, np.int64), none)


def _held(
    kept: GroupKeys, keys: Mapping[tuple[Any, ...], bytes], taken: Taken
) -> "EncodedKeys | None":
    """Return what is kept of keys; `None` if they have to be restored."""
    # Only here, as numba is an extra, and takes half a second to import.
    from cep.matching.encoded_keys import NO_ENTRY, Entry, encoded_keys  # noqa: PLC0415

    numbers = {number: place for place, number in enumerate({each.layout for _, each in taken})}
    numberings = [kept.restorer(number).numbering for number in numbers]
    known = [each for each in numberings if each is not None]
    if len(known) < len(numberings):
        return None
    entries = {key: Entry(each.data, numbers[each.layout]) for key, each in taken}
    return encoded_keys(list(keys), [entries.get(key, NO_ENTRY) for key in keys.values()], known)
