"""What is wrong with the conditions of a pattern: unknown steps and columns, types that clash.

A condition may name the steps before its own, its own, and those of a group that repeats. Flink
evaluates any other name as a step without events, so that a comparison never holds.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from cep.expression import BOOLEAN, Expression, Schema, check
from cep.pattern.conditions import expression_problem, sql_parts
from cep.pattern.problems import Problem
from cep.pattern.tree import PatternTree, Step, steps_of
from cep.pattern.validation.places import Place, places


def condition_problems(
    tree: PatternTree, schema: Schema | None, stand_ins: AbstractSet[str] = frozenset()
) -> Iterator[Problem]:
    """Yield the mistakes in the conditions of a pattern.

    `stand_ins` are names of steps whose own names could not be read.
    """
    steps = [step.name for step in tree.steps() if step.name not in stand_ins]
    for place in places(tree):
        where = place.element.where if isinstance(place.element, Step) else None
        empty_steps = _empty_steps(tree, place)
        for key, condition in (("where", where), ("until", place.element.until)):
            for expression in sql_parts(condition):
                mistakes = check(
                    expression,
                    schema=schema,
                    steps=steps,
                    expects=BOOLEAN,
                    allow_windows=isinstance(condition, Expression),
                    has_other_steps=bool(stand_ins),
                    empty_steps=empty_steps,
                )
                for mistake in mistakes:
                    yield expression_problem(mistake, f"{place.path}.{key}")


def _empty_steps(tree: PatternTree, place: Place) -> dict[str, tuple[str, str]]:
    in_front = [each.in_front for each in (place, *place.groups)]
    repeated = [(each.element,) for each in place.groups if each.element.times is not None]
    seen = {
        step.name
        for elements in (*in_front, *repeated)
        for step in steps_of(elements)
        if not step.is_negative
    }
    # Flink's cases name a step in its own condition though it does not repeat, even a NOT step:
    # `COUNT(a.x) = 0`.
    seen |= {step.name for step in steps_of((place.element,))}
    empty = {}
    for step in tree.steps():
        if step.name in seen:
            continue
        if step.is_negative:
            empty[step.name] = (
                f"{step.name} must not occur, so it has no event",
                "name a step that accepts events",
            )
        else:
            empty[step.name] = (
                f"{step.name} comes later, so it has no event yet",
                f"compare in the condition of {step.name}",
            )
    return empty
