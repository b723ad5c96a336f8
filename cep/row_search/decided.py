"""A decided start: its match or none, where the search goes on, and what can be output of it.

Source: ISO/IEC 19075-5, 4.11 and 4.12.
"""

from cep.nfa.errors import LimitExceeded
from cep.nfa.limits import Limits
from cep.row_pattern.bound import BoundClause
from cep.row_pattern.clause import RowsPerMatch, SkipTo
from cep.row_search.errors import RowPatternFailure
from cep.row_search.matched import MatchedRows, RowOutcome
from cep.row_search.partition import Due, Partition, codes_of
from cep.row_search.program import RowProgram


def decide(program: RowProgram, partition: Partition) -> None:
    """End a start without open candidates: note its match, if there is one, and move on.

    Raises:
        RowPatternFailure: the match cannot be skipped as the clause says.
    """
    start = partition.start
    partition.has_begun = False
    if not partition.has_found:
        if (
            program.clause.rows_per_match is RowsPerMatch.WITH_UNMATCHED
            and start >= partition.covered
        ):
            partition.due.append(Due(RowOutcome.UNMATCHED_ROW.value, start, (), 0, start))
        partition.start = start + 1
        return
    partition.matches += 1
    codes = codes_of(partition.found)
    until = start + len(codes) - 1 + program.output_ahead if codes else start
    partition.due.append(Due(RowOutcome.MATCH.value, start, codes, partition.matches, until))
    partition.covered = max(partition.covered, start + len(codes))
    partition.start = start + 1 if not codes else _next_start(program.clause, start, codes)
    partition.has_found, partition.found = False, None


def _next_start(clause: BoundClause, start: int, codes: tuple[int, ...]) -> int:
    if clause.skip_to is SkipTo.PAST_LAST_ROW:
        return start + len(codes)
    if clause.skip_to is SkipTo.NEXT_ROW:
        return start + 1
    variables = clause.skip_variables or frozenset[int]()
    places = [place for place, code in enumerate(codes) if code >> 1 in variables]
    target = clause.clause.skip.variable
    name = "" if target is None else target.folded
    if not places:
        message = f"AFTER MATCH SKIP: the match has no row of {name}"
        raise RowPatternFailure("SKIP_TO_ABSENT_VARIABLE", message)
    place = places[0] if clause.skip_to is SkipTo.FIRST else places[-1]
    if place == 0:
        message = f"AFTER MATCH SKIP: {name} is the first row; the match would come again"
        raise RowPatternFailure("SKIP_TO_FIRST_ROW", message)
    return start + place


def put_out(
    program: RowProgram, partition: Partition, found: list[MatchedRows], *, is_ended: bool
) -> None:
    """Give out what is decided and need not wait for rows after it."""
    due = partition.due
    while due and (is_ended or due[0].until < partition.end):
        found.append(_matched(program, partition, due.popleft()))


def _matched(program: RowProgram, partition: Partition, due: Due) -> MatchedRows:
    count = max(1, len(due.codes))
    first = max(partition.base, due.start - program.output_back)
    last = min(partition.end, due.start + count + program.output_ahead)
    rows = tuple(partition.rows[first - partition.base : last - partition.base])
    return MatchedRows(
        RowOutcome(due.kind), rows, due.start - first, due.codes, due.number, due.start
    )


def forget(program: RowProgram, limits: Limits, partition: Partition) -> None:
    """Forget the rows that nothing can ask for any more.

    Raises:
        LimitExceeded: too many are left.
    """
    oldest = partition.start if partition.has_start else partition.end
    if partition.due:
        oldest = min(oldest, partition.due[0].start)
    partition.forget_before(oldest - program.lookback)
    if len(partition.rows) > limits.events:
        remedy = "add WITHIN, so that candidates end"
        raise LimitExceeded("rows kept for one key", len(partition.rows), limits.events, remedy)
