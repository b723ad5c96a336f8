"""The incremental search: rows go in one by one, a match comes out once nothing can be preferred.

    row ──► candidates of the open start, preferred first ──► decided: match, or the next start

All candidates of a start go through a row together, in order of preferment. One that completes cuts
off all that are preferred less; the match stands once those before it have ended. Only then the
next start is looked at, with the rows that are there already.

Source: ISO/IEC 19075-5, chapter 7; Pike's simulation of a backtracking matcher.
"""

from collections.abc import Callable, Sequence
from typing import Any

from cep.expression import EvaluationError, FieldReader, Node, aggregates_of
from cep.nfa.errors import LimitExceeded
from cep.nfa.limits import Limits
from cep.row_pattern.bound import BoundClause, Fold, NumberOfMatch, ValueAt, references_of
from cep.row_pattern.clause import RowsPerMatch, SkipTo
from cep.row_search.automaton.instructions import AtStart, compile_pattern
from cep.row_search.automaton.length import fewest_rows
from cep.row_search.automaton.states import State, States, Step
from cep.row_search.conditions import CompiledCondition, Tentative, compile_condition
from cep.row_search.dead_ends import DeadEnds
from cep.row_search.effort import owe, owed, pay_for_row, pay_for_start
from cep.row_search.errors import RowPatternFailure, failure_of
from cep.row_search.matched import Found, MatchedRows
from cep.row_search.memory import Memory, MemoryLayout
from cep.row_search.moves import Moves
from cep.row_search.partition import Candidate, Due, Partition, Path, codes_of


