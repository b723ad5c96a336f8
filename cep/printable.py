"""Text of others on a terminal: what would steer it, or reorder what is read, is written out.

Names, keys and values of rules and events reach the screen of who looks at them; an escape sequence
there could clear it, retitle it or show something else than there is.
"""

import json
from typing import Any


def printable(text: str) -> str:
    r"""Return a text in which only line ends, and what can be seen, are themselves.

    Control characters, marks of direction and halves of surrogate pairs become `\x1b`, `\u202e`.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == "\n" else each.encode("unicode_escape").decode()
        for each in text
    )


def printable_json(value: Any, *, indent: int | None = None) -> str:
    """Return a value as JSON that can be read as it is; what cannot be seen is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if text.isprintable():
        return text
    # Outside of texts JSON has nothing but ASCII and line ends, so what is left stands in one.
    return "".join(
        each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text
    )
