"""Warns of conditions that no event can meet.

They are constants that are not true, or their parts exclude each other, such as `amount > 10 AND
amount < 5`. Only comparisons of one column with a literal are checked; other conditions cause no
warning.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from cep.expression import Expression, Field, Node, conjuncts, resolve
from cep.expression.evaluation.fold import folded
from cep.expression.tree import Comparison, ComparisonOperator, In, Literal
from cep.pattern.problems import Problem
from cep.pattern.tree import PatternTree, Step
from cep.pattern.validation.places import places


def never_true_warnings(tree: PatternTree) -> Iterator[Problem]:
    """Yield a warning for every step whose condition is never true."""
    names = [step.name for step in tree.steps()]
    for place in places(tree):
        step = place.element
        if not isinstance(step, Step) or not isinstance(step.where, Expression):
            continue
        if reason := _never_true(folded(resolve(step.where, names))):
            yield Problem(
                f"{place.path}.where",
                f"the condition is never true: {reason}.",
                "No event can ever be taken by this step.",
            )


def _never_true(node: Node) -> str:
    """Return why a condition is never true, or an empty text."""
    parts = list(conjuncts(node))
    for part in parts:
        match part:
            case Literal(value=value) if value is not True:
                return f"a part of it is always {'NULL' if value is None else 'FALSE'}"
            case Comparison(left=Literal(value=None)) | Comparison(right=Literal(value=None)):
                return "a comparison with NULL is never true, IS NULL is meant"
            case _:
                continue
    by_column: dict[tuple[str, ...], list[tuple[ComparisonOperator, Any]]] = {}
    for path, operator, value in _bounds(parts):
        by_column.setdefault(path, []).append((operator, value))
    for path, bounds in by_column.items():
        if _exclude_each_other(bounds):
            return f"the parts about {'.'.join(path)} exclude each other"
    return ""


def _bounds(parts: Iterable[Node]) -> Iterator[tuple[tuple[str, ...], ComparisonOperator, Any]]:
    for part in parts:
        match part:
            case Comparison(operator, Field(path=path), Literal(value=value)):
                yield path, operator, value
            case Comparison(operator, Literal(value=value), Field(path=path)):
                yield path, operator.mirrored, value
            case In(Field(path=path), (Literal(value=value),)):
                yield path, ComparisonOperator.EQUAL, value
            case _:
                continue


def _exclude_each_other(bounds: list[tuple[ComparisonOperator, Any]]) -> bool:
    """Return whether no value meets all bounds; bounds of different types are not compared."""
    try:
        return any(
            _exclude(first, second)
            for index, first in enumerate(bounds)
            for second in bounds[index + 1 :]
        )
    except TypeError:
        return False


def _exclude(first: tuple[ComparisonOperator, Any], second: tuple[ComparisonOperator, Any]) -> bool:
    if first[0] is ComparisonOperator.EQUAL:
        return not _meets(first[1], second)
    if second[0] is ComparisonOperator.EQUAL:
        return not _meets(second[1], first)
    lower, upper = (first, second) if first[0] in _LOWER else (second, first)
    if lower[0] not in _LOWER or upper[0] not in _UPPER:
        return False
    if lower[0] is ComparisonOperator.GREATER or upper[0] is ComparisonOperator.LESS:
        return bool(lower[1] >= upper[1])
    return bool(lower[1] > upper[1])


_LOWER = {ComparisonOperator.GREATER, ComparisonOperator.GREATER_OR_EQUAL}
_UPPER = {ComparisonOperator.LESS, ComparisonOperator.LESS_OR_EQUAL}


def _meets(value: Any, bound: tuple[ComparisonOperator, Any]) -> bool:
    operator, limit = bound
    match operator:
        case ComparisonOperator.EQUAL:
            return bool(value == limit)
        case ComparisonOperator.NOT_EQUAL:
            return bool(value != limit)
        case ComparisonOperator.LESS:
            return bool(value < limit)
        case ComparisonOperator.LESS_OR_EQUAL:
            return bool(value <= limit)
        case ComparisonOperator.GREATER:
            return bool(value > limit)
        case ComparisonOperator.GREATER_OR_EQUAL:
            return bool(value >= limit)
