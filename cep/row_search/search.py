"""The incremental search: rows go in one by one, a match comes out once nothing can be preferred.

    row ──► candidates of the open start, preferred first ──► decided: match, or the next start

All candidates of a start go through a row together, in order of preferment. One that completes cuts
off all that are preferred less; the match stands once those before it have ended. Only then the
next start is looked at, with the rows that are there already.

Source: ISO/IEC 19075-5, chapter 7; Pike's simulation of a backtracking matcher.
"""

from collections.abc import Callable, Sequence
from typing import Any

from cep.expression import FieldReader
from cep.nfa.limits import Limits
from cep.row_pattern.bound import BoundClause
from cep.row_search.dead_ends import DeadEnds
from cep.row_search.decided import decide, forget, put_out
from cep.row_search.effort import owe, owe_for_row, owed, pay_for_row, pay_for_start
from cep.row_search.matched import MatchedRows, RowOutcome
from cep.row_search.moves import Moves
from cep.row_search.partition import Candidate, Due, Partition, Path, codes_of
from cep.row_search.program import RowProgram
from cep.row_search.row_under_test import RowUnderTest


class RowPatternSearch:
    """The search of one clause. Immutable but for its caches: all partitions share it.

    `shows_timeouts` says whether candidates that WITHIN ends are reported. `on_failed` is called
    when a start fails, with the partition, the candidates it had before, and whether its time was
    over.

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
        self.program = RowProgram(clause, field_reader)
        self.limits = limits or Limits()
        self._shows_timeouts = shows_timeouts
        self._on_failed = on_failed

    def run(
        self, partition: Partition, *, time_ms: int | None = None, is_ended: bool = False
    ) -> list[MatchedRows]:
        """Search as far as the rows that are there allow; return what has been decided, in order.

        Rows that nothing can ask for any more are forgotten. No row before `time_ms` can come any
        more, and none at all if `is_ended`.

        Raises:
            RowPatternFailure: the query fails on these rows.
            LimitExceeded: the partition holds too much.
        """
        found: list[MatchedRows] = []
        dead_ends = DeadEnds()
        while self._advance(partition, found, dead_ends, time_ms, is_ended=is_ended):
            pass
        put_out(self.program, partition, found, is_ended=is_ended)
        forget(self.program, self.limits, partition)
        return found

    def goes_on(self, partition: Partition) -> bool:
        """Take a row that was just added if all it does is to lead candidates on.

        That is what most rows do, and all that is done here is what `run` would do. Returns whether
        it was done; if not, nothing was.

        Raises:
            LimitExceeded: the partition holds too much.
        """
        node = partition.node
        if node is None or partition.due or self.program.has_lookahead:
            return False
        # Calls are written out here: this is done for most rows of a stream.
        times, base, within_ms = partition.times, partition.base, self.program.within_ms
        place = partition.cursor - base
        if (
            place + 1 != len(times)
            or place > self.limits.events
            or node.variables & ~partition.known[place]
            or (within_ms is not None and times[place] - times[partition.start - base] >= within_ms)
        ):
            return False
        move = node.moves.get(partition.true[place])
        if move is None or not move.leads_on:
            return False
        owe_for_row(partition, self.limits, move.owed)
        partition.follow(move)
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
        while partition.candidate_count and partition.cursor < partition.end:
            if self._is_over(partition, partition.times[partition.cursor - partition.base]):
                self._time_out(partition)
                dead_ends.start_ran_out_of_time()
                break
            if not is_ended and partition.cursor + self._lookahead(partition) >= partition.end:
                return False
            self._take_row(partition, dead_ends)
        if partition.candidate_count:
            if is_ended:
                self._end(partition)
            elif self._is_over_without_end(partition, time_ms):
                self._time_out(partition)
                dead_ends.start_ran_out_of_time()
            else:
                return False
        if partition.has_found or self._on_failed is not None:
            # Who wants to know how far each start came, has all of it tried.
            dead_ends.start_ended()
        else:
            dead_ends.start_failed()
        decide(self.program, partition)
        put_out(self.program, partition, found, is_ended=is_ended)
        return True

    def _pass_barren_rows(self, partition: Partition) -> None:
        """Move on to the next row at which a match may begin, where others bring nothing."""
        beginners = self.program.beginners
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
        is_too_late = is_ended and partition.end - partition.start < self.program.fewest_rows
        if is_too_late and not self._shows_timeouts:
            return
        state = self.program.states.initial(is_first_row=partition.start == 0)
        partition.candidates = [(state, None, self.program.layout.initial)] if state.is_open else []
        partition.has_found, partition.found = state.accepts, None

    def _is_over(self, partition: Partition, time_ms: int) -> bool:
        if self.program.within_ms is None:
            return False
        return time_ms - partition.times[partition.start - partition.base] >= self.program.within_ms

    def _is_over_without_end(self, partition: Partition, time_ms: int | None) -> bool:
        """Whether time alone ends the open start: `$` may still hold, however late it is found."""
        is_over = time_ms is not None and self._is_over(partition, time_ms)
        return is_over and not partition.awaits_end

    def _lookahead(self, partition: Partition) -> int:
        """Return how many rows after the next one its conditions can ask for."""
        if not self.program.has_lookahead:
            return 0
        return max(
            (
                self.program.lookaheads[step.variable]
                for state, _, _ in partition.candidates
                for step in state.steps
            ),
            default=0,
        )

    def _take_row(self, partition: Partition, dead_ends: DeadEnds) -> None:
        """Let every candidate take the next row in each way it can, preferred ways first."""
        pay_for_row(partition)
        if self.program.moves is not None and self._move(partition, self.program.moves, dead_ends):
            return
        moved: list[Candidate] = []
        seen: set[Any] = set()
        dead = dead_ends.at(partition.cursor)
        row = RowUnderTest(self.program, partition)
        candidates, partition.candidates = partition.candidates, moved
        for state, path, memory in candidates:
            for step in state.steps:
                after = row.tested(step, path, memory)
                if after is None:
                    continue
                target = self.program.states.at(step.place)
                future = self.program.future(target, after)
                if future in seen or future in dead:
                    continue
                seen.add(future)
                owe(
                    partition,
                    self.limits,
                    owed(len(target.steps), self.program.states.walked(step.place)),
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
        cursor, node = partition.cursor, partition.node
        if dead_ends.at(cursor):
            return False
        if node is None:
            node = partition.node = moves.node_of(partition.candidates)
        move = moves.of(partition, self.limits, node)
        if move is None:
            return False
        owe(partition, self.limits, move.owed)
        if move.accepted is not None:
            before, code = move.accepted
            partition.has_found, partition.found = True, (partition.path_of(before), code)
        else:
            dead_ends.tried(cursor, move.states)
            if not move.open and not partition.has_found:
                self._tell_failed(partition, None, is_over=False)
        partition.follow(move)
        return True

    def _tell_failed(
        self, partition: Partition, candidates: Sequence[Candidate] | None, *, is_over: bool
    ) -> None:
        """Tell of the candidates that end without success; `None` = those of the partition."""
        if self._on_failed is not None:
            ended = partition.candidates if candidates is None else candidates
            self._on_failed(partition, ended, is_over)

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
            codes = codes_of(partition.path_of(0))
            if codes:
                due = Due(RowOutcome.TIMEOUT.value, partition.start, codes, 0, partition.start)
                partition.due.append(due)
        if not partition.has_found:
            self._tell_failed(partition, None, is_over=True)
        partition.candidates = []