class RowPatternSearch:
    """The search of one clause. Immutable but for its caches: all partitions share it.

    Args:
        clause: what to search for.
        field_reader: how a field of a row is read.
        limits: how many candidates, and rows, a partition may hold.
        shows_timeouts: whether candidates that WITHIN ends are reported.
        on_failed: called when a start ends in vain, with the partition, the candidates it had
            before, and whether its time was over.

    Raises:
        ClauseError: the pattern is too large once its permutations are written out.
    """

    def __init__(
        self,
        clause: BoundClause,
        field_reader: FieldReader,
        limits: Limits | None = None,
        *,
        shows_timeouts: bool = False,
        on_failed: Callable[[Partition, Sequence[Candidate], bool], None] | None = None,
    ) -> None:
        self.clause = clause
        self.limits = limits or Limits()
        self._shows_timeouts = shows_timeouts
        self._on_failed = on_failed
        self._within_ms = clause.within_ms
        instructions = compile_pattern(clause.clause.text, clause.pattern, clause.variables)
        self.states = States(instructions)
        self._fewest_rows = fewest_rows(clause.pattern)
        self.layout = MemoryLayout(clause.conditions, clause.variables, field_reader)
        self.conditions = [
            compile_condition(condition, clause.variables, self.layout, field_reader)
            for condition in clause.conditions
        ]
        self._texts = [condition.text if condition else "" for condition in clause.conditions]
        has_memory = bool(self.layout.items)
        self._moves = None if has_memory else Moves(self.states)
        self._sees_path = any(condition.sees_path for condition in self.conditions)
        shifts = [
            reference.shift
            for _, measure in clause.measures
            for reference in references_of(measure)
            if isinstance(reference, ValueAt)
        ]
        self._output_ahead = max([0, *shifts])
        self._output_back = -min([0, *shifts])
        self.lookback = max([self._output_back, *(c.lookback for c in self.conditions)])
        self._lookaheads = [condition.lookahead for condition in self.conditions]
        self._has_lookahead = any(self._lookaheads)
        self._initial = self.states.initial(is_first_row=False)
        starts_anchored = any(isinstance(i, AtStart) for i in instructions.code)
        outputs_every_row = (
            self.states.initial(is_first_row=True).accepts
            or clause.rows_per_match is RowsPerMatch.WITH_UNMATCHED
        )
        may_skip = not (outputs_every_row or starts_anchored)
        self._beginners = (
            sum(1 << variable for variable in {step.variable for step in self._initial.steps})
            if may_skip
            else 0
        )
        self.keeps_past = (
            self.lookback > 0 or starts_anchored or outputs_every_row or _reads_number(clause)
        )
        self.tracks_every_row = (
            self.lookback > 0
            or starts_anchored
            or outputs_every_row
            or self._output_ahead > 0
            or any(self._lookaheads)
        )
        self._live: dict[frozenset[int], tuple[int, ...] | None] = {}

    @property
    def row_tests(self) -> list[Node | None]:
        """What a row alone decides of each variable; `None` = nothing."""
        return [condition.row_test for condition in self.conditions]

    def row_bits(self, passed: Sequence[bool]) -> tuple[int, int]:
        """Return `known` and `true` of a row.

        Args:
            passed: per variable, whether the row passes its test; True where there is none.
        """
        known = true = 0
        for variable, (condition, holds) in enumerate(zip(self.conditions, passed, strict=True)):
            if not holds or condition.residual is None:
                known |= 1 << variable
                true |= holds << variable
        return known, true

    def can_begin(self, known: int, true: int) -> bool:
        """Return whether a match may begin at a row of which that much is known."""
        return any(
            not known >> step.variable & 1 or true >> step.variable & 1
            for step in self._initial.steps
        )

    def run(
        self, partition: Partition, *, time_ms: int | None = None, is_ended: bool = False
    ) -> list[MatchedRows]:
        """Search as far as the rows that are there allow; return what has been decided, in order.

        Args:
            partition: where to search; rows that nothing can ask for any more are forgotten.
            time_ms: no row before this time can come any more.
            is_ended: no row can come any more.

        Raises:
            RowPatternFailure: the query fails on these rows.
            LimitExceeded: the partition holds too much.
        """
        found: list[MatchedRows] = []
        dead_ends = DeadEnds()
        while self._advance(partition, found, dead_ends, time_ms, is_ended=is_ended):
            pass
        self._put_out(partition, found, is_ended=is_ended)
        self._forget(partition)
        return found

    def goes_on(self, partition: Partition) -> bool:
        """Take a row that was just added if all it does is to lead candidates on.

        That is what most rows do, and all that is done here is what `run` would do. Returns whether
        it was done; if not, nothing was.

        Raises:
            LimitExceeded: the partition holds too much.
        """
        candidates, cursor = partition.candidates, partition.cursor
        place = cursor - partition.base
        if (
            self._moves is None
            or not candidates
            or partition.due
            or place + 1 != len(partition.rows)
            or self._has_lookahead
            or self._is_over(partition, partition.times[place])
            or place > self.limits.events
        ):
            return False
        move = self._moves.of(candidates, partition.known[place], partition.true[place])
        if move is None or move.accepted is not None or not move.open:
            return False
        pay_for_row(partition)
        owe(partition, self.limits, move.owed)
        nothing = self.layout.initial
        partition.candidates = [
            (state, (candidates[before][1], code), nothing) for before, code, state in move.open
        ]
        partition.cursor = cursor + 1
        return True

    # One step of the search

    def _advance(
        self,
        partition: Partition,
        found: list[MatchedRows],
        dead_ends: DeadEnds,
        time_ms: int | None,
        *,
        is_ended: bool,
    ) -> bool:
        """Do one step; return whether there was one to do."""
        if not partition.has_begun and not self._begins(partition, is_ended=is_ended):
            return False
        while partition.candidates and partition.cursor < partition.end:
            if self._is_over(partition, partition.times[partition.cursor - partition.base]):
                self._time_out(partition)
                dead_ends.start_ran_out_of_time()
                break
            if not is_ended and partition.cursor + self._lookahead(partition) >= partition.end:
                return False
            self._take_row(partition, dead_ends)
        if partition.candidates:
            if is_ended:
                self._end(partition)
            elif time_ms is not None and self._is_over(partition, time_ms):
                self._time_out(partition)
                dead_ends.start_ran_out_of_time()
            else:
                return False
        if partition.has_found:
            dead_ends.start_ended()
        else:
            dead_ends.start_failed()
        self._decide(partition)
        self._put_out(partition, found, is_ended=is_ended)
        return True

    def _pass_barren_rows(self, partition: Partition) -> None:
        """Move on to the next row at which a match may begin, where others bring nothing."""
        beginners = self._beginners
        if not beginners:
            return
        known, true = partition.known, partition.true
        place = partition.start - partition.base
        end = len(known)
        while place < end and not (true[place] | ~known[place]) & beginners:
            place += 1
        partition.start = partition.base + place

    def _begins(self, partition: Partition, *, is_ended: bool) -> bool:
        """Begin at the next start; return whether there is one."""
        self._pass_barren_rows(partition)
        if not partition.has_start:
            return False
        self._begin(partition, is_ended=is_ended)
        return True

    def _begin(self, partition: Partition, *, is_ended: bool) -> None:
        partition.has_begun = True
        partition.cursor = partition.start
        pay_for_start(partition)
        is_too_late = is_ended and partition.end - partition.start < self._fewest_rows
        if is_too_late and not self._shows_timeouts:
            return
        state = self.states.initial(is_first_row=partition.start == 0)
        partition.candidates = [(state, None, self.layout.initial)] if state.is_open else []
        partition.has_found, partition.found = state.accepts, None

    def _is_over(self, partition: Partition, time_ms: int) -> bool:
        if self._within_ms is None:
            return False
        return time_ms - partition.times[partition.start - partition.base] >= self._within_ms

    def _lookahead(self, partition: Partition) -> int:
        """Return how many rows behind the next one its conditions can ask for."""
        if not self._has_lookahead:
            return 0
        return max(
            (
                self._lookaheads[step.variable]
                for state, _, _ in partition.candidates
                for step in state.steps
            ),
            default=0,
        )

    def _take_row(self, partition: Partition, dead_ends: DeadEnds) -> None:
        """Let every candidate take the next row in each way it can, preferred ways first."""
        pay_for_row(partition)
        if self._moves is not None and self._move(partition, self._moves, dead_ends):
            return
        moved: list[Candidate] = []
        seen: set[Any] = set()
        dead = dead_ends.at(partition.cursor)
        row = _RowUnderTest(self, partition)
        candidates, partition.candidates = partition.candidates, moved
        for state, path, memory in candidates:
            for step in state.steps:
                after = row.tested(step, path, memory)
                if after is None:
                    continue
                target = self.states.at(step.place)
                future = self._future(target, after)
                if future in seen or future in dead:
                    continue
                seen.add(future)
                owe(
                    partition,
                    self.limits,
                    owed(len(target.steps), self.states.walked(step.place)),
                )
                taken: Path = (path, step.code)
                if target.is_open:
                    moved.append((target, taken, after))
                if target.accepts:
                    partition.has_found, partition.found = True, taken
                    partition.cursor += 1
                    return
        dead_ends.tried(partition.cursor, seen)
        if not moved and not partition.has_found:
            self._tell_failed(partition, candidates, is_over=False)
        partition.cursor += 1

    def _move(self, partition: Partition, moves: Moves, dead_ends: DeadEnds) -> bool:
        """Take the next row as such a row was taken before; return whether that can be known."""
        cursor, candidates = partition.cursor, partition.candidates
        if dead_ends.at(cursor):
            return False
        place = cursor - partition.base
        move = moves.of(candidates, partition.known[place], partition.true[place])
        if move is None:
            return False
        nothing = self.layout.initial
        owe(partition, self.limits, move.owed)
        partition.candidates = [
            (state, (candidates[before][1], code), nothing) for before, code, state in move.open
        ]
        if move.accepted is not None:
            before, code = move.accepted
            partition.has_found, partition.found = True, (candidates[before][1], code)
        else:
            dead_ends.tried(cursor, move.states)
            if not move.open and not partition.has_found:
                self._tell_failed(partition, candidates, is_over=False)
        partition.cursor = cursor + 1
        return True

    def _tell_failed(
        self, partition: Partition, candidates: Sequence[Candidate], *, is_over: bool
    ) -> None:
        if self._on_failed is not None:
            self._on_failed(partition, candidates, is_over)

    def _future(self, state: State, memory: Memory) -> Any:
        """Return what decides everything that can become of a candidate.

        Of two that are equal in this only the preferred one can become the match: the same rows
        will be accepted by both, in the same ways. Where a condition can ask for the variable of
        any row, nothing equals it.
        """
        if self._sees_path:
            return object()
        if not memory:
            return state
        live = self._live_items(state.variables)
        return (state, memory if live is None else tuple(memory[item] for item in live))

    def _live_items(self, variables: frozenset[int]) -> tuple[int, ...] | None:
        """Return the items that conditions of these variables read; `None` = all of them."""
        if variables not in self._live:
            read = frozenset[int]().union(*(self.layout.of_condition[v] for v in variables))
            is_all = len(read) == len(self.layout.items)
            self._live[variables] = None if is_all else tuple(sorted(read))
        return self._live[variables]

    def _end(self, partition: Partition) -> None:
        """Decide a start at the end of the partition, where `$` holds."""
        for state, path, _ in partition.candidates:
            if state.awaits_end:
                partition.has_found, partition.found = True, path
                break
        partition.candidates = []

    def _time_out(self, partition: Partition) -> None:
        """End all candidates of a start whose time is over."""
        if self._shows_timeouts and not partition.has_found:
            for _, path, _ in partition.candidates:
                if path is not None:
                    codes = codes_of(path)
                    due = Due(Found.TIMEOUT.value, partition.start, codes, 0, partition.start)
                    partition.due.append(due)
                    break
        if not partition.has_found:
            self._tell_failed(partition, partition.candidates, is_over=True)
        partition.candidates = []

    # A decided start

    def _decide(self, partition: Partition) -> None:
        start = partition.start
        partition.has_begun = False
        if not partition.has_found:
            if (
                self.clause.rows_per_match is RowsPerMatch.WITH_UNMATCHED
                and start >= partition.covered
            ):
                partition.due.append(Due(Found.UNMATCHED_ROW.value, start, (), 0, start))
            partition.start = start + 1
            return
        partition.matches += 1
        codes = codes_of(partition.found)
        until = start + len(codes) - 1 + self._output_ahead if codes else start
        partition.due.append(Due(Found.MATCH.value, start, codes, partition.matches, until))
        partition.covered = max(partition.covered, start + len(codes))
        partition.start = start + 1 if not codes else self._next_start(start, codes)
        partition.has_found, partition.found = False, None

    def _next_start(self, start: int, codes: tuple[int, ...]) -> int:
        if self.clause.skip_to is SkipTo.PAST_LAST_ROW:
            return start + len(codes)
        if self.clause.skip_to is SkipTo.NEXT_ROW:
            return start + 1
        variables = self.clause.skip_variables or frozenset[int]()
        places = [place for place, code in enumerate(codes) if code >> 1 in variables]
        target = self.clause.clause.skip.variable
        name = "" if target is None else target.folded
        if not places:
            message = f"AFTER MATCH SKIP: the match has no row of {name}"
            raise RowPatternFailure("SKIP_TO_ABSENT_VARIABLE", message)
        place = places[0] if self.clause.skip_to is SkipTo.FIRST else places[-1]
        if place == 0:
            message = f"AFTER MATCH SKIP: {name} is the first row; the match would come again"
            raise RowPatternFailure("SKIP_TO_FIRST_ROW", message)
        return start + place

    # Output

    def _put_out(self, partition: Partition, found: list[MatchedRows], *, is_ended: bool) -> None:
        """Give out what is decided and need not wait for rows behind it."""
        due = partition.due
        while due and (is_ended or due[0].until < partition.end):
            found.append(self._matched(partition, due.popleft()))

    def _matched(self, partition: Partition, due: Due) -> MatchedRows:
        count = max(1, len(due.codes))
        first = max(partition.base, due.start - self._output_back)
        last = min(partition.end, due.start + count + self._output_ahead)
        rows = tuple(partition.rows[first - partition.base : last - partition.base])
        return MatchedRows(
            Found(due.kind), rows, due.start - first, due.codes, due.number, due.start
        )

    def _forget(self, partition: Partition) -> None:
        oldest = partition.start if partition.has_start else partition.end
        if partition.due:
            oldest = min(oldest, partition.due[0].start)
        partition.forget_before(oldest - self.lookback)
        if len(partition.rows) > self.limits.events:
            remedy = "add WITHIN, so that candidates end"
            raise LimitExceeded(
                "rows kept for one key", len(partition.rows), self.limits.events, remedy
            )


