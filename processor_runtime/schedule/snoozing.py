"""When processors are snoozed, in event time: resolved with the timeline, the same everywhere.

    snapshot + newest event time read ──resolved_snoozes──► Snooze ──► giving out

A snooze is for events that have not been read when it comes, as every change of what runs; ended
before its time, it is over for those that have not been read then.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from contract.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Snooze:
    """What a processor finds in `[from_ms, until_ms)` does not go out; of one key, or of all.

    `key` is the text that lists of matches have.
    """

    processor_id: str
    key: str | None
    from_ms: int
    until_ms: int


def resolved_snoozes(
    before: Iterable[Snooze], snapshot: Snapshot, next_ms: int, processed_ms: int
) -> tuple[Snooze, ...]:
    """Return the snoozes that follow from those before and what is published now.

    `next_ms`: the first event time for which it counts. `processed_ms`: up to here all events have
    been processed.
    """
    wanted = {(each.id, each.key): each.until_ms for each in snapshot.snoozes}
    found = []
    for known in before:
        if known.until_ms <= next_ms:
            found.append(known)
            continue
        until_ms = wanted.pop((known.processor_id, known.key), next_ms)
        found.append(replace(known, until_ms=max(until_ms, next_ms)))
    found += [
        Snooze(processor_id, key, next_ms, until_ms)
        for (processor_id, key), until_ms in wanted.items()
    ]
    lasting = (each for each in found if each.until_ms > max(each.from_ms, processed_ms + 1))
    return tuple(sorted(lasting, key=_place))


def _place(snooze: Snooze) -> tuple[str, str, int, int]:
    return snooze.processor_id, snooze.key or "", snooze.from_ms, snooze.until_ms
