"""What one event decides, and what only a partial match can: the seam between the two stages.

`event` reads no aggregates, so it is evaluated once per event, in columns. `residual` is tested per
partial match, and only where `event` holds. Together they are true exactly where the condition is.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cep.expression.tree import And, Node, Not, Or, aggregates_of, windows_of

Unknown: TypeAlias = Callable[[Node], Sequence[Node]]
"""Returns what in a condition is not known yet."""


@dataclass(frozen=True, slots=True)
class Split:
    """The two parts of a condition; `None` stands for a part that is always true.

    `(event AND residual) IS TRUE` exactly where the condition is, and `event IS TRUE` wherever it
    is.
    """

    event: Node | None
    residual: Node | None


def split(node: Node) -> Split:
    """Return the condition cut in two.

    The event part holds the conjuncts without aggregates, and of every other conjunct the strongest
    condition without aggregates that must be true for it to be true: of
    `name = 'a' OR price > LAST(a.price) AND volume > 5` that is `name = 'a' OR volume > 5`.
    """
    event: list[Node] = []
    residual: list[Node] = []
    for conjunct in _conjuncts(node, truth=True):
        needed = _needed(conjunct, aggregates_of, truth=True)
        if needed is not None:
            event.append(needed)
        if aggregates_of(conjunct):
            residual.append(conjunct)
    return Split(_joined(event, And), _joined(residual, And))


def without_windows(node: Node) -> Node | None:
    """Return the strongest condition without windows that holds wherever the node does.

    `None` if there is none.
    """
    parts = (_needed(part, windows_of, truth=True) for part in _conjuncts(node, truth=True))
    return _joined([part for part in parts if part is not None], And)


def _conjuncts(node: Node, *, truth: bool) -> list[Node]:
    """Return what must all be true for the node to be true (or, unless `truth`, to be false).

    De Morgan's laws and double negation hold in three-valued logic too.
    """
    match node:
        case Not(operand=operand):
            return _conjuncts(operand, truth=not truth)
        case And(operands=operands) if truth:
            return [part for operand in operands for part in _conjuncts(operand, truth=True)]
        case Or(operands=operands) if not truth:
            return [part for operand in operands for part in _conjuncts(operand, truth=False)]
        case _:
            return [node if truth else Not(node, node.span)]


def _needed(node: Node, unknown: Unknown, *, truth: bool) -> Node | None:
    """Return a condition without what is unknown that is true wherever the node is true.

    Unless `truth`: wherever the node is *false*, which is not the same as "not true" while there is
    unknown. `None` if nothing can be said.
    """
    if not unknown(node):
        return node if truth else Not(node, node.span)
    match node:
        case Not(operand=operand):
            return _needed(operand, unknown, truth=not truth)
        case And(operands=operands) | Or(operands=operands):
            parts = [_needed(operand, unknown, truth=truth) for operand in operands]
            known = [part for part in parts if part is not None]
            if isinstance(node, And) == truth:
                return _joined(known, And)
            # One of the operands must be so; if nothing is known of one of them, nothing is of all.
            return _joined(known, Or) if len(known) == len(parts) else None
        case _:
            return None


def _joined(nodes: list[Node], kind: type[And | Or]) -> Node | None:
    if len(nodes) < 2:  # noqa: PLR2004 - one node needs no operator
        return nodes[0] if nodes else None
    return kind(tuple(nodes), (nodes[0].span[0], nodes[-1].span[1]))
