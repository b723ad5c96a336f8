"""Constant folding: what reads no event is computed once, before compiling.

The scalar evaluator computes it. Both evaluators start from the folded tree, so they cannot differ
on constants.
"""

from dataclasses import replace

from cep.expression import tree
from cep.expression.errors import EvaluationError
from cep.expression.evaluation.scalar import evaluate_constant
from cep.expression.functions.table import FUNCTIONS
from cep.expression.rewrite import rebuilt
from cep.expression.tree import Node, children

_NULL = tree.Literal(None)


def folded(node: Node) -> Node:
    """Return the tree with everything that is constant replaced by its value.

    An operation on NULL is NULL, whatever its other operands are, but for the few functions that
    take it; COALESCE passes it over. What cannot be computed, such as 1 > 'a', stays and is
    reported where it is met.
    """
    node = rebuilt(node, folded)
    below = children(node)
    if _is_null(node, below):
        return tree.Literal(None, node.span)
    if isinstance(node, tree.Coalesce) and _NULL in below:
        left = tuple(operand for operand in below if operand != _NULL)
        return replace(node, operands=left) if len(left) > 1 else (*left, _NULL)[0]
    if isinstance(node, tree.InList):  # which values are in effect depends on the event
        return node
    if not below or not all(isinstance(child, tree.Literal) for child in below):
        return node
    try:
        value = evaluate_constant(node)
    except EvaluationError:
        return node
    return node if isinstance(value, list) else tree.Literal(value, node.span)


def _is_null(node: Node, below: tuple[Node, ...]) -> bool:
    match node:
        case tree.Call(function=function) if FUNCTIONS[function].takes_null:
            return False
        case (
            tree.Call()
            | tree.Cast()
            | tree.Comparison()
            | tree.Like()
            | tree.RegexLike()
            | tree.Member()
        ):
            return _NULL in below
        case tree.HigherOrderCall(array=array):
            return array == _NULL
        case tree.In(operand=operand) | tree.InList(operand=operand):
            return operand == _NULL
        case tree.Case(branches=branches, default=default):
            return {default, *(value for _, value in branches)} == {_NULL}
        case _:
            return False
