"""Lets a rule give out so many matches in a time for equal keys and columns, and no more.

    Detection, rows ──Suppressor──► rows that go out · rows of kind `suppressed`

What has gone out is kept by key in the state of the shard, in event time, so it is the same for
every split into batches, replay and restart. It is kept by rule, not by version: an update is no
reason to be told again, and neither are a pause, a deletion and what comes after them.

Source: Alertmanager, `repeat_interval`; Elastic, alert suppression.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from cep.matching.shapes import Detection
from cep.nfa.codec import pack, unpack
from contract.canonical import canonical_json
from processor_runtime.rows.key_hashing import bucket_of, key_bytes, key_hash
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rules.alerts import Suppression
from processor_runtime.rules.loading import LoadedRule
from processor_runtime.rules.rule_set import SelectorGroup
from processor_runtime.state.keyed_state import KeyedState, StateUnder

BUCKETS: Final = 32
"""State is read and written in so many parts, of which a batch touches few."""
_GROUPS: Final = "sent"


@dataclass(slots=True)
class _Sent:
    """What has gone out since the first match of a time: how many, and when the time is over."""

    until_ms: int
    count: int


@dataclass(slots=True)
class Suppressor:
    """Decides for the rules of one group in one batch of one shard.

    Args:
        group: the rules.
        state: the state of the group in this shard.
        groups: told until when what goes out is to be kept.
    """

    group: SelectorGroup
    state: KeyedState
    groups: "SentGroups"
    _buckets: dict[int, dict[bytes, _Sent]] = field(default_factory=dict)
    _read: dict[int, bytes | None] = field(default_factory=dict)

    def divided(
        self,
        rule: LoadedRule,
        suppression: Suppression,
        found: Detection,
        rows: Iterable[OutputRow],
    ) -> list[OutputRow]:
        """Return the rows of a find, its matches as `suppressed` where they do not go out.

        Rows of one match with equal columns go out together or not at all.
        """
        decided: dict[str, bool] = {}
        divided = []
        for row in rows:
            if row.kind != "match":
                divided.append(row)
                continue
            values = _values(suppression, row)
            if values not in decided:
                decided[values] = self._goes_out(rule, suppression, found, values)
            divided.append(row if decided[values] else row._replace(kind="suppressed"))
        return divided

    def save(self, watermark_ms: int, batch_id: int) -> None:
        """Keep what has gone out, as long as it matters after a watermark.

        In each batch one part more is rid of what is over, so that keys that do not come again are
        forgotten.
        """
        if self.group.compiled.id in self.groups:
            self._bucket(batch_id % BUCKETS)
        for number, bucket in self._buckets.items():
            lasting = {name: sent for name, sent in bucket.items() if sent.until_ms > watermark_ms}
            self.groups.keep(self.group.compiled.id, (sent.until_ms for sent in lasting.values()))
            kept = [[name, sent.until_ms, sent.count] for name, sent in lasting.items()]
            data = pack(kept) if kept else None
            if data == self._read.get(number):
                continue
            if data is None:
                self.state.delete(_name(number))
            else:
                self.state.put(_name(number), data)

    def _goes_out(
        self, rule: LoadedRule, suppression: Suppression, found: Detection, values: str
    ) -> bool:
        key = key_bytes(found.key)  # type: ignore[arg-type] # of a group it is a tuple
        name = pack([rule.processor_id, key, values])
        bucket = self._bucket(bucket_of(key_hash(self.group.compiled.id, key), BUCKETS))
        sent = bucket.get(name)
        if sent is None or found.time_ms >= sent.until_ms:
            bucket[name] = _Sent(found.time_ms + suppression.for_ms, 1)
            return True
        if sent.count < suppression.at_most:
            sent.count += 1
            return True
        return False

    def _bucket(self, number: int) -> dict[bytes, _Sent]:
        if number not in self._buckets:
            data = self._read[number] = self.state.get(_name(number))
            kept = [] if data is None else unpack(data)
            self._buckets[number] = {name: _Sent(until_ms, count) for name, until_ms, count in kept}
        return self._buckets[number]


class SentGroups:
    """Until when something that has gone out matters, by group of one shard.

    Groups come and go with their rules, at a batch that depends on how events are divided among
    batches and when the job was started. What has gone out stays until its time is over, whatever
    becomes of its group.

    Args:
        state: the state of the shard.
    """

    def __init__(self, state: KeyedState) -> None:
        self._state = state
        self._read = state.get(_GROUPS)
        self._until_ms: dict[str, int] = {} if self._read is None else dict(unpack(self._read))

    def __contains__(self, group_id: str) -> bool:
        """Whether something is kept of a group."""
        return group_id in self._until_ms

    def keep(self, group_id: str, until_ms: Iterable[int]) -> None:
        """Keep what there is of a group up to the last of these event times, or longer."""
        newest_ms = max(until_ms, default=None)
        if newest_ms is not None:
            self._until_ms[group_id] = max(newest_ms, self._until_ms.get(group_id, newest_ms))

    def save(self, watermark_ms: int) -> None:
        """Free what does not matter after a watermark, and keep the rest for the next batch."""
        for group_id in [each for each, ms in self._until_ms.items() if ms <= watermark_ms]:
            del self._until_ms[group_id]
            state = StateUnder(self._state, f"{group_id}/")
            for number in range(BUCKETS):
                state.delete(_name(number))
        data = pack(self._until_ms) if self._until_ms else None
        if data == self._read:
            return
        if data is None:
            self._state.delete(_GROUPS)
        else:
            self._state.put(_GROUPS, data)


def _name(number: int) -> str:
    return f"sent{number}"


def _values(suppression: Suppression, row: OutputRow) -> str:
    if not suppression.by:
        return ""
    columns = row.columns()
    return canonical_json([columns.get(name) for name in suppression.by])
