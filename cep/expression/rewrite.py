"""Rebuilding trees: a node with other operands, and what follows from it.

The parser takes the step name out of an aggregate's operand with it; `resolve` and `fold` make
their trees with it.
"""

from collections.abc import Callable
from dataclasses import replace

from cep.expression.tree import (
    Aggregate,
    And,
    Call,
    Case,
    Cast,
    Coalesce,
    Comparison,
    Field,
    In,
    IsDistinct,
    IsNull,
    IsTruth,
    Like,
    Literal,
    Node,
    Not,
    Or,
    RegexLike,
)


def rebuilt(  # noqa: PLR0911 - one line per kind of node
    node: Node, change: Callable[[Node], Node]
) -> Node:
    """Return the node with every operand right below replaced by `change(operand)`.

    The operand of an aggregate stays: it is evaluated on other events.
    """
    match node:
        case Literal() | Field() | Aggregate():
            return node
        case And(operands=operands) | Or(operands=operands) | Coalesce(operands=operands):
            return replace(node, operands=tuple(change(operand) for operand in operands))
        case Comparison(left=left, right=right) | IsDistinct(left=left, right=right):
            return replace(node, left=change(left), right=change(right))
        case In(operand=operand, items=items):
            return replace(node, operand=change(operand), items=tuple(change(i) for i in items))
        case Case(branches=branches, default=default):
            changed = tuple((change(condition), change(value)) for condition, value in branches)
            return replace(node, branches=changed, default=change(default))
        case Call(arguments=arguments):
            return replace(node, arguments=tuple(change(argument) for argument in arguments))
        case (
            Not(operand=operand)
            | IsNull(operand=operand)
            | IsTruth(operand=operand)
            | Like(operand=operand)
            | RegexLike(operand=operand)
            | Cast(operand=operand)
        ):
            return replace(node, operand=change(operand))


def without_step(node: Node) -> Node:
    """Return the operand of an aggregate with the step name taken off its fields."""
    if isinstance(node, Field):
        return replace(node, path=node.path[1:])
    return rebuilt(node, without_step)
