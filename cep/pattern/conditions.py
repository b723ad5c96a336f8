"""Conditions of a step: reading one, and joining several with AND or OR."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from cep.expression import Expression, ExpressionError
from cep.expression import Problem as ExpressionMistake
from cep.expression.parsing.parser import NO_CONSTANTS, Constants
from cep.pattern.problems import Problem
from cep.pattern.tree import AllOf, AnyOf, Condition, Group, PythonCondition, Step


def condition_of(
    condition: str | Expression | Callable[[Any, Any], bool], constants: Constants = NO_CONSTANTS
) -> Condition:
    """Return the condition for a SQL text, which may name `constants`, an expression or a callable.

    Raises:
        ExpressionError: the text is not a SQL expression.
        TypeError: it has another type, or is a callable that does not take two arguments.
    """
    match condition:
        case Expression():
            return condition.written_out  # its parameters need not be those of the pattern
        case str():
            return Expression.parse(condition, constants)
        case _ if callable(condition):
            return python_condition(condition)
        case _:
            raise TypeError(f"A condition is SQL text or a callable, not {condition!r}.")


def python_condition(function: Callable[[Any, Any], bool]) -> PythonCondition:
    """Return a callable as a condition.

    Raises:
        TypeError: it cannot be called with an event and the events accepted before it.
    """
    if not takes(function, 2):
        name = getattr(function, "__qualname__", type(function).__qualname__)
        raise TypeError(
            f"The condition {name} cannot be called with two arguments, the event and the context "
            "that has the events accepted before it; write `lambda event, context: ...`."
        )
    return PythonCondition(function)


def takes(function: Callable[..., Any], count: int) -> bool:
    """Return whether a callable can be called with so many arguments, as far as Python knows."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some callables written in C do not say
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def expression_problem(mistake: ExpressionMistake | ExpressionError, path: str) -> Problem:
    """Return a mistake in a condition as a problem of its pattern.

    Its line and column are those inside the condition.
    """
    return Problem(
        path,
        f"{mistake.message}.",
        mistake.hint[:1].upper() + mistake.hint[1:],
        mistake.line,
        mistake.column,
        mistake.snippet,
    )


def both(first: Condition | None, second: Condition) -> Condition:
    """Return the condition that holds when both do; `first` may be missing."""
    return _joined(first, second, AllOf, Expression.all_of)


def either(first: Condition | None, second: Condition) -> Condition:
    """Return the condition that holds when one of them does; `first` may be missing."""
    return _joined(first, second, AnyOf, Expression.any_of)


def _joined(
    first: Condition | None,
    second: Condition,
    kind: type[AllOf] | type[AnyOf],
    of_sql: Callable[[list[Expression]], Expression],
) -> Condition:
    if first is None:
        return second
    if isinstance(first, Expression) and isinstance(second, Expression):
        return of_sql([first, second])
    parts = first.conditions if isinstance(first, kind) else (first,)
    return kind((*parts, second))


def sql_parts(condition: Condition | None) -> Iterator[Expression]:
    """Yield the parts of a condition that are SQL, in order."""
    match condition:
        case Expression():
            yield condition
        case AllOf(conditions=parts) | AnyOf(conditions=parts):
            for part in parts:
                yield from sql_parts(part)
        case _:
            return


def expressions_of(elements: tuple[Step | Group, ...]) -> Iterator[Expression]:
    """Yield all SQL conditions of a sequence, groups opened, in order."""
    for element in elements:
        if isinstance(element, Group):
            yield from expressions_of(element.elements)
        else:
            yield from sql_parts(element.where)
        yield from sql_parts(element.until)
