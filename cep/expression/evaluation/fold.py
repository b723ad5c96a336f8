"""Constant folding: what reads no event is computed once, before compiling.

The scalar evaluator computes it. Both evaluators start from the folded tree, so they cannot differ
on constants.
"""

from dataclasses import replace

from cep.expression.errors import EvaluationError
from cep.expression.evaluation.scalar import evaluate_constant
from cep.expression.rewrite import rebuilt
from cep.expression.tree import (
    Call,
    Case,
    Cast,
    Coalesce,
    Comparison,
    In,
    Like,
    Literal,
    Node,
    RegexLike,
    children,
)

_NULL = Literal(None)


def folded(node: Node) -> Node:
    """Return the tree with everything that is constant replaced by its value.

    An operation on NULL is NULL, whatever its other operands are, and COALESCE passes it over. What
    cannot be computed, such as 1 > 'a', stays and is reported where it is met.
    """
    node = rebuilt(node, folded)
    below = children(node)
    if _is_null(node, below):
        return Literal(None, node.span)
    if isinstance(node, Coalesce) and _NULL in below:
        left = tuple(operand for operand in below if operand != _NULL)
        return replace(node, operands=left) if len(left) > 1 else (*left, _NULL)[0]
    if not below or not all(isinstance(child, Literal) for child in below):
        return node
    try:
        return Literal(evaluate_constant(node), node.span)
    except EvaluationError:
        return node


def _is_null(node: Node, below: tuple[Node, ...]) -> bool:
    match node:
        case Call() | Cast() | Comparison() | Like() | RegexLike():
            return _NULL in below
        case In(operand=operand):
            return operand == _NULL
        case Case(branches=branches, default=default):
            return {default, *(value for _, value in branches)} == {_NULL}
        case _:
            return False
