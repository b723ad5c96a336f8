"""A tiny evaluator of conditions, for the brute-force matcher only.

It shares nothing with `cep.expression` but sqlglot's parser, so that a mistake there cannot hide
here. SQL's three values are True, False and None for unknown; an event is accepted only on True.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, singledispatch
from operator import add, eq, ge, gt, le, lt, mul, ne, sub
from typing import Any

from sqlglot import exp, parse_one

Event = Mapping[str, Any]
Accepted = Mapping[str, Sequence[Event]]
"""The events one partial match has accepted so far, per step."""


def holds(text: str, event: Event, accepted: Accepted) -> bool:
    """Return whether the condition is TRUE of the event, given what was accepted before it."""
    return _value(_parsed(text), event, accepted) is True


@cache
def _parsed(text: str) -> exp.Expr:
    return parse_one(text, dialect="spark")


@singledispatch
def _value(node: exp.Expr, _event: Event, _accepted: Accepted) -> Any:
    raise NotImplementedError(f"{type(node).__name__} in {node}")


@_value.register
def _(node: exp.Paren, event: Event, accepted: Accepted) -> Any:
    return _value(node.this, event, accepted)


@_value.register
def _(node: exp.Boolean, _event: Event, _accepted: Accepted) -> Any:
    return node.this


@_value.register
def _(node: exp.Literal, _event: Event, _accepted: Accepted) -> Any:
    return node.this if node.is_string else float(node.this)


@_value.register
def _(node: exp.Column, event: Event, _accepted: Accepted) -> Any:
    return event.get(node.name)


@_value.register
def _(node: exp.Not, event: Event, accepted: Accepted) -> Any:
    return _negated(_value(node.this, event, accepted))


@_value.register
def _(node: exp.And, event: Event, accepted: Accepted) -> Any:
    return _both(_value(node.left, event, accepted), _value(node.right, event, accepted))


@_value.register
def _(node: exp.Or, event: Event, accepted: Accepted) -> Any:
    left, right = _value(node.left, event, accepted), _value(node.right, event, accepted)
    return _negated(_both(_negated(left), _negated(right)))


@_value.register
def _(node: exp.Like, event: Event, accepted: Accepted) -> Any:
    text, pattern = _value(node.left, event, accepted), _value(node.right, event, accepted)
    return None if text is None else text.startswith(pattern.removesuffix("%"))


@_value.register
def _(node: exp.Binary, event: Event, accepted: Accepted) -> Any:
    left, right = _value(node.left, event, accepted), _value(node.right, event, accepted)
    return None if left is None or right is None else _OPERATORS[type(node)](left, right)


@_value.register
def _(node: exp.AggFunc, _event: Event, accepted: Accepted) -> Any:
    column = node.this
    events = accepted.get(column.table, ())
    if isinstance(node, exp.First | exp.Last):  # a missing field is NULL, not passed over
        edge = events[:1] if isinstance(node, exp.First) else events[-1:]
        return edge[0].get(column.name) if edge else None
    values = [event[column.name] for event in events if event.get(column.name) is not None]
    return _AGGREGATES[type(node)](values)


_OPERATORS: dict[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.EQ: eq,
    exp.NEQ: ne,
    exp.LT: lt,
    exp.LTE: le,
    exp.GT: gt,
    exp.GTE: ge,
    exp.Add: add,
    exp.Sub: sub,
    exp.Mul: mul,
}

_AGGREGATES: dict[type[exp.Expr], Callable[[list[Any]], Any]] = {
    exp.Sum: lambda values: sum(values) if values else None,
    exp.Avg: lambda values: sum(values) / len(values) if values else None,
    exp.Min: lambda values: min(values, default=None),
    exp.Max: lambda values: max(values, default=None),
    exp.Count: len,
}


def _both(left: object, right: object) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _negated(truth: object) -> bool | None:
    return None if truth is None else not truth
