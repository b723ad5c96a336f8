"""Divides the keys between the published version of a processor and one that is tried beside it.

    published intervals · intervals of the rollout ──promoted──► the rollout goes on as published
                                                   ──sharing──► the same, each with its `live_keys`

Both versions have all events of all keys; the share only says whose finds count. So a share can be
raised, given up or made whole at any event time, and no partial match is lost or found twice.

Source: canary releases, as in Argo Rollouts and Flagger; shadow rules, as in Marble.
"""

from collections.abc import Sequence
from dataclasses import replace

from contract.snapshot import KEY_SHARES
from processor_runtime.schedule.interval import ALL_KEYS, Interval, LiveKeys


def promoted(
    published: Sequence[Interval], rollout: Sequence[Interval], next_ms: int
) -> tuple[list[Interval], list[Interval]]:
    """Return the intervals of one processor where what was a rollout goes on as published.

    `published`: what is published, from an event time on or up to one. `next_ms`: the first event
    time for which anything can still be decided.
    """
    running = {
        (item.version, item.digest): item for item in rollout if item.active_until_ms > next_ms
    }
    taken: list[Interval] = []
    found: list[Interval] = []
    for interval in published:
        tried = running.get((interval.version, interval.digest))
        if tried is None or interval.active_from_ms != next_ms:
            found.append(interval)
            continue
        taken.append(tried)
        found.append(
            replace(
                interval,
                active_from_ms=tried.active_from_ms,
                live_keys=tried.live_keys,
                promoted_ms=next_ms,
            )
        )
    return found, [item for item in rollout if item not in taken]


def sharing(
    published: Sequence[Interval],
    rollout: Sequence[Interval],
    share: int,
    next_ms: int,
    processed_ms: int,
) -> list[Interval]:
    """Return the intervals of one processor, each with the keys for which its finds count.

    `rollout`: the versions that are or were tried beside it, one at a time. `share`: of
    `KEY_SHARES` parts, those whose keys the one that is tried now has. `next_ms`: the first event
    time for which anything can still be decided. `processed_ms`: of event times up to here nothing
    is asked any more.
    """
    is_tried = any(_is_running(item, next_ms) for item in rollout)
    first = share if is_tried else 0
    return [
        *(
            _with_keys(item, first, KEY_SHARES, next_ms, processed_ms)
            if item.active_until_ms > next_ms
            else item
            for item in published
        ),
        *(
            _with_keys(item, 0, _share_of(item, first, next_ms), next_ms, processed_ms)
            for item in rollout
        ),
    ]


def _share_of(interval: Interval, share: int, next_ms: int) -> int:
    """Return how much of the share a version that is or was tried has from now on.

    What comes out at the very end of one that was taken back, its windows that end just then, the
    published version finds, too.
    """
    if _is_running(interval, next_ms):
        return share
    return min(interval.keys_at(next_ms).until, share)


def _is_running(interval: Interval, next_ms: int) -> bool:
    return interval.active_from_ms <= next_ms < interval.active_until_ms


def _with_keys(
    interval: Interval, first: int, until: int, next_ms: int, processed_ms: int
) -> Interval:
    from_ms = max(next_ms, interval.active_from_ms)
    keys = [each for each in interval.live_keys if each.from_ms < from_ms]
    newest = keys[-1] if keys else ALL_KEYS
    if (newest.first, newest.until) != (first, until):
        keys.append(LiveKeys(from_ms, first, until))
    while len(keys) > 1 and keys[1].from_ms <= processed_ms:
        del keys[0]
    is_history = len(keys) == 1 and keys[0].from_ms <= processed_ms
    if is_history and (keys[0].first, keys[0].until) == (0, KEY_SHARES):
        keys = []
    return replace(interval, live_keys=tuple(keys))
