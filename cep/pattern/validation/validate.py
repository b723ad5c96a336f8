"""Is this pattern one that can be run as it reads? Between the tree and the compiler in `cep.nfa`.

`problems` finds what is refused: what is too large (`size_limits`), what Flink refuses
(`element_rules`, `pattern_rules`), conditions that make no sense (`condition_rules`) and, unless
the tree says `flink_quirks`, what Flink accepts and then mangles or crashes on (`quirk_rules`).
`warnings` finds what is allowed but rarely meant.
"""

from cep.expression import Schema
from cep.pattern.problems import Problem
from cep.pattern.tree import PatternTree
from cep.pattern.validation.condition_rules import condition_problems
from cep.pattern.validation.element_rules import element_problems
from cep.pattern.validation.pattern_rules import crash_problems, pattern_problems
from cep.pattern.validation.places import places
from cep.pattern.validation.quirk_rules import quirk_problems
from cep.pattern.validation.size_limits import size_problems
from cep.pattern.validation.warning_rules import warnings

__all__ = ["problems", "warnings"]


def problems(tree: PatternTree, schema: Schema | None = None) -> tuple[Problem, ...]:
    """Return everything for which a pattern is refused, empty if nothing.

    Args:
        tree: the pattern.
        schema: the columns of an event, which conditions must fit; `None` if unknown.
    """
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
