"""Is this pattern one that can be run as it reads? Between the tree and the compiler in `cep.nfa`.

`problems` finds what is refused: what is too large (`size_limits`), what Flink refuses
(`element_rules`, `pattern_rules`), conditions that make no sense (`condition_rules`) and, unless
the tree says `flink_quirks`, what Flink accepts and then mangles or crashes on (`quirk_rules`).
`warnings` finds what is allowed but rarely meant.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from cep.expression import Schema
from cep.pattern.problems import Problem
from cep.pattern.tree import PatternTree, Step
from cep.pattern.validation.condition_rules import condition_problems
from cep.pattern.validation.element_rules import element_problems
from cep.pattern.validation.pattern_rules import (
    crash_problems,
    name_problems,
    pattern_problems,
    skip_problems,
)
from cep.pattern.validation.places import Place, places
from cep.pattern.validation.quirk_rules import quirk_problems
from cep.pattern.validation.size_limits import size_problems
from cep.pattern.validation.warning_rules import warnings

_ANY_STEP: Final = Step(name="")

__all__ = ["problems", "problems_of_remainder", "warnings"]


def problems(tree: PatternTree, schema: Schema | None = None) -> tuple[Problem, ...]:
    """Return everything for which a pattern is refused; without a schema columns are unknown."""
    # Too large a pattern is not looked at further: the other rules cost time by its size.
    if too_large := tuple(size_problems(tree)):
        return too_large
    found = [
        problem
        for place in places(tree)
        for problem in element_problems(place.element, place.previous, place.path)
    ]
    found += condition_problems(tree, schema)
    found += pattern_problems(tree)
    if not tree.flink_quirks:
        found += crash_problems(tree)
        found += quirk_problems(tree)
    return tuple(found)


def problems_of_remainder(
    tree: PatternTree, schema: Schema | None, touched: AbstractSet[str], stand_ins: AbstractSet[str]
) -> Iterator[Problem]:
    """Yield what is wrong with a pattern whose shape is wrong in places, beside that.

    What the wrong places may be the cause of is left out, and so are the rules on windows and on
    the pattern as a whole, which they may concern. `touched` are the paths of the elements that
    something was taken out of, "" for the pattern; `stand_ins` see `condition_problems`.
    """
    if too_large := tuple(size_problems(tree)):
        yield from too_large
        return
    all_places = tuple(places(tree))
    for place in all_places:
        if place.path not in touched:
            in_front = _ANY_STEP if _path_in_front(place) in touched else place.previous
            yield from element_problems(place.element, in_front, place.path)
    yield from condition_problems(tree, schema, stand_ins)
    yield from name_problems(all_places)
    if "" not in touched and not stand_ins:
        yield from skip_problems(tree)


def _path_in_front(place: Place) -> str:
    sequence = place.path[: place.path.rindex("[")]
    return f"{sequence}[{place.index - 1}]"
