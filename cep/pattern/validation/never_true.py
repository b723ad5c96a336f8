"""Warns of conditions that no event can meet.

They are constants that are not true, or their parts exclude each other, such as `amount > 10 AND
amount < 5`. Only what `cep.expression.disjoint` proves causes a warning. Comparisons with NULL are
left out: `cep.pattern.odd_parts` warns of them, with the remedy.
"""

from collections.abc import Iterator
from itertools import combinations

from cep.expression import Expression, Node, conjuncts, resolve, to_sql
from cep.expression.disjoint import are_disjoint, is_never_true
from cep.expression.evaluation.fold import folded
from cep.expression.tree import And, Literal
from cep.pattern.odd_parts import has_comparison_with_null
from cep.pattern.problems import Problem
from cep.pattern.tree import PatternTree, Step
from cep.pattern.validation.places import places


def never_true_warnings(tree: PatternTree) -> Iterator[Problem]:
    """Yield a warning for every condition of a step or a loop that is never true."""
    names = [step.name for step in tree.steps()]
    for place in places(tree):
        element = place.element
        where = element.where if isinstance(element, Step) else None
        for key, condition, effect in (
            ("where", where, "No event can ever be taken by this step."),
            ("until", element.until, "No event can ever end this loop."),
        ):
            if isinstance(condition, Expression) and (
                reason := _never_true(_without_null(resolve(condition, names)))
            ):
                message = f"the condition is never true: {reason}."
                yield Problem(f"{place.path}.{key}", message, effect)


def _without_null(node: Node) -> Node:
    parts = tuple(part for part in conjuncts(node) if not has_comparison_with_null(part))
    return folded(And(parts)) if len(parts) > 1 else folded(next(iter(parts), Literal(value=True)))


def _never_true(node: Node) -> str:
    """Return why a condition is never true, or an empty text."""
    parts = list(conjuncts(node))
    for part in parts:
        if isinstance(part, Literal) and part.value is not True:
            return f"a part of it is always {'NULL' if part.value is None else 'FALSE'}"
    for one, other in combinations(parts, 2):
        if are_disjoint(one, other):
            return f"{to_sql(one)} and {to_sql(other)} exclude each other"
    return "its parts exclude each other" if is_never_true(node) else ""
