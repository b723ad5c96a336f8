"""Conditions from one language to the other, kept as they are written where both read them alike.

    Expression ◄──► Scalar

`amount > fail.amount` is the same in both: a step's field is that of its last event, a variable's
column that of its last row. What the languages read differently is refused.
"""

from collections.abc import Collection, Mapping
from typing import Final

from cep.expression import Aggregate, AggregateFunction, Expression, ExpressionError, Field, Node
from cep.expression.rewrite import rebuilt
from cep.expression.sql import to_sql
from cep.expression.tree import Call, children
from cep.row_pattern.analysis.trees import replaced
from cep.row_pattern.clause import (
    Aggregation,
    Classifier,
    Column,
    Direction,
    MatchNumber,
    Mode,
    Name,
    Navigation,
    Reference,
    Scalar,
    placeholder,
)
from cep.row_pattern.errors import ClauseError
from cep.row_pattern.parsing.expressions import read_scalar
from cep.row_pattern.parsing.words import words_of
from cep.translation.refusals import NotExact

_READ_OTHERWISE: Final = {
    "/": "whole numbers divide to a fraction in a pattern, and to a whole number in SQL",
    "%": "a remainder by zero is NULL in a pattern, and an error in SQL",
    "MOD": "a remainder by zero is NULL in a pattern, and an error in SQL",
}


def scalar_of(expression: Expression, variables: Mapping[str, str]) -> Scalar:
    """Return a condition of a pattern, which reads `step.field`, as one of a clause.

    `variables` are the folded names of the variables by step.

    Raises:
        NotExact: SQL reads it otherwise.
    """
    _check_operators(expression.root)
    wanted = _resolved(expression.root, variables)
    for text in (expression.text, to_sql(expression.root)):
        try:
            scalar = read_scalar(text, words_of(text)[:-1])
            if _node_of(scalar, "", set(variables.values()), is_checked=False) == wanted:
                return scalar
        except (ClauseError, NotExact):
            continue
    raise NotExact(f"the condition {expression.text} is read otherwise in SQL")


def expression_of(scalar: Scalar, defined: str, variables: Collection[str]) -> Expression:
    """Return the condition of the variable `defined` as one of a step with the same name.

    All names are folded; `variables` are all primary ones.

    Raises:
        NotExact: a pattern reads it otherwise, or has no such thing.
    """
    root = _node_of(scalar, defined, variables)
    _check_operators(root)
    names = {name: name for name in variables}
    for text in (scalar.text, _unresolved_text(root)):
        try:
            expression = Expression.parse(text)
        except ExpressionError:
            continue
        if _resolved(expression.root, names) == root:
            return expression
    raise NotExact(f"the condition {scalar.text} is read otherwise in a pattern")


def _check_operators(root: Node) -> None:
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, Call) and node.function in _READ_OTHERWISE:
            raise NotExact(
                f"{node.function} means something else: {_READ_OTHERWISE[node.function]}"
            )
        if isinstance(node, Aggregate) and node.operand is not None:
            pending.append(node.operand)
        pending.extend(children(node))


def _resolved(root: Node, variables: Mapping[str, str]) -> Node:
    """Return a tree with every `step.field` as LAST over the variable of the step."""

    def change(node: Node) -> Node:
        match node:
            case Field(path=(step, *rest)) if rest and step in variables:
                field = Field(tuple(rest))
                return Aggregate(AggregateFunction.LAST, variables[step], field)
            case Aggregate(function=function, step=step, operand=operand) if step in variables:
                return Aggregate(function, variables[step], operand)
            case _:
                return rebuilt(node, change)

    return change(root)


def _unresolved_text(root: Node) -> str:
    """Return a resolved tree as text; LAST of a plain field becomes `step.field`."""

    def change(node: Node) -> Node:
        match node:
            case Aggregate(function=AggregateFunction.LAST, step=step, operand=Field(path=path)):
                return Field((step, *path))
            case _:
                return rebuilt(node, change)

    return to_sql(change(root))


# What a clause reads, as a tree


