"""Which finds count: those of the version that has the key's part, at that event time.

    Detection ──LiveFinds──► counts (match, timeout, side) · only beside it (shadow)

A version that has stopped in this shard leaves its share to the published one until the driver
knows of it. What a version finds at its end or later, if it drains, counts if it began before the
version ran that was promoted in its place; else it is that one's.
"""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, cast

from cep.keyed.shapes import Detection
from processor_runtime.rows.event_block import event_time_ms
from processor_runtime.rows.key_hashing import key_bytes, key_part
from processor_runtime.rules.rule_set import SelectorGroup
from processor_runtime.schedule.interval import Interval


@dataclass(slots=True)
class LiveFinds:
    """Tells the finds of one group that do not count.

    `group`: the rules; its matcher knows which have stopped.
    """

    group: SelectorGroup
    _shared: dict[str, Interval] = field(init=False)
    _promoted: dict[str, Interval] = field(init=False)
    _key: Hashable = None
    _part: int = 0

    def __post_init__(self) -> None:
        intervals = self.group.intervals.values()
        self._shared = {item.rule_id: item for item in intervals if item.live_keys}
        versions: defaultdict[str, list[Interval]] = defaultdict(list)
        for item in intervals:
            versions[item.processor_id].append(item)
        self._promoted = {
            item.rule_id: other
            for of_rule in versions.values()
            for item, other in permutations(of_rule, 2)
            if _was_promoted_after(other, item)
        }

    def may_be_shadow(self, rule_id: str) -> bool:
        """Whether some of what a rule finds may not count."""
        return rule_id in self._shared or rule_id in self._promoted

    def is_shadow(self, found: Detection) -> bool:
        """Whether a find is only made beside one that counts."""
        if found.rule in self._promoted and self._is_left(found):
            return True
        interval = self._shared.get(found.rule)
        if interval is None:
            return False
        keys, part = interval.keys_at(found.time_ms), self._part_of(found)
        if part in keys:
            return False
        if keys.are_of_rollout:
            return True
        return any(
            self._has_part(other, part, found.time_ms)
            for other in self._shared.values()
            if other.processor_id == interval.processor_id
        )

    def _is_left(self, found: Detection) -> bool:
        """Whether a find of a version that has ended began while the promoted one ran already."""
        promoted = self._promoted[found.rule]
        if found.time_ms < self.group.intervals[found.rule].active_until_ms:
            return False
        has_begun_since = event_time_ms(found.first_event) >= promoted.active_from_ms
        return has_begun_since and not self.group.compiled.matcher.is_stopped(promoted.rule_id)

    def _has_part(self, interval: Interval, part: int, time_ms: int) -> bool:
        """Whether a version that is tried has a part of the keys, and works."""
        keys = interval.keys_at(time_ms)
        is_running = interval.active_from_ms <= time_ms < interval.given_up_ms
        is_tried = is_running and keys.are_of_rollout and part in keys
        return is_tried and not self.group.compiled.matcher.is_stopped(interval.rule_id)

    def _part_of(self, found: Detection) -> int:
        if found.key != self._key or self._key is None:
            self._key, self._part = (
                found.key,
                key_part(key_bytes(cast("tuple[Any, ...]", found.key))),
            )
        return self._part


def _was_promoted_after(other: Interval, ended: Interval) -> bool:
    """Whether a version was tried beside another of its rule, and took its place at its end."""
    return other.share is None and (
        other.active_from_ms < ended.active_until_ms < other.active_until_ms
    )
