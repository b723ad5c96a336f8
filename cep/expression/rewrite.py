"""Rebuilding trees: a node with other operands, and what follows from it.

The parser takes the step name out of an aggregate's operand with it; `resolve` and `fold` make
their trees with it, and `inference` gives the variables of lambdas their types.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from cep.expression import tree
from cep.expression.tree import Node
from cep.expression.types import DataType


def rebuilt(  # noqa: PLR0911 - one line per kind of node
    node: Node, change: Callable[[Node], Node]
) -> Node:
    """Return the node with every operand right below replaced by `change(operand)`.

    The operand of an aggregate stays: it is evaluated on other events.
    """
    match node:
        case tree.Literal() | tree.Field() | tree.Aggregate() | tree.Variable():
            return node
        case tree.HigherOrderCall(array=array, body=body):
            return replace(node, array=change(array), body=change(body))
        case (
            tree.And(operands=operands)
            | tree.Or(operands=operands)
            | tree.Coalesce(operands=operands)
        ):
            return replace(node, operands=tuple(change(operand) for operand in operands))
        case tree.Comparison(left=left, right=right) | tree.IsDistinct(left=left, right=right):
            return replace(node, left=change(left), right=change(right))
        case tree.In(operand=operand, items=items):
            return replace(node, operand=change(operand), items=tuple(change(i) for i in items))
        case tree.Case(branches=branches, default=default):
            changed = tuple((change(condition), change(value)) for condition, value in branches)
            return replace(node, branches=changed, default=change(default))
        case tree.Window(operands=operands, partition_by=keys, condition=condition):
            return replace(
                node,
                operands=tuple(change(operand) for operand in operands),
                partition_by=tuple(change(key) for key in keys),
                condition=None if condition is None else change(condition),
            )
        case tree.Call(arguments=arguments):
            return replace(node, arguments=tuple(change(argument) for argument in arguments))
        case (
            tree.Not(operand=operand)
            | tree.IsNull(operand=operand)
            | tree.IsTruth(operand=operand)
            | tree.InList(operand=operand)
            | tree.Like(operand=operand)
            | tree.RegexLike(operand=operand)
            | tree.Cast(operand=operand)
            | tree.Member(operand=operand)
        ):
            return replace(node, operand=change(operand))


def with_element_type(body: Node, variable: str, data_type: DataType) -> Node:
    """Return the body of a lambda in which the type of its variable is known."""
    if isinstance(body, tree.Variable):
        return replace(body, data_type=data_type) if body.name == variable else body
    return rebuilt(body, lambda child: with_element_type(child, variable, data_type))


def without_step(node: Node) -> Node:
    """Return the operand of an aggregate with the step name taken off its fields."""
    if isinstance(node, tree.Field):
        return replace(node, path=node.path[1:])
    return rebuilt(node, without_step)


def with_rule(node: Node, rule: str) -> Node:
    """Return a condition with its windows bound to a rule."""
    node = rebuilt(node, partial(with_rule, rule=rule))
    return replace(node, rule=rule) if isinstance(node, tree.Window) else node


_WITHOUT_EVENT: Final = {
    tree.Exclusion.NOTHING: tree.Exclusion.CURRENT_ROW,
    tree.Exclusion.TIES: tree.Exclusion.GROUP,
}


def without_event(node: Node) -> Node:
    """Return a condition whose windows leave out the event under test."""
    if not isinstance(node, tree.Window):
        return rebuilt(node, without_event)
    exclusion = _WITHOUT_EVENT.get(node.frame.exclusion, node.frame.exclusion)
    return replace(node, frame=replace(node.frame, exclusion=exclusion))
