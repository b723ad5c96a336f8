"""Conditions of a pattern: reading one, joining several, and all of a pattern seen or replaced."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from cep.expression import Expression, ExpressionError, Node, Schema
from cep.expression import Problem as ExpressionMistake
from cep.expression.checking.resolve import with_lists
from cep.expression.lists import ValueList
from cep.expression.parsing.parser import NO_CONSTANTS, Constants
from cep.expression.tree import lists_in
from cep.pattern.problems import Problem
from cep.pattern.tree import AllOf, AnyOf, Condition, Group, PatternTree, PythonCondition, Step
from cep.row_pattern.clause import Query


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
    # A decorator may return what takes other arguments than what it decorates; `*args` tell none.
    has_own = inspect.isfunction(function) and not function.__code__.co_flags & inspect.CO_VARARGS
    try:
        signature = inspect.signature(function, follow_wrapped=not has_own)
    except (TypeError, ValueError):  # some callables written in C do not say
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def expression_problem(mistake: ExpressionMistake | ExpressionError, path: str) -> Problem:
    """Return a mistake in a condition as a problem of its pattern, placed inside the condition."""
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


# All of a pattern


def list_names(form: PatternTree | Query) -> tuple[str, ...]:
    """Return the names of the lists that conditions name, in order."""
    names = {found.name for root in _roots(form) for found in lists_in(root)}
    return tuple(sorted(names))


def with_list_values(
    form: PatternTree | Query, lists: tuple[ValueList, ...]
) -> PatternTree | Query:
    """Return a pattern whose conditions look into these lists."""
    schema = Schema((), lists)

    def rewrite(condition: Condition, _path: str) -> Condition:
        if not isinstance(condition, Expression):
            return condition
        return replace(condition, root=with_lists(condition.root, schema))

    if isinstance(form, PatternTree):
        return with_conditions(form, rewrite)
    definitions = tuple(
        replace(each, condition=replace(each.condition, root=with_lists(root, schema)))
        for each in form.clause.definitions
        for root in [each.condition.root]
    )
    return replace(form, clause=replace(form.clause, definitions=definitions))


def _roots(form: PatternTree | Query) -> Iterator[Node]:
    if isinstance(form, PatternTree):
        return (expression.root for expression in expressions_of(form.elements))
    return (definition.condition.root for definition in form.clause.definitions)


Rewrite = Callable[[Condition, str], Condition]
"""Takes a condition that is not composed of others, and the path of the whole one."""


def with_conditions(tree: PatternTree, rewrite: Rewrite) -> PatternTree:
    """Return a tree with every condition rewritten; paths are those in its document."""
    return replace(tree, elements=_elements(tree.elements, "steps", rewrite))


def _elements(
    elements: tuple[Step | Group, ...], path: str, rewrite: Rewrite
) -> tuple[Step | Group, ...]:
    return tuple(
        _element(element, f"{path}[{index}]", rewrite) for index, element in enumerate(elements)
    )


def _element(element: Step | Group, path: str, rewrite: Rewrite) -> Step | Group:
    match element:
        case Step(where=where):
            where = _condition(where, f"{path}.where", rewrite)
            rewritten: Step | Group = replace(element, where=where)
        case Group(elements=inner):
            rewritten = replace(element, elements=_elements(inner, f"{path}.group.steps", rewrite))
    return replace(rewritten, until=_condition(element.until, f"{path}.until", rewrite))


def _condition(condition: Condition | None, path: str, rewrite: Rewrite) -> Condition | None:
    match condition:
        case None:
            return None
        case AllOf(conditions=parts) | AnyOf(conditions=parts):
            return type(condition)(tuple(_part(part, path, rewrite) for part in parts))
        case _:
            return rewrite(condition, path)


def _part(condition: Condition, path: str, rewrite: Rewrite) -> Condition:
    rewritten = _condition(condition, path, rewrite)
    assert rewritten is not None  # noqa: S101 - what is there is not taken away
    return rewritten
