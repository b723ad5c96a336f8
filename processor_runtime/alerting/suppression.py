"""Limits how many matches with equal keys and columns a rule emits in a time.

    Detection, rows ──Suppressor──► rows that go out · rows of kind `suppressed`

What has gone out is kept by key in the state of the shard, in event time, so it is the same for
every split into batches, replay and restart. It is kept by rule, not by version: an update is no
reason to be told again, and neither are a pause, a deletion and what comes after them.

Of each rule and key at most `MOST_VALUES` are kept at once. A match with others goes out: it is
better to tell too much than to hold back what nobody has been told of.

Source: Alertmanager, `repeat_interval`; Elastic, alert suppression.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from heapq import heapify, heappop, heappush
from typing import Final

from cep.keyed.shapes import Detection
from cep.nfa.codec import pack, unpack
from contract.canonical import canonical_json
from processor_runtime.rows.key_hashing import bucket_of, key_bytes, key_hash
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.shard_status import ShardStatus
from processor_runtime.rules.alerts import Suppression
from processor_runtime.rules.loading import LoadedRule
from processor_runtime.rules.rule_set import SelectorGroup
from processor_runtime.state.keyed_state import KeyedState, StateUnder

BUCKETS: Final = 32
"""State is read and written in so many parts, of which a batch touches few."""
MOST_VALUES: Final = 1_000
"""Of so many different columns `by` it is kept at once, of a rule and key, what has gone out."""
LONGEST_VALUES: Final = 200
"""Longer values are kept as their hash, in characters of JSON."""
_GROUPS: Final = "sent"


@dataclass(slots=True)
class _Sent:
    """What has gone out since the first match of a time: how many, and when the time is over."""

    until_ms: int
    count: int


class _SentOfKey:
    """What has gone out of one rule and key, by the columns `by`, in the order in which it ends."""

    def __init__(self, sent: dict[str, _Sent]) -> None:
        self.sent = sent
        self._ends = [(each.until_ms, values) for values, each in sent.items()]
        heapify(self._ends)

    def forget(self, time_ms: int) -> None:
        """Forget what is over at an event time, so that there is a place for others."""
        while self._ends and self._ends[0][0] <= time_ms:
            del self.sent[heappop(self._ends)[1]]

    def begin(self, values: str, until_ms: int) -> None:
        """Keep that the first match of a time has gone out."""
        self.sent[values] = _Sent(until_ms, 1)
        heappush(self._ends, (until_ms, values))


_Bucket = dict[tuple[str, bytes], _SentOfKey]
"""What has gone out by rule and key."""


@dataclass(slots=True)
class Suppressor:
    """Decides for the rules of one group in one batch of one shard.

    `groups`: told until when what goes out is to be kept. `status`: where what goes out for want of
    a place is counted.
    """

    group: SelectorGroup
    state: KeyedState
    groups: "SentGroups"
    status: ShardStatus
    _buckets: dict[int, _Bucket] = field(default_factory=dict)
    _read: dict[int, bytes | None] = field(default_factory=dict)

    def suppress(
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
            lasting = [
                (pack([rule, key, values]), sent)
                for (rule, key), of_key in bucket.items()
                for values, sent in of_key.sent.items()
                if sent.until_ms > watermark_ms
            ]
            self.groups.keep(self.group.compiled.id, (sent.until_ms for _, sent in lasting))
            kept = [[name, sent.until_ms, sent.count] for name, sent in lasting]
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
        bucket = self._bucket(bucket_of(key_hash(self.group.compiled.id, key), BUCKETS))
        of_key = bucket.setdefault((rule.processor_id, key), _SentOfKey({}))
        of_key.forget(found.time_ms)
        sent = of_key.sent.get(values)
        if sent is None:
            if len(of_key.sent) < MOST_VALUES:
                of_key.begin(values, found.time_ms + suppression.for_ms)
            else:
                self.status.rule(found.rule).unsuppressed += 1
            return True
        if sent.count < suppression.at_most:
            sent.count += 1
            return True
        return False

    def _bucket(self, number: int) -> _Bucket:
        if number not in self._buckets:
            data = self._read[number] = self.state.get(_name(number))
            by_key: dict[tuple[str, bytes], dict[str, _Sent]] = defaultdict(dict)
            for name, until_ms, count in [] if data is None else unpack(data):
                rule, key, values = unpack(name)
                by_key[rule, key][values] = _Sent(until_ms, count)
            self._buckets[number] = {name: _SentOfKey(sent) for name, sent in by_key.items()}
        return self._buckets[number]


class SentGroups:
    """Until when something that has gone out matters, by group of one shard.

    Groups come and go with their rules, at a batch that depends on how events are divided among
    batches and when the job was started. What has gone out stays until its time is over, whatever
    becomes of its group.
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
    values = canonical_json([columns.get(name) for name in suppression.by])
    # No JSON of a list is a hash.
    return values if len(values) <= LONGEST_VALUES else sha256(values.encode()).hexdigest()
