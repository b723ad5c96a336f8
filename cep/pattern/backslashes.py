r"""Warns of texts that may have been written for a language in which a backslash escapes.

In SQL it is a character like any other: `'\n'` is two characters, and no line ends.
"""

import re
from collections.abc import Iterator
from typing import Final

from cep.expression import Node
from cep.expression.tree import Like, Literal, walk
from cep.pattern.problems import Problem

# An escape stands alone or before another: `\new` and `\temp` are parts of paths.
_ESCAPE: Final = re.compile(r"\\(?:[nrt](?![A-Za-z0-9_])|u[0-9A-Fa-f]{4}|['\"])|(?<=[^\\])\\\\")


def backslash_warnings(node: Node, path: str) -> Iterator[Problem]:
    """Yield a warning for each text of a condition that seems to escape a character.

    Args:
        node: the condition.
        path: its place in the pattern.
    """
    for part in walk(node):
        match part:
            case Literal(value=str(text)) | Like(pattern=text, escape=""):
                if found := _ESCAPE.search(text):
                    yield Problem(
                        path,
                        f"'{text[:80]}' has the characters {found[0]}: in SQL a backslash escapes "
                        "nothing.",
                        "Write the character that is meant itself, or leave it if a backslash is.",
                    )
            case _:
                continue
