"""Aggregates over the accepted events of one step, folded one event at a time.

A state is never changed: partial matches that share events share the states up to the last common
one. States are plain values (numbers, texts, tuples), so they can be stored.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from cep.expression.evaluation.predicate import compile_scalar
from cep.expression.evaluation.scalar import mismatch
from cep.expression.fields import Event, FieldReader, mapping_reader
from cep.expression.functions.arithmetic import divide
from cep.expression.tree import Aggregate, AggregateFunction, Literal, Node
from cep.expression.values import EXACT, Group, Mismatch, Value, group_of, less, to_double

State = Any
"""The state of an aggregate after the events so far: a plain, immutable value."""

_Step = Callable[[State, Value], State]


@dataclass(frozen=True, slots=True)
class CompiledAggregate:
    """An aggregate that folds events in constant time each.

    `fold(state, event)` returns the state after one more accepted event of `step` and does not
    change the old one; `result(state)` returns the value, `None` for NULL.
    """

    step: str
    initial: State
    fold: Callable[[State, Event], State]
    result: Callable[[State], Value]


def compile_aggregate(
    aggregate: Node, field_reader: FieldReader = mapping_reader
) -> CompiledAggregate:
    """Return the compiled form of an aggregate.

    SUM of integers and decimals is exact and cannot overflow, SUM of doubles adds in the order of
    acceptance. All but COUNT are NULL over no values that are not NULL; FIRST and LAST are the
    value of the first and the last event, which may be NULL itself. `fold` raises `EvaluationError`
    for values of incompatible types.

    Raises:
        TypeError: if the node is not an aggregate.
    """
    if not isinstance(aggregate, Aggregate):
        raise TypeError(f"{type(aggregate).__name__} is not an aggregate")
    operand = Literal(value=True) if aggregate.operand is None else aggregate.operand
    evaluate = compile_scalar(operand, field_reader)
    initial, step, result = _FUNCTIONS[aggregate.function]
    skips_null = aggregate.function not in {AggregateFunction.FIRST, AggregateFunction.LAST}

    def fold(state: State, event: Event) -> State:
        value = evaluate(event, ())
        if value is None and skips_null:
            return state
        try:
            return step(state, value)
        except Mismatch:
            raise mismatch(aggregate, (operand,), (value,)) from None

    return CompiledAggregate(aggregate.step, initial, fold, result)


def _as_is(state: State) -> Value:
    return state


def _sum(state: State, value: Value) -> State:
    if group_of(value) is not Group.NUMBER:
        raise Mismatch
    if state is None:
        return value
    if isinstance(state, int) and isinstance(value, int):
        return state + value
    if isinstance(state, float) or isinstance(value, float):
        return to_double(state) + to_double(value)
    return EXACT.add(state, value)


def _sum_and_count(state: State, value: Value) -> State:
    total, count = state
    return _sum(total, value), count + 1


def _average(state: State) -> Value:
    total, count = state
    if count == 0:
        return None
    if isinstance(total, Decimal):
        return divide(total, count)
    if isinstance(total, int):  # round once; two conversions to double could round twice
        return to_double(Fraction(total, count))
    return total / count


def _smaller(state: State, value: Value) -> State:
    return value if state is None or less(value, state) else state


def _larger(state: State, value: Value) -> State:
    return value if state is None or less(state, value) else state


def _first(state: State, value: Value) -> State:
    return state or (value,)


# Initial state, step, result. FIRST wraps its value, because the first one may be NULL.
_FUNCTIONS: dict[AggregateFunction, tuple[State, _Step, Callable[[State], Value]]] = {
    AggregateFunction.COUNT: (0, lambda state, _value: state + 1, _as_is),
    AggregateFunction.SUM: (None, _sum, _as_is),
    AggregateFunction.AVG: ((None, 0), _sum_and_count, _average),
    AggregateFunction.MIN: (None, _smaller, _as_is),
    AggregateFunction.MAX: (None, _larger, _as_is),
    AggregateFunction.FIRST: ((), _first, lambda state: state[0] if state else None),
    AggregateFunction.LAST: (None, lambda _state, value: value, _as_is),
}
