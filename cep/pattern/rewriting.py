"""Every condition of a tree replaced by another one: for code that is loaded, and for lists.

tree ──with_conditions──► the same tree, with other conditions at the same places
"""

from collections.abc import Callable
from dataclasses import replace

from cep.pattern.tree import AllOf, AnyOf, Condition, Group, PatternTree, Step

Rewrite = Callable[[Condition, str], Condition]
"""Takes a condition that is not composed of others, and the path of the whole one."""


def with_conditions(tree: PatternTree, rewrite: Rewrite) -> PatternTree:
    """Return a tree with every condition rewritten; paths are those in its document."""
    return replace(tree, elements=_elements(tree.elements, "steps", rewrite))


def _elements(
    elements: tuple[Step | Group, ...], path: str, rewrite: Rewrite
) -> tuple[Step | Group, ...]:
    return tuple(
        _element(element, f"{path}[{index}]", rewrite) for index, element in enumerate(elements)
    )


def _element(element: Step | Group, path: str, rewrite: Rewrite) -> Step | Group:
    match element:
        case Step(where=where):
            where = _condition(where, f"{path}.where", rewrite)
            rewritten: Step | Group = replace(element, where=where)
        case Group(elements=inner):
            rewritten = replace(element, elements=_elements(inner, f"{path}.group.steps", rewrite))
    return replace(rewritten, until=_condition(element.until, f"{path}.until", rewrite))


def _condition(condition: Condition | None, path: str, rewrite: Rewrite) -> Condition | None:
    match condition:
        case None:
            return None
        case AllOf(conditions=parts) | AnyOf(conditions=parts):
            return type(condition)(tuple(_part(part, path, rewrite) for part in parts))
        case _:
            return rewrite(condition, path)


def _part(condition: Condition, path: str, rewrite: Rewrite) -> Condition:
    rewritten = _condition(condition, path, rewrite)
    assert rewritten is not None  # noqa: S101 - what is there is not taken away
    return rewritten
