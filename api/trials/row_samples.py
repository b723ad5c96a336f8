"""Generates events that might match a MATCH_RECOGNIZE clause, as a start for trying it out.

    clause ─► a row per variable, the preferred way with few rows ─► values that meet its condition

What a condition asks of rows before is filled in where it is the column of one of them.
"""

from collections.abc import Iterator
from typing import Any

from api.trials.samples import default_event, met, parts_of_condition, timed
from cep.expression import Aggregate, Field, Node
from cep.expression.rewrite import rebuilt
from cep.expression.tree import Literal
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.bound import BoundClause, BoundExpression, ValueAt
from cep.row_pattern.clause import (
    Alternation,
    Concatenation,
    Exclusion,
    Permutation,
    Query,
    Repetition,
    RowPattern,
    Variable,
)
from cep.row_search.row_values import slot_of_reference
from cep.trials.bounds import MOST_EVENTS
from cep.trials.rule import Rule


def sample_rows(rule: Rule, query: Query, begin_ms: int) -> list[dict[str, Any]]:
    """Return events in order of time, ten seconds apart.

    Args:
        rule: the rule they should match.
        query: its clause.
        begin_ms: the event time of the first.
    """
    clause = analyse(query.clause, rule.schema)
    events: list[dict[str, Any]] = []
    variables: list[int] = []
    for name in _variables(clause.pattern):
        variable = clause.variables.index(name)
        event = default_event(rule)
        condition = clause.conditions[variable]
        if condition is not None:
            for part in parts_of_condition(condition.node):
                event |= met(_with_known(part, condition, events, variables), event)
        events.append(timed(rule, event, begin_ms, len(events)))
        variables.append(variable)
        if len(events) == MOST_EVENTS:
            break
    return _of_one_key(clause, events)


def _of_one_key(clause: BoundClause, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events with the key of the first."""
    key = {name: events[0][name] for name in clause.partition_by} if events else {}
    return [event | key for event in events]


def _variables(pattern: RowPattern) -> Iterator[str]:
    """Yield the variables of the preferred way that takes few rows."""
    match pattern:
        case Variable(name=name):
            yield name.folded
        case Concatenation(parts=parts) | Permutation(parts=parts):
            for part in parts:
                yield from _variables(part)
        case Alternation(alternatives=(first, *_)) | Exclusion(inner=first):
            yield from _variables(first)
        case Repetition(inner=inner, minimum=minimum):
            for _ in range(min(max(minimum, 1), MOST_EVENTS)):
                yield from _variables(inner)
        case _:
            return


def _with_known(
    node: Node, condition: BoundExpression, events: list[dict[str, Any]], variables: list[int]
) -> Node:
    """Return a condition with the columns of rows before it as constants."""
    if isinstance(node, Aggregate):
        event = _row_before(condition, slot_of_reference(node), events, variables)
        return node if event is None else Literal(event)
    return rebuilt(node, lambda child: _with_known(child, condition, events, variables))


def _row_before(
    condition: BoundExpression, slot: int, events: list[dict[str, Any]], variables: list[int]
) -> Any:
    reference = condition.references[slot]
    if not isinstance(reference, ValueAt) or not isinstance(reference.value.node, Field):
        return None
    column = reference.value.node.path[0]
    if reference.start is None:
        place = len(events) + reference.shift
        return events[place].get(column) if 0 <= place < len(events) else None
    wanted = reference.start.variables
    rows = [
        event
        for event, variable in zip(events, variables, strict=True)
        if wanted is None or variable in wanted
    ]
    if not rows or reference.shift:
        return None
    return rows[0 if reference.start.is_first else -1].get(column)
