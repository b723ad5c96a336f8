"""What is wrong with the conditions of a pattern: unknown steps and columns, types that clash."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from cep.expression import BOOLEAN, Schema, check
from cep.pattern.conditions import expression_problem, sql_parts
from cep.pattern.problems import Problem
from cep.pattern.tree import PatternTree, Step
from cep.pattern.validation.places import places


def condition_problems(
    tree: PatternTree, schema: Schema | None, stand_ins: AbstractSet[str] = frozenset()
) -> Iterator[Problem]:
    """Yield the mistakes in the conditions of a pattern.

    Args:
        tree: the pattern.
        schema: the columns of an event; `None` if they are unknown.
        stand_ins: names of steps whose own names could not be read.
    """
    steps = [step.name for step in tree.steps() if step.name not in stand_ins]
    for place in places(tree):
        where = place.element.where if isinstance(place.element, Step) else None
        for key, condition in (("where", where), ("until", place.element.until)):
            for expression in sql_parts(condition):
                mistakes = check(
                    expression,
                    schema=schema,
                    steps=steps,
                    expects=BOOLEAN,
                    has_other_steps=bool(stand_ins),
                )
                for mistake in mistakes:
                    yield expression_problem(mistake, f"{place.path}.{key}")
