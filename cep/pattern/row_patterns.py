"""MATCH_RECOGNIZE as the pattern of a rule: read, checked for a stream, and warned about.

    {"match_recognize": text} ──read──► Query ──► problems of the clause, problems of a stream

A stream has no end, and its rules see events in order of event time; what asks for something else
is refused with the reason. Whatever can grow without bound is warned about.

Source: conformance notes of the row patterns, "Notes for a streaming engine".
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from cep.expression import Schema
from cep.expression.errors import Problem as Mistake
from cep.expression.errors import problem_at
from cep.expression.parameters import Parameter, constants_of
from cep.expression.sql import quoted_name
from cep.pattern.conditions import expression_problem
from cep.pattern.odd_parts import odd_part_warnings
from cep.pattern.problems import PatternError, Problem
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.bound import BoundClause
from cep.row_pattern.clause import (
    PartitionEnd,
    PartitionStart,
    Query,
    Repetition,
    RowsPerMatch,
    Variable,
    walk,
)
from cep.row_pattern.errors import ClauseError
from cep.row_pattern.parsing.clauses import read_query

KEY: Final = "match_recognize"
"""The key of a pattern document that holds a clause."""


def read_row_pattern(text: str, parameters: tuple[Parameter, ...] = ()) -> Query:
    """Return the query in a text: a clause or a query with one, which may name the parameters.

    Raises:
        PatternError: it is not well formed; with line and column.
    """
    try:
        return replace(read_query(text, constants_of(parameters)), parameters=parameters)
    except ClauseError as error:
        raise PatternError(_problems_of(error)) from None


def row_pattern_problems(query: Query, schema: Schema | None) -> tuple[Problem, ...]:
    """Return everything for which a clause is refused as the pattern of a rule."""
    try:
        analyse(query.clause, schema)
    except ClauseError as error:
        return _problems_of(error)
    return tuple(expression_problem(mistake, KEY) for mistake in _stream_mistakes(query))


def row_pattern_warnings(query: Query) -> tuple[Problem, ...]:
    """Return what is allowed but may hold more and more state."""
    clause = query.clause
    text = clause.text
    found = []
    unbounded = [
        part for part in walk(clause.pattern) if isinstance(part, Repetition) and not part.maximum
    ]
    if clause.within_ms is None and unbounded:
        message = "this repetition has no upper bound, so that a match may grow for ever"
        hint = "add WITHIN INTERVAL '...' behind PATTERN, or an upper bound: {1,100}"
        found.append(problem_at(text, unbounded[0].span, message, hint))
    bound = analyse(clause, None)
    if kept := _kept_for_ever(bound):
        message = f"{kept} is kept for every key for ever"
        hint = "leave it out where keys are many and come and go"
        found.append(problem_at(text, (0, len("MATCH_RECOGNIZE")), message, hint))
    conditions = [condition.node for condition in bound.conditions if condition is not None]
    return (
        *(expression_problem(mistake, KEY) for mistake in found),
        *(each for node in conditions for each in odd_part_warnings(node, KEY)),
    )


def variables(query: Query) -> tuple[str, ...]:
    """Return the primary variables, in order of their first place in the pattern."""
    found = (part.name.folded for part in walk(query.clause.pattern) if isinstance(part, Variable))
    return tuple(dict.fromkeys(found))


def partition_columns(query: Query) -> tuple[str, ...]:
    """Return the columns of PARTITION BY."""
    return tuple(name.text for name in query.clause.partition_by)


def implied_key(query: Query) -> tuple[str, ...]:
    """Return the expressions of the key that PARTITION BY implies: its columns, quoted."""
    return tuple(map(quoted_name, partition_columns(query)))


def is_same_key(query: Query, key_by: Sequence[str]) -> bool:
    """Return whether the key of a document is the one of PARTITION BY."""
    return [name.casefold() for name in key_by] == [n.casefold() for n in implied_key(query)]


def _kept_for_ever(clause: BoundClause) -> str:
    reasons = {
        "the number of the match (MATCH_NUMBER)": clause.reads_match_number,
        "that there was a first row (^)": any(
            isinstance(part, PartitionStart) for part in walk(clause.pattern)
        ),
        "the row before the next one (PREV)": clause.rows_before > 0,
    }
    return ", ".join(reason for reason, holds in reasons.items() if holds)


def _stream_mistakes(query: Query) -> Iterator[Mistake]:
    clause = query.clause
    for part in walk(clause.pattern):
        if isinstance(part, PartitionEnd):
            message = "$ is the end of the partition, and a stream has none"
            yield problem_at(clause.text, part.span, message, "leave it out, or end with WITHIN")
    for order in clause.order_by:
        if order.is_descending:
            message = "a stream comes in ascending order of event time"
            yield problem_at(clause.text, order.column.span, message, "leave out DESC")
    if query.columns is not None:
        message = "a rule outputs all columns of the clause"
        hint = "write SELECT *, and choose what is output in MEASURES"
        yield problem_at(clause.text, query.columns[0][0].span, message, hint)
    yield from columns_twice(query)


def columns_twice(query: Query) -> Iterator[Mistake]:
    """Yield the output columns whose names others have already, in whatever case."""
    clause = query.clause
    names: list[str] = []
    for _, column in query.columns or ():
        if column.text.casefold() in names:
            message = f"the output has a column {column.text} already"
            yield problem_at(clause.text, column.span, message, "give it another name with AS")
        names.append(column.text.casefold())
    names = [name.text.casefold() for name in clause.partition_by]
    if clause.rows_per_match is not RowsPerMatch.ONE_ROW:
        names += [order.column.text.casefold() for order in clause.order_by]
    for name in (measure.name for measure in clause.measures):
        if name.text.casefold() in names:
            message = f"the output has a column {name.text} already"
            yield problem_at(clause.text, name.span, message, "give the measure another name")
        names.append(name.text.casefold())


def _problems_of(error: ClauseError) -> tuple[Problem, ...]:
    return tuple(expression_problem(mistake, KEY) for mistake in error.problems)
