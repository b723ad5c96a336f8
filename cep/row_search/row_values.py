"""Expressions over one row, compiled; and the aggregates over the values they give.

Used by the conditions of DEFINE, which fold row by row, and by MEASURES.

Source: ISO/IEC 19075-5, 5.8.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from cep.expression import (
    Aggregate,
    AggregateFunction,
    Field,
    FieldReader,
    compile_aggregate,
    compile_scalar,
)
from cep.row_pattern.bound import CLASSIFIER_SLOT, MATCH_NUMBER_SLOT, Fold, RowExpression
from cep.row_pattern.clause import placeholder

RowValue = Callable[[Any, tuple[str | None, int]], Any]
"""Takes a row, the name of its variable and the number of the match; returns the value."""

State = Any


@dataclass(frozen=True, slots=True)
class CompiledFold:
    """An aggregate that folds the rows of some variables one by one; states never change.

    `fold(state, row, (classifier, match number))` returns the next state, `result(state)` the
    value.
    """

    variables: frozenset[int] | None
    initial: State
    fold: Callable[[State, Any, tuple[str | None, int]], State]
    result: Callable[[State], Any]


def compile_row_value(value: RowExpression, field_reader: FieldReader) -> RowValue:
    """Return the function that evaluates an expression on a row."""
    return compile_scalar(value.node, field_reader, _slot)


def slot_of_reference(aggregate: Aggregate) -> int:
    """Return the number of the reference that a node of a bound expression stands for."""
    if not isinstance(aggregate.operand, Field):
        raise TypeError("only references stand as aggregates here")
    return int(aggregate.operand.path[0].removeprefix(placeholder(0)[:-1]))


def _slot(aggregate: Aggregate) -> int:
    return CLASSIFIER_SLOT if aggregate.step == "CLASSIFIER()" else MATCH_NUMBER_SLOT


def compile_fold(fold: Fold, field_reader: FieldReader) -> CompiledFold:
    """Return the compiled form of an aggregate.

    COUNT over no rows is 0, all others NULL. NULLs are ignored, except by ARRAY_AGG and where
    rows are counted.
    """
    if fold.value is None:
        return CompiledFold(fold.variables, 0, lambda state, _row, _known: state + 1, _as_is)
    evaluate = compile_row_value(fold.value, field_reader)
    initial, step, result = _function(fold.function)
    if fold.is_distinct:
        return _distinct(fold, evaluate, (initial, step, result))
    keeps_null = fold.function == "ARRAY_AGG"

    def one_more(state: State, row: Any, known: tuple[str | None, int]) -> State:
        value = evaluate(row, known)
        return state if value is None and not keeps_null else step(state, value)

    return CompiledFold(fold.variables, initial, one_more, result)


_Function = tuple[State, Callable[[State, Any], State], Callable[[State], Any]]


def _distinct(fold: Fold, evaluate: RowValue, function: _Function) -> CompiledFold:
    initial, step, result = function
    keeps_null = fold.function == "ARRAY_AGG"

    def one_more(state: State, row: Any, known: tuple[str | None, int]) -> State:
        seen, inner = state
        value = evaluate(row, known)
        mark = _hashable(value)
        if mark in seen or (value is None and not keeps_null):
            return state
        return seen | {mark}, step(inner, value)

    return CompiledFold(
        fold.variables, (frozenset[Any](), initial), one_more, lambda state: result(state[1])
    )


def _as_is(state: State) -> Any:
    return state


@dataclass(frozen=True, slots=True)
class _Kept:
    """An array or a structure in a state: states are compared and hashed, lists cannot be."""

    mark: Hashable
    value: Any = field(compare=False)


def _kept(value: Any) -> Any:
    return _Kept(_hashable(value), value) if isinstance(value, list | dict) else value


def _collected(state: State) -> list[Any] | None:
    return [item.value if isinstance(item, _Kept) else item for item in state] or None


def _hashable(value: Any) -> Any:
    """Return a value that equals another one's where the values are equal, and can be hashed."""
    if isinstance(value, dict):
        return tuple((name, _hashable(inner)) for name, inner in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _function(name: str) -> _Function:
    """Return initial state, step and result of an aggregate over values that are not NULL."""
    match name:
        case "ARRAY_AGG":
            return (), lambda state, value: (*state, _kept(value)), _collected
        case "BOOL_OR":
            return None, lambda state, value: bool(state) or bool(value), _as_is
        case "BOOL_AND":
            return None, lambda state, value: state is not False and bool(value), _as_is
        case _:
            aggregate = Aggregate(AggregateFunction(name), "", Field(("value",)))
            compiled = compile_aggregate(aggregate, lambda _path: lambda value: value)
            return compiled.initial, compiled.fold, compiled.result