def _node_of(
    scalar: Scalar, defined: str, variables: Collection[str], *, is_checked: bool = True
) -> Node:
    """Return the tree of a condition, with aggregates over variables for what it reads of them."""
    nodes = {
        placeholder(number): _reference(reference, defined, variables, is_checked=is_checked)
        for number, reference in enumerate(scalar.references)
    }
    return replaced(scalar.root, nodes)


def _reference(
    reference: Reference, defined: str, variables: Collection[str], *, is_checked: bool
) -> Node:
    match reference:
        case Column(path=path):
            return _column(path, defined, variables)
        case Navigation():
            return _navigation(reference, defined, variables, is_checked=is_checked)
        case Aggregation():
            return _aggregation(reference, defined, variables, is_checked=is_checked)
        case Classifier():
            raise NotExact("CLASSIFIER() is not part of a pattern")
        case MatchNumber():
            raise NotExact("MATCH_NUMBER() is not part of a pattern: matches are not numbered")
        case _:
            raise NotExact("ARRAY[...] is not part of a pattern")


def _column(path: tuple[Name, ...], defined: str, variables: Collection[str]) -> Node:
    first, *rest = path
    names = tuple(name.text for name in path)
    if not rest or (first.folded not in variables and first.folded != defined):
        if rest and first.text in variables:
            raise NotExact(f"{'.'.join(names)} is a column in SQL, and a step in a pattern")
        return Field(names)
    if first.folded == defined:
        return Field(names[1:])
    return Aggregate(AggregateFunction.LAST, first.folded, Field(names[1:]))


def _navigation(
    navigation: Navigation, defined: str, variables: Collection[str], *, is_checked: bool
) -> Node:
    direction = navigation.direction
    if direction in {Direction.PREV, Direction.NEXT}:
        raise NotExact(f"{direction} reads rows outside of the match; a pattern does not")
    if navigation.offset:
        raise NotExact(f"{direction} with an offset is not part of a pattern")
    if navigation.mode is Mode.FINAL:
        raise NotExact("FINAL is not part of a pattern")
    function = AggregateFunction(direction.value)
    return _over(function, navigation.operand, defined, variables, is_checked=is_checked)


def _aggregation(
    aggregation: Aggregation, defined: str, variables: Collection[str], *, is_checked: bool
) -> Node:
    if aggregation.is_distinct or aggregation.function not in set(AggregateFunction):
        distinct = " with DISTINCT" if aggregation.is_distinct else ""
        raise NotExact(f"{aggregation.function}{distinct} is not part of a pattern")
    function = AggregateFunction(aggregation.function)
    if aggregation.operand is not None:
        return _over(function, aggregation.operand, defined, variables, is_checked=is_checked)
    if aggregation.rows_of is None:
        raise NotExact("COUNT(*) counts the rows of all variables; a pattern counts those of one")
    variable = aggregation.rows_of.folded
    _check_other(function, variable, defined, is_checked=is_checked)
    return Aggregate(function, variable, None)


def _over(
    function: AggregateFunction,
    operand: Scalar,
    defined: str,
    variables: Collection[str],
    *,
    is_checked: bool,
) -> Node:
    """Return an aggregate over the rows of the one variable that its operand names."""
    nodes: dict[str, Node] = {}
    named = set()
    for number, reference in enumerate(operand.references):
        if not isinstance(reference, Column):
            raise NotExact(f"what is inside {function} is not part of a pattern")
        first, *rest = reference.path
        if not rest or first.folded not in variables:
            raise NotExact(f"{function} over all rows of a match is not part of a pattern")
        named.add(first.folded)
        nodes[placeholder(number)] = Field(tuple(name.text for name in rest))
    if len(named) != 1:
        raise NotExact(f"{function} needs the columns of one variable")
    (variable,) = named
    _check_other(function, variable, defined, is_checked=is_checked)
    return Aggregate(function, variable, replaced(operand.root, nodes))


def _check_other(
    function: AggregateFunction, variable: str, defined: str, *, is_checked: bool
) -> None:
    if is_checked and variable == defined:
        reason = f"{function} over {variable} in its own condition counts the row under test"
        raise NotExact(f"{reason}; in a pattern it does not")
