r"""Warns of parts of conditions that mean something else in the language their author comes from.

In SQL a backslash is a character like any other: `'\n'` is two characters, and no line ends. The
wildcards of LIKE are `%` and `_`, RLIKE has none, and no comparison with NULL is true.
"""

import re
from collections.abc import Iterator
from typing import Final

from cep.expression import Node
from cep.expression.tree import Comparison, Like, Literal, RegexLike, walk
from cep.pattern.problems import Problem

# An escape stands alone or before another: `\new` and `\temp` are parts of paths.
_ESCAPE: Final = re.compile(r"\\(?:[nrt](?![A-Za-z0-9_])|u[0-9A-Fa-f]{4}|['\"])|(?<=[^\\])\\\\")
_STARS: Final = re.compile(r"[^%_]*\*[^%_]*")
_PERCENTS: Final = re.compile("%.+%")


def odd_part_warnings(node: Node, path: str) -> Iterator[Problem]:
    """Yield a warning for each part of a condition that is rarely meant as it stands."""
    for part in walk(node):
        match part:
            case Literal(value=str(text)) | Like(pattern=text, escape="") if found := (
                _ESCAPE.search(text)
            ):
                yield Problem(
                    path,
                    f"'{text[:80]}' has the characters {found[0]}: in SQL a backslash escapes "
                    "nothing.",
                    "Write the character that is meant itself, or leave it if a backslash is.",
                )
            case Like(pattern=text) if _STARS.fullmatch(text):
                yield Problem(
                    path,
                    f"LIKE '{text[:80]}': * is a character like any other.",
                    "The wildcards of LIKE are % for any text and _ for one character.",
                )
            case RegexLike(pattern=text) if _PERCENTS.fullmatch(text):
                yield Problem(
                    path,
                    f"RLIKE '{text[:80]}': % is a character like any other.",
                    "RLIKE finds its pattern anywhere in a text; with % write LIKE.",
                )
            case _ if _compares_with_null(part):
                yield Problem(
                    path,
                    "a comparison with NULL is never true, and its opposite neither.",
                    "Write IS NULL or IS NOT NULL.",
                )
            case _:
                continue


def has_comparison_with_null(node: Node) -> bool:
    """Return whether a part of a condition is a comparison with NULL, which is warned of."""
    return any(map(_compares_with_null, walk(node)))


def _compares_with_null(part: Node) -> bool:
    return isinstance(part, Comparison) and Literal(None) in (part.left, part.right)