def _reads_number(clause: BoundClause) -> bool:
    expressions = [*(c for c in clause.conditions if c), *(m for _, m in clause.measures)]
    return any(
        isinstance(reference, NumberOfMatch) or _has_number(reference)
        for expression in expressions
        for reference in references_of(expression)
    )


def _has_number(reference: ValueAt | Fold | NumberOfMatch) -> bool:
    if isinstance(reference, NumberOfMatch) or reference.value is None:
        return False
    return any(found.step == "MATCH_NUMBER()" for found in aggregates_of(reference.value.node))


class _RowUnderTest:
    """The next row of a partition, tested for the candidates; equal tests are done once."""

    def __init__(self, search: RowPatternSearch, partition: Partition) -> None:
        self._search = search
        self._partition = partition
        self._place = partition.cursor - partition.base
        self._row = partition.rows[self._place]
        self._outcomes: dict[tuple[int, Memory], Memory | None] = {}
        self._path: Path | None = None

    def tested(self, step: Step, path: Path | None, memory: Memory) -> Memory | None:
        """Return the memory behind a step, `None` if the row cannot be taken so.

        Raises:
            RowPatternFailure: a condition fails.
        """
        variable, partition = step.variable, self._partition
        if partition.known[self._place] >> variable & 1:
            if not partition.true[self._place] >> variable & 1:
                return None
            return self._with_row(memory, variable)
        condition = self._search.conditions[variable]
        if condition.is_of_row:
            if not self._holds(condition, memory, path):
                partition.known[self._place] |= 1 << variable
                return None
            partition.known[self._place] |= 1 << variable
            partition.true[self._place] |= 1 << variable
            return self._with_row(memory, variable)
        if condition.sees_path:
            return self._tentative(condition, variable, path, memory)
        key = (variable, memory)
        if key not in self._outcomes:
            self._outcomes[key] = self._tentative(condition, variable, path, memory)
        return self._outcomes[key]

    def _tentative(
        self, condition: CompiledCondition, variable: int, path: Path | None, memory: Memory
    ) -> Memory | None:
        after = self._with_row(memory, variable)
        tentative_path: Path = (path, variable * 2)
        return after if self._holds(condition, after, tentative_path) else None

    def _with_row(self, memory: Memory, variable: int) -> Memory:
        if not memory:
            return memory
        search, partition = self._search, self._partition
        try:
            return search.layout.with_row(
                memory, variable, partition.cursor, self._row, partition.matches + 1
            )
        except EvaluationError as error:
            raise failure_of(error, "an aggregate in DEFINE") from error

    def _holds(self, condition: CompiledCondition, memory: Memory, path: Path | None) -> bool:
        if condition.residual is None:
            return True
        partition = self._partition
        self._path = path
        tentative = Tentative(
            partition, partition.cursor, memory, partition.matches + 1, self._variable_at
        )
        return condition.residual(self._row, tentative)

    def _variable_at(self, index: int) -> int | None:
        """Return the variable of a row of the candidate under test, by index."""
        back = self._partition.cursor - index
        if back < 0 or index < self._partition.start:
            return None
        path = self._path
        for _ in range(back):
            if path is None:
                return None
            path = path[0]
        return None if path is None else path[1] >> 1
