"""Conditions and measures, evaluated anew on all rows of the match each time."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests.row_pattern.brute_force.expressions import Tree

Row = Mapping[str, Any]


class Failed(Exception):
    """The query fails on these rows; `code` names the rule."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Match:
    """Rows `start`, `start + 1` ... of the partition, mapped to `variables`, seen from one of them.

    `current` counts the rows of the match from 0; it is -1 in an empty one. On the row with the
    index `target` an argument of a navigation or an aggregate is evaluated.
    """

    rows: Sequence[Row]
    start: int
    variables: tuple[str, ...]
    number: int
    unions: Mapping[str, set[str]]
    current: int
    target: int | None = None

    def universe(self, variable: str | None, *, is_final: bool) -> list[int]:
        """Return the indexes of the rows of a variable; of all rows of the match without one."""
        members = {variable} if variable not in self.unions else self.unions[str(variable)]
        return [
            self.start + place
            for place, name in enumerate(self.variables)
            if (variable is None or name in members) and (is_final or place <= self.current)
        ]

    def variable_at(self, index: int) -> str | None:
        """Return the variable of a row of the partition, if it is one of the match."""
        place = index - self.start
        return self.variables[place] if 0 <= place < len(self.variables) else None


def value(tree: Tree, match: Match) -> Any:  # noqa: C901, PLR0911, PLR0912 - one case per kind
    """Return the value of an expression; `None` is NULL and UNKNOWN."""
    kind = tree[0]
    match kind:
        case "value":
            return tree[1]
        case "number":
            return match.number
        case "column":
            index = _row_of(tree[1], match)
            return None if index is None else match.rows[index][tree[2]]
        case "classifier":
            index = _row_of(tree[1], match)
            return None if index is None else match.variable_at(index)
        case "navigate":
            return _navigated(tree, match)
        case "aggregate":
            return _aggregated(tree, match)
        case "AND" | "OR":
            return _connected(tree, match)
        case "NOT":
            inner = value(tree[1], match)
            return None if inner is None else not inner
        case "null?":
            return value(tree[1], match) is None
        case "case":
            for condition, result in tree[1]:
                if value(condition, match) is True:
                    return value(result, match)
            return value(tree[2], match)
        case "in":
            return _is_in(value(tree[1], match), [value(item, match) for item in tree[2]])
        case "call":
            return _called(tree[1], [value(item, match) for item in tree[2]])
        case _:
            return _computed(kind, value(tree[1], match), value(tree[2], match))


def _row_of(variable: str | None, match: Match) -> int | None:
    """Return the row that a column is of: the target, or the last row of the variable."""
    if match.target is not None:
        return match.target
    rows = match.universe(variable, is_final=False)
    return rows[-1] if rows else None


def _qualifier(tree: Any) -> str | None:
    """Return the variable in front of the columns of an argument."""
    if isinstance(tree, tuple | list):
        if tree and tree[0] in {"column", "classifier"}:
            return str(tree[1]) if tree[1] is not None else None
        for part in tree:
            if (found := _qualifier(part)) is not None:
                return found
    return None


def _navigated(tree: Tree, match: Match) -> Any:
    _, name, mode, argument, offset = tree
    shift = 0
    if name in {"PREV", "NEXT"}:
        shift = -offset if name == "PREV" else offset
        if argument[0] == "navigate":
            _, name, mode, argument, offset = argument
        else:
            name, mode, offset = "LAST", "RUNNING", 0
    rows = match.universe(_qualifier(argument), is_final=mode == "FINAL")
    if offset >= len(rows):
        return None
    index = (rows[offset] if name == "FIRST" else rows[-1 - offset]) + shift
    if not 0 <= index < len(match.rows):
        return None
    return value(argument, replace(match, target=index))


_FOLDS: dict[str, Callable[[list[Any]], Any]] = {
    "ARRAY_AGG": list,
    "AVG": lambda values: sum(values) / len(values),
    "BOOL_OR": any,
    "BOOL_AND": all,
    "SUM": sum,
    "MIN": min,
    "MAX": max,
}
_SCALARS: dict[str, Callable[[Any], Any]] = {
    "LOWER": str.lower,
    "UPPER": str.upper,
    "LENGTH": len,
    "ABS": abs,
}


def _aggregated(tree: Tree, match: Match) -> Any:
    _, name, mode, is_distinct, argument = tree
    is_final = mode == "FINAL"
    if name == "ROWS":
        return len(match.universe(argument, is_final=is_final))
    rows = match.universe(_qualifier(argument), is_final=is_final)
    values = [value(argument, replace(match, target=index)) for index in rows]
    if name != "ARRAY_AGG":
        values = [item for item in values if item is not None]
    if is_distinct:
        values = list(dict.fromkeys(values))
    if name == "COUNT":
        return len(values)
    if not values:
        return None
    return _FOLDS[name](values)


def _connected(tree: Tree, match: Match) -> bool | None:
    """AND and OR of three values."""
    decisive = tree[0] == "OR"
    left: bool | None = value(tree[1], match)
    if left is decisive:
        return decisive
    right: bool | None = value(tree[2], match)
    if right is decisive:
        return decisive
    return None if left is None or right is None else not decisive


def _is_in(left: Any, items: Sequence[Any]) -> bool | None:
    if left is None:
        return None
    if left in [item for item in items if item is not None]:
        return True
    return None if None in items else False


def _called(name: str, arguments: Sequence[Any]) -> Any:
    if name == "COALESCE":
        return next((item for item in arguments if item is not None), None)
    (argument,) = arguments
    if argument is None:
        return None
    return _SCALARS[name](argument)


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "||": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def _computed(sign: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    return _divided(sign, left, right) if sign in "/%" else _OPERATORS[sign](left, right)


def _divided(sign: str, left: Any, right: Any) -> Any:
    if right == 0:
        raise Failed("DIVISION_BY_ZERO")
    if sign == "%":
        return math.fmod(left, right) if isinstance(left, float) else int(math.fmod(left, right))
    if isinstance(left, int) and isinstance(right, int):
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    return left / right
