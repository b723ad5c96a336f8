"""Can two conditions be true of one event, and does one follow from the other?

A proof where there is a simple one. Conditions are compared as trees. What is looked at: the parts
joined by AND, comparisons of one column with constants, `IS NULL`, and one condition being the
denial of the other.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final

from cep.expression.temporal import parse_timestamp
from cep.expression.tree import (
    PYTHON_COMPARE,
    Comparison,
    ComparisonOperator,
    Constant,
    Field,
    In,
    IsNull,
    IsTruth,
    Literal,
    Node,
    Not,
    Or,
    conjuncts,
)

_Fact = Comparison | In | IsNull


def are_disjoint(left: Node | None, right: Node | None) -> bool:
    """Return whether two conditions are surely never true together; `None` is always true."""
    if left is None or right is None:
        return False
    for node, other in ((left, right), (right, left)):
        if isinstance(node, Or):
            return all(are_disjoint(part, other) for part in node.operands)
    return (
        _denies(left, right)
        or _denies(right, left)
        or any(_exclude(one, other) for one in _facts(left) for other in _facts(right))
    )


def is_never_true(node: Node) -> bool:
    """Return whether a condition surely is true of no event."""
    if isinstance(node, Or):
        return all(map(is_never_true, node.operands))
    return are_disjoint(node, node) or any(
        all(is_never_true(choice) or are_disjoint(choice, node) for choice in part.operands)
        for part in conjuncts(node)
        if isinstance(part, Or)
    )


def implies(left: Node, right: Node) -> bool:
    """Return whether `right` is surely true of every event that `left` is true of."""
    if isinstance(left, Or):
        return all(implies(part, right) for part in left.operands)
    said = set(conjuncts(left))
    facts = [fact for fact in _facts(left) if not isinstance(fact[1], IsNull)]
    return all(
        part in said
        or (isinstance(part, Or) and any(implies(left, choice) for choice in part.operands))
        or any(_follows(part, fact) for fact in facts)
        for part in conjuncts(right)
    )


def _follows(part: Node, fact: tuple[Field, _Fact]) -> bool:
    """Return whether a comparison holds for every value that a fact leaves; none is NULL."""
    match next(_facts(part), None):
        case (column, Comparison(operator=operator, right=Literal() as value)):
            denied = Comparison(operator.negated, column, value)
            return value.value is not None and _exclude(fact, (column, denied))
        case (column, In(items=items)) if column == fact[0]:
            left_over = _values(fact[1])
            return left_over is not None and all(Literal(value) in items for value in left_over)
        case _:
            return False


def _denies(node: Node, other: Node) -> bool:
    """Return whether a part of `node` says that something is not true that `other` says."""
    said = set(conjuncts(other))
    for part in conjuncts(node):
        match part:
            case (
                Not(operand=IsTruth(operand=denied, value=True))
                | Not(operand=denied)
                | IsTruth(operand=denied, value=False)
            ) if said.issuperset(conjuncts(denied)):
                return True
            case _:
                continue
    return False


def _facts(node: Node) -> Iterator[tuple[Field, _Fact]]:
    """Yield what is said of single columns, the column always on the left side."""
    for part in conjuncts(node):
        match part:
            case Comparison(left=Field() as column, right=Literal()):
                yield column, part
            case Comparison(operator=operator, left=Literal() as value, right=Field() as column):
                yield column, Comparison(operator.mirrored, column, value)
            case In(operand=Field() as column, items=items) if all(
                isinstance(item, Literal) for item in items
            ):
                yield column, part
            case IsNull(operand=Field() as column):
                yield column, part
            case _:
                continue


def _exclude(one: tuple[Field, _Fact], other: tuple[Field, _Fact]) -> bool:
    (column, fact), (same, against) = one, other
    if column != same:
        return False
    if isinstance(fact, IsNull) or isinstance(against, IsNull):
        return type(fact) is not type(against)
    if (values := _values(fact)) is not None:
        return all(_is_false(value, against) for value in values)
    if (values := _values(against)) is not None:
        return all(_is_false(value, fact) for value in values)
    return _are_apart(fact, against)


def _values(fact: _Fact) -> list[Constant] | None:
    """Return the values a column can have, if they are counted up."""
    match fact:
        case In(items=items):
            return [item.value for item in items if isinstance(item, Literal)]
        case Comparison(operator=ComparisonOperator.EQUAL, right=Literal(value=value)):
            return [value]
        case _:
            return None


def _is_false(value: Constant, fact: _Fact) -> bool:
    """Return whether a fact surely does not hold for a column of this value."""
    if value is None:
        return True  # nothing equals NULL
    match fact:
        case In():
            others, negated = _values(fact) or [], ComparisonOperator.NOT_EQUAL
        case Comparison(operator=operator, right=Literal(value=other)):
            others, negated = [other], operator.negated
        case _:
            return False
    return all(other is None or _compare(value, other, negated) is True for other in others)


def _are_apart(one: _Fact, other: _Fact) -> bool:
    """Return whether `x < 3` and `x >= 3`, or the like, leave nothing between them."""
    match one, other:
        case (
            Comparison(operator=low, right=Literal(value=bottom)),
            Comparison(operator=high, right=Literal(value=top)),
        ):
            if low in _UPPER and high in _LOWER:
                return _are_apart(other, one)
            if low not in _LOWER or high not in _UPPER:
                return False
            beyond = ComparisonOperator.GREATER_OR_EQUAL
            if low is beyond and high is ComparisonOperator.LESS_OR_EQUAL:  # both include it
                beyond = ComparisonOperator.GREATER
            return _compare(bottom, top, beyond) is True
        case _:
            return False


_UPPER = {ComparisonOperator.LESS, ComparisonOperator.LESS_OR_EQUAL}
_LOWER = {ComparisonOperator.GREATER, ComparisonOperator.GREATER_OR_EQUAL}
_KINDS: Final = (bool, int | Decimal, float, str, datetime, date, timedelta)


def _compare(left: Constant, right: Constant, operator: ComparisonOperator) -> bool | None:
    """Return a comparison of two constants; `None` unless they are exact and of one kind."""
    kinds = [
        next((number for number, kind in enumerate(_KINDS) if isinstance(value, kind)), None)
        for value in (left, right)
    ]
    if kinds[0] is None or kinds[0] != kinds[1]:
        return None
    if (
        isinstance(left, str)
        and isinstance(right, str)
        and all(map(parse_timestamp, (left, right)))
    ):
        return None  # two texts of one time, if the column holds times
    try:
        return bool(PYTHON_COMPARE[operator](left, right))
    except TypeError:
        return None  # a time with a zone and one without
