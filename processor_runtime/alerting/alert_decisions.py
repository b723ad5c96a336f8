"""Decides which matches of a batch go out, after all shards have reported: groups, then budgets.

    rows, ShardStatus of all shards ──alerted──► rows as they go out, counts as they are then
    what there was before ──────────┘       └──► what there is now, kept by the driver

What a rule suppresses by key, and what is snoozed, is decided in shards: it comes here no more.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import polars as pl

from processor_runtime.alerting.budgets import (
    Candidate,
    Cutoff,
    Overrun,
    Spent,
    Window,
    candidates_in,
    lasting,
    settle,
    settled_rows,
)
from processor_runtime.alerting.group_rows import (
    gathered_rows,
    group_rows,
    tagged_matches,
    tell_counts,
)
from processor_runtime.alerting.groups import Group, Grouper, GroupingResult
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.shard_status import ShardStatus
from processor_runtime.rules.alerts import Budget, Grouping

MATCHES_AT_ONCE: Final = 1_000_000
"""About so many matches in groups are in the memory of the driver at once, 150 bytes each."""


class BatchRows(Protocol):
    """The rows of a batch, wherever they are; each step changes them."""

    def tagged(self, count: int, most: int) -> Iterable[pl.DataFrame]:
        """Return the `count` tagged matches, see `Grouper.add`: about `most` in a part."""

    def gather(self, gathered: GroupingResult) -> None:
        """Let what is in a group be of kind `grouped` unless it goes out."""

    def candidates(self, overruns: Sequence[Overrun]) -> Iterable[Candidate]:
        """Return matches that may go out; see `budgets.Find`."""

    def settle(self, cutoffs: Sequence[Cutoff]) -> int:
        """Let matches be suppressed from a cutoff on; return how many rows these are.

        The tags of matches are gone then, except their groups.
        """

    def add(self, rows: Sequence[OutputRow]) -> None:
        """Add rows."""


@dataclass(frozen=True, slots=True)
class AlertRules:
    """What rules say of all their matches, by rule id; see `rules.alerts`."""

    groupings: Mapping[str, Grouping] = field(default_factory=dict)
    budgets: Mapping[str, Budget] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AlertState:
    """What is known from one batch to the next: open groups by id, and what is spent."""

    groups: Mapping[str, Group] = field(default_factory=dict)
    spent: Mapping[Window, Spent] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Alerted:
    """What there is after a batch, and how many rows of each kind there are more or fewer.

    `overflowing` are the rules whose groups have no place in a window any more, and had before.
    """

    state: AlertState
    row_counts: Counter[str] = field(default_factory=Counter)
    overflowing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BatchEnd:
    """The end of a batch: no match is found any more up to `complete_ms`; none at all if it closes.

    `epoch` is that of the rows of groups.
    """

    epoch: int
    complete_ms: int
    closes: bool = False


def alerted(
    rows: BatchRows,
    statuses: Sequence[ShardStatus],
    rules: AlertRules,
    before: AlertState,
    end: BatchEnd,
) -> Alerted:
    """Decide what goes out of a batch.

    `rows`: of the batch; each becomes as it is output. `statuses`: what the shards tell; they tell
    of matches as these go out then.
    """
    counts = Counter[str]()
    gathered = _gathered(rows, statuses, rules, before, end)
    if gathered.leaders.len() or gathered.grouped_rows:
        rows.gather(gathered)
        tell_counts(statuses, gathered, rules.budgets)
        counts.update(match=-gathered.grouped_rows, grouped=gathered.grouped_rows)
    settled = settle(statuses, rules.budgets, before.spent, rows.candidates)
    if settled.spent or gathered.leaders.len():
        held_back = rows.settle(settled.cutoffs)
        counts.update(match=-held_back, suppressed=held_back)
    told = group_rows(gathered.done, end.epoch)
    if told:
        rows.add(told)
        counts.update(group=len(told))
    spent = lasting(settled.spent, end.complete_ms)
    groups = (*gathered.open.values(), *gathered.done)
    overflowing = {
        each.processor_id for each in groups if each.is_rest and each.id not in before.groups
    }
    return Alerted(AlertState(gathered.open, spent), counts, frozenset(overflowing))


def _gathered(
    rows: BatchRows,
    statuses: Iterable[ShardStatus],
    rules: AlertRules,
    before: AlertState,
    end: BatchEnd,
) -> GroupingResult:
    count = sum(each.gathered for status in statuses for each in status.rules.values())
    until_ms = None if end.closes else end.complete_ms + 1
    gathering = Grouper(rules.groupings, rules.budgets, before.groups, until_ms)
    if count:
        for part in rows.tagged(count, MATCHES_AT_ONCE):
            gathering.add(part)
    return gathering.done()


class ListedRows:
    """The rows of a batch in a list.

    `rows`: the list, which is left as it is.
    """

    def __init__(self, rows: Iterable[OutputRow]) -> None:
        self.rows = list(rows)

    def tagged(self, count: int, most: int) -> Iterator[pl.DataFrame]:
        """Return all in one part: they are in memory anyway."""
        del count, most
        yield tagged_matches(self.rows)

    def gather(self, gathered: GroupingResult) -> None:
        """Change them; see `BatchRows`."""
        self.rows = list(gathered_rows(self.rows, gathered))

    def candidates(self, overruns: Sequence[Overrun]) -> Iterator[Candidate]:
        """Return matches that may go out; see `BatchRows`."""
        return candidates_in(self.rows, overruns)

    def settle(self, cutoffs: Sequence[Cutoff]) -> int:
        """Change them; see `BatchRows`."""
        before = _suppressed(self.rows)
        self.rows = list(settled_rows(self.rows, cutoffs))
        return _suppressed(self.rows) - before

    def add(self, rows: Sequence[OutputRow]) -> None:
        """Add rows."""
        self.rows += rows


def _suppressed(rows: Iterable[OutputRow]) -> int:
    return sum(row.kind == "suppressed" for row in rows)
