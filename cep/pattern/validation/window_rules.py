"""What is wrong, or rarely meant, with the windows in conditions of a pattern.

windows of steps + key of the rule ──► those over events of other keys, which no job has together
"""

from collections.abc import Iterator, Sequence

from cep.expression import Expression
from cep.expression.sql import short_sql
from cep.expression.tree import FrameUnit, Window, windows_of
from cep.pattern.problems import Problem
from cep.pattern.tree import PatternTree, Step
from cep.pattern.validation.places import places


def window_key_problems(tree: PatternTree, key_by: Sequence[str]) -> Iterator[Problem]:
    """Yield the windows that are over events of several keys of their rule.

    Paths begin at the pattern. `key_by`: valid expressions; none is one key for all events.
    """
    keys = {Expression.parse(text).root for text in key_by}
    for path, window in windows_in(tree):
        if missing := keys - set(window.partition_by):
            named = ", ".join(sorted(map(short_sql, missing)))
            yield Problem(
                path,
                f"the window {short_sql(window)} is over events of every {named}, and a job brings "
                "together those of one key.",
                f"Write PARTITION BY {', '.join(key_by)}, perhaps with more columns, or give the "
                "rule a key with fewer.",
            )


def window_warnings(tree: PatternTree) -> Iterator[Problem]:
    """Yield the windows that keep more than an event of a key for ever."""
    for path, window in windows_in(tree):
        is_of_time = window.frame.unit is FrameUnit.RANGE
        if window.frame.begin is None or (window.frame.begin and not is_of_time):
            yield Problem(
                path,
                f"no time ends the window {short_sql(window)}, so what it keeps of a key stays.",
                "Write LAST INTERVAL '30' DAY if older events may be forgotten.",
            )


def windows_in(tree: PatternTree) -> Iterator[tuple[str, Window]]:
    """Yield the windows in the conditions of a pattern, each with the path of its condition."""
    for place in places(tree):
        where = place.element.where if isinstance(place.element, Step) else None
        for key, condition in (("where", where), ("until", place.element.until)):
            if isinstance(condition, Expression):
                for window in windows_of(condition.root):
                    yield f"{place.path}.{key}", window
