"""Counts what each rule outputs in one batch of one shard, against its limits.

MatchRows ──check, count──► RowBudget ──► nothing, or RowLimitExceeded

Only what the rule itself has found counts, so that no rule suffers for another.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from cep.compiling import Ints
from cep.keyed.shapes import Detection
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.row_limits import RowLimitExceeded, RowLimits

ByRuleAndKey = tuple[Ints, Ints]
"""Of each row, the place of its rule and that of its key."""

_NARROW: Final = "narrow the conditions, shorten within, or choose a skip strategy"
_COUNTED_AT_ONCE: Final = 10_000
_SMALLER: Final = "read smaller batches, or raise the limit"


@dataclass(slots=True)
class RowBudget:
    """The rows of all rules in one batch of one shard."""

    _of_event: Counter[tuple[str, Hashable, int]] = field(default_factory=Counter)
    _of_key: Counter[tuple[str, Hashable]] = field(default_factory=Counter)
    _of_shard: dict[str, int] = field(default_factory=dict)
    # No key has brought more rows of a rule than this: it is not known of which key how many are.
    _most_of_key: dict[str, int] = field(default_factory=dict)
    _rows_of_event: int = 0
    # Rows that are not in the first two yet: few rules ever bring so many that these are asked for.
    _newest_of_event: list[tuple[str, Hashable, int]] = field(default_factory=list)
    _newest_of_key: list[tuple[str, Hashable]] = field(default_factory=list)
    _many: list[tuple[Sequence[str], Sequence[Hashable], Ints, Ints]] = field(default_factory=list)

    def begin_event(self) -> None:
        """Begin with the next event, or advance of time; the rows of those before are complete."""
        self._rows_of_event = 0
        self._of_event.clear()
        self._newest_of_event.clear()

    def has_room(self, limits: RowLimits, rule: str) -> bool:
        """Whether a rule may bring another row whatever key it is of."""
        # At an event no rule has more than all of them.
        return self._rows_of_event < limits.per_event and self._has_room_in_batch(limits, rule, 1)

    def has_room_for(self, limits: RowLimits, rule: str, count: int, most_at_once: int) -> bool:
        """Whether a rule may bring as many rows at events to come, whatever keys they are of.

        `most_at_once`: how many all rules bring at one event, at most.
        """
        return most_at_once <= limits.per_event and self._has_room_in_batch(limits, rule, count)

    def _has_room_in_batch(self, limits: RowLimits, rule: str, count: int) -> bool:
        return (
            self._of_shard.get(rule, 0) + count <= limits.per_shard
            and self._most_of_key.get(rule, 0) + count <= limits.per_key
        )

    def check(self, limits: RowLimits, found: Detection) -> None:
        """See whether a find may bring another row.

        Raises:
            RowLimitExceeded: it may not.
        """
        rule, key = found.rule, found.key
        if self.has_room(limits, rule):
            return
        self._count_newest()
        if self._of_event[rule, key, found.time_ms] >= limits.per_event:
            what = "rows of output at one event of a key (rows_per_event)"
            raise RowLimitExceeded(what, limits.per_event, _NARROW)
        if self._of_key[rule, key] >= limits.per_key:
            what = "rows of output of one key in a batch (rows_per_key)"
            raise RowLimitExceeded(what, limits.per_key, _SMALLER, is_of_batch=True)
        if self._of_shard[rule] >= limits.per_shard:
            what = "rows of output of one shard in a batch (rows_per_shard)"
            raise RowLimitExceeded(what, limits.per_shard, _SMALLER, is_of_batch=True)

    def count(self, found: Detection) -> None:
        """Count one more row of a find that may bring it; see `check`."""
        rule, key = found.rule, found.key
        self._rows_of_event += 1
        self._newest_of_event.append((rule, key, found.time_ms))
        self._newest_of_key.append((rule, key))
        self._of_shard[rule] = self._of_shard.get(rule, 0) + 1
        self._most_of_key[rule] = self._most_of_key.get(rule, 0) + 1
        if len(self._newest_of_key) >= _COUNTED_AT_ONCE:
            self._count_newest()

    def count_many(
        self, rules: Sequence[str], keys: Sequence[Hashable], rows: ByRuleAndKey
    ) -> None:
        """Count rows of events that are complete with them; see `has_room_for`.

        `rows`: of each row, the places of its rule and its key among these.
        """
        of_rule, of_key = rows
        counts = np.bincount(of_rule, minlength=len(rules)).tolist()
        different, numbers = np.unique(of_rule * len(keys) + of_key, return_counts=True)
        most = np.zeros(len(rules), np.int64)
        np.maximum.at(most, different // len(keys), numbers)
        for rule, count, of_one in zip(rules, counts, most.tolist(), strict=True):
            self._of_shard[rule] = self._of_shard.get(rule, 0) + count
            self._most_of_key[rule] = self._most_of_key.get(rule, 0) + of_one
        self._many.append((rules, keys, different, numbers))
        self.begin_event()

    def _count_newest(self) -> None:
        self._of_event.update(self._newest_of_event)
        self._newest_of_event.clear()
        self._of_key.update(self._newest_of_key)
        self._newest_of_key.clear()
        for rules, keys, different, counts in self._many:
            for place, count in zip(different.tolist(), counts.tolist(), strict=True):
                rule, key = divmod(place, len(keys))
                self._of_key[rules[rule], keys[key]] += count
        self._many.clear()


def check_size(limits: RowLimits, row: OutputRow) -> None:
    """See whether a row is small enough.

    Raises:
        RowLimitExceeded: it is not.
    """
    key, output, events = row.key or "", row.output or "", row.events or ""
    # No character takes more than four bytes; to count them takes a copy.
    if 4 * (len(key) + len(output) + len(events)) <= limits.row_bytes:
        return
    if sum(len(text.encode()) for text in (key, output, events)) > limits.row_bytes:
        remedy = "let a match hold fewer events, or select less"
        raise RowLimitExceeded("bytes in a row of output (bytes_per_row)", limits.row_bytes, remedy)
