"""Generates events that might match a pattern, as a start for trying it out.

Each step gets its minimum number of events, with values that meet the comparisons of its condition.
Other parts of a condition are not considered; the user has to adjust the events.
"""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from cep.expression import Expression, Node, resolve
from cep.expression.rewrite import rebuilt
from cep.expression.tree import (
    Aggregate,
    AggregateFunction,
    And,
    Call,
    Comparison,
    ComparisonOperator,
    Field,
    In,
    IsNull,
    IsTruth,
    Like,
    Literal,
    Or,
)
from cep.expression.types import DataType, Kind
from cep.instants import iso_text
from cep.pattern.tree import Group, Step
from cep.trials.bounds import MOST_EVENTS
from cep.trials.rule import Rule

_INTERVAL_MS: Final = 10_000
_MUCH: Final = 1_000  # for "more than" what is not known, such as an average
_NUMBER: Final = 10


def sample_events(rule: Rule, begin_ms: int) -> list[dict[str, Any]]:
    """Return events in order of time, ten seconds apart.

    Args:
        rule: the rule they should match.
        begin_ms: the event time of the first.
    """
    names = [step.name for step in rule.pattern.tree.steps()]
    events: list[dict[str, Any]] = []
    latest: dict[str, dict[str, Any]] = {}
    for step in _taken(rule.pattern.tree.elements):
        event = default_event(rule)
        if isinstance(step.where, Expression):
            for part in parts_of_condition(resolve(step.where, names, rule.schema)):
                event |= met(_with_known(part, latest), event)
        if step.subtype is not None and step.subtype.field in event:
            event[step.subtype.field] = step.subtype.name
        latest[step.name] = timed(rule, event, begin_ms, len(events))
        events.append(latest[step.name])
        if len(events) == MOST_EVENTS:
            break
    return events


def default_event(rule: Rule) -> dict[str, Any]:
    """Return an event with some value in each column."""
    columns = () if rule.schema is None else rule.schema.columns
    return {name: _default(data_type) for name, data_type in columns}


def timed(rule: Rule, event: dict[str, Any], begin_ms: int, place: int) -> dict[str, Any]:
    """Return an event with its time, ten seconds behind that of the place before."""
    time_ms = begin_ms + place * _INTERVAL_MS
    types = {} if rule.schema is None else dict(rule.schema.columns)
    time_type = types.get(rule.time.column)
    is_number = time_type is not None and time_type.kind is Kind.BIGINT
    return event | {rule.time.column: time_ms if is_number else iso_text(time_ms)}


def _taken(elements: tuple[Step | Group, ...]) -> Iterator[Step]:
    for element in elements:
        if element.is_negative:
            continue
        for _ in range(max(element.times.minimum, 1) if element.times else 1):
            if isinstance(element, Step):
                yield element
            else:
                yield from _taken(element.elements)


def parts_of_condition(node: Node) -> Iterator[Node]:
    """Yield what must hold for a condition to hold; of alternatives, the first."""
    match node:
        case And(operands=operands):
            for operand in operands:
                yield from parts_of_condition(operand)
        case Or(operands=(first, *_)):
            yield from parts_of_condition(first)
        case _:
            yield node


def _with_known(node: Node, latest: Mapping[str, Mapping[str, Any]]) -> Node:
    """Return a condition with `step.field` replaced by its value in the latest event of a step."""
    match node:
        case Aggregate(
            function=AggregateFunction.LAST | AggregateFunction.FIRST,
            step=step,
            operand=Field(path=(column,)),
        ) if step in latest:
            return Literal(latest[step].get(column))
        case _:
            return rebuilt(node, lambda child: _with_known(child, latest))


def met(part: Node, event: dict[str, Any]) -> dict[str, Any]:  # noqa: PLR0911 - a line a node
    """Return the columns that an event needs to meet one part of a condition."""
    match part:
        case Comparison(operator, Field(path=(column,)), right):
            return {column: _value(operator, right, event.get(column))}
        case Comparison(operator, left, Field(path=(column,))):
            return {column: _value(operator.mirrored, left, event.get(column))}
        case In(Field(path=(column,)), (Literal(value=value), *_)):
            return {column: _json(value)}
        case Like(Field(path=(column,)), pattern) | Like(
            Call("LOWER", (Field(path=(column,)),)), pattern
        ):
            return {column: pattern.replace("%", "").replace("_", "x")}
        case IsNull(Field(path=(column,))):
            return {column: None}
        case IsTruth(Field(path=(column,)), value):
            return {column: value}
        case Field(path=(column,)):
            return {column: True}
        case _:
            return {}


def _value(operator: ComparisonOperator, other: Node, present: Any) -> Any:
    """Return a value that compares with another one as the operator says."""
    if not isinstance(other, Literal):
        is_number = isinstance(present, int | float) and not isinstance(present, bool)
        return _MUCH if is_number and operator in _LARGER else present
    value = other.value
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    match operator:
        case ComparisonOperator.GREATER if is_number:
            return _json(value + 1)  # type: ignore[operator] # a number, says is_number
        case ComparisonOperator.LESS if is_number:
            return _json(value - 1)  # type: ignore[operator] # a number, says is_number
        case ComparisonOperator.NOT_EQUAL:
            return present if present != value else f"not {value}"
        case _:
            return _json(value)


_LARGER: Final = {ComparisonOperator.GREATER, ComparisonOperator.GREATER_OR_EQUAL}


def _json(value: Any) -> Any:
    match value:
        case Decimal():
            return float(value) if value % 1 else int(value)
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return str(value)
        case _:
            return value


def _default(data_type: DataType) -> Any:  # noqa: PLR0911 - one line per type
    match data_type.kind:
        case Kind.STRING:
            return "a"
        case Kind.BOOLEAN:
            return False
        case Kind.DATE:
            return "2026-01-01"
        case Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ:
            return "2026-01-01T00:00:00Z"
        case Kind.ARRAY:
            return []
        case Kind.STRUCT:
            return {name: _default(inner) for name, inner in data_type.fields}
        case _ if data_type.is_numeric:
            return _NUMBER
        case _:
            return None
