"""A clause as a rule of a matcher with many: the search with the face of a machine.

    tests that hold ──► RowTransitions ──► process(): matches decided by this row
    time ──► advance(): matches that WITHIN decides, timeouts

A rule sees the rows of a key from its activation on. While it drains, the starts it has are
finished and no row begins a new one.

Source: see `cep.nfa.machine`, whose methods these are.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cep.nfa.machine import TimedOut
from cep.nfa.runs import NO_STEP, Scheduled
from cep.row_search.codec import partition_of_payload, partition_payload
from cep.row_search.matched import MatchedRows
from cep.row_search.partition import Partition
from cep.row_search.search import RowPatternSearch

_THE_RULE: Final = 1
"""The set of rules of a machine that has one."""


@dataclass(frozen=True, slots=True)
class RowTransitions:
    """What one kind of row does: of which variables it is known whether it can be one.

    `start` and `rules` are as in `EventTransitions`: whether it can begin a match, and whether it
    can change a search that has begun. `may_start`: whether its rule lets rows begin matches now.
    """

    known: int
    true: int
    start: int | None
    rules: int
    may_start: bool

    @property
    def can_concern(self) -> bool:
        """Whether such a row can begin a search or change one."""
        return self.start is not None or self.rules != 0

    @property
    def concerned(self) -> int:
        """The rules that it can concern."""
        return self.rules | (self.start or 0)


class RowPatternKey:
    """The partition of one key; the face of `cep.nfa.runs.KeyRuns`."""

    __slots__ = ("_keeps_past", "partition", "rules", "scheduled")

    def __init__(self, partition: Partition, *, keeps_past: bool) -> None:
        self._keeps_past = keeps_past
        self.partition = partition
        self.scheduled: Scheduled | None = None
        self.rules = _THE_RULE

    def keep_only(self, kept: int) -> None:
        """Give up the partition unless its rule is in the set `kept`."""
        if not kept & _THE_RULE:
            self.partition = Partition()
            self.rules = 0

    def renumber(self, bits: dict[int, int]) -> None:
        """Keep the partition if its rule is still there."""
        self.keep_only(bits.get(_THE_RULE, 0))

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way and nothing has to be known of the rows before."""
        partition = self.partition
        if not self.rules or partition.is_over:
            return True
        return not (self._keeps_past or partition.has_start or partition.due)

    def partial_match_count(self) -> int:
        """Return the number of open candidates."""
        return self.partition.candidate_count

    def held_back_count(self) -> int:
        """Return the number of matches whose output waits for rows after them."""
        return len(self.partition.due)

    def held_back_rules(self) -> int:
        """Return the rule if it has a match that is complete, and waits for what is preferred."""
        return _THE_RULE if self.partition.has_found or self.partition.due else 0

    def open_steps(self) -> list[tuple[int, int]]:
        """Return the set of rules of each open candidate, and of each match due; no steps."""
        return [(_THE_RULE, NO_STEP)] * (self.partial_match_count() + self.held_back_count())


class RowPatternMachine:
    """Runs one clause for one rule.

    `tests` has per variable the number of its test on the row alone, `None` = it has none.
    """

    deadlines_can_come_nearer = False
    can_hold_back = True

    def __init__(self, search: RowPatternSearch, tests: Sequence[int | None]) -> None:
        self.search = search
        self.limits = search.limits
        self.all_rules = _THE_RULE
        self.stopped = 0
        self._tests = tuple(tests)
        self._tracks_every_row = search.program.tracks_every_row
        self._known: dict[tuple[bool, ...], tuple[int, int]] = {}

    def new_key(self) -> RowPatternKey:
        """Return the state of a key before its first row."""
        return RowPatternKey(Partition(), keeps_past=self.search.program.keeps_past)

    def transitions(
        self, true_tests: Iterable[int], starting: int | None = None, going_on: int | None = None
    ) -> RowTransitions:
        """Return what a row does, given the tests that hold for it; see `Machine.transitions`."""
        holding = frozenset(true_tests)
        passed = tuple(test is None or test in holding for test in self._tests)
        if passed not in self._known:
            self._known[passed] = self.search.program.row_bits(passed)
        known, true = self._known[passed]
        can_start = starting is None or bool(starting & _THE_RULE)
        can_go_on = going_on is None or bool(going_on & _THE_RULE)
        begins = can_start and (
            self._tracks_every_row or self.search.program.can_begin(known, true)
        )
        start = _THE_RULE if begins else None
        return RowTransitions(known, true, start, int(can_go_on), can_start)

    def rules_with(self, test: int) -> int:
        """Return the rules with a condition that a test on the row alone is part of."""
        return _THE_RULE if test in self._tests else 0

    def process(
        self, key: RowPatternKey, transitions: RowTransitions, event: Any, time_ms: int
    ) -> list[tuple[int, MatchedRows]] | None:
        """Take the next row of a key; return the matches that it decides.

        Raises:
            RowPatternFailure: the clause fails on these rows.
            LimitExceeded: the key would hold too much.
        """
        partition = key.partition
        if self.stopped or not transitions.rules:
            return None
        if not transitions.may_start:
            partition.end_starts()
            if not partition.has_start and not partition.due:
                return None
        if transitions.start is None and not (
            self._tracks_every_row or partition.candidate_count or partition.has_start
        ):
            return None
        partition.append(event, time_ms, transitions.known, transitions.true)
        if self.search.goes_on(partition):
            return None
        return _of_the_rule(self.search.run(partition, time_ms=time_ms))

    def next_deadline_ms(self, key: RowPatternKey) -> int | None:
        """Return when the time of the open start is over; `None` if nothing says."""
        within_ms = self.search.program.clause.within_ms
        since_ms = key.partition.waits_since_ms()
        return None if within_ms is None or since_ms is None else since_ms + within_ms

    def absences_until(self, key: RowPatternKey, time_ms: int) -> dict[int, int]:
        """Return nothing: no clause waits for what must not come."""
        del key, time_ms
        return {}

    def advance(
        self, key: RowPatternKey, time_ms: int
    ) -> tuple[list[tuple[int, MatchedRows]], list[TimedOut]]:
        """Tell a key that time has come to `time_ms`; return what this decides, in order.

        Timeouts are among the matches: any row, and the end of the rule, may decide one, too.
        """
        return _of_the_rule(self.search.run(key.partition, time_ms=time_ms)), []

    def release(self, key: RowPatternKey, rules: int) -> list[tuple[int, MatchedRows]]:
        """Tell a key that its rule sees no row any more; return the matches this decides."""
        if not rules & _THE_RULE:
            return []
        emitted = _of_the_rule(self.search.run(key.partition, is_ended=True))
        key.keep_only(0)
        return emitted

    def payload(self, key: RowPatternKey) -> list[Any]:
        """Return the state of a key as plain values."""
        return partition_payload(key.partition)

    def of_payload(
        self, payload: list[Any], translate: Callable[[Any], Any] | None = None
    ) -> RowPatternKey:
        """Return the state of a key that `payload` described; errors as of its codec."""
        partition = partition_of_payload(payload, self.search, translate)
        return RowPatternKey(partition, keeps_past=self.search.program.keeps_past)


def _of_the_rule(found: Iterable[MatchedRows]) -> list[tuple[int, MatchedRows]]:
    return [(_THE_RULE, each) for each in found]
