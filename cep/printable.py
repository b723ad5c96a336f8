"""Text of others on a terminal: what would steer it, or reorder what is read, is written out.

Names, keys and values of rules and events reach the screen of who looks at them; an escape sequence
there could clear it, retitle it or show something else than there is.
"""

import json
from collections.abc import Callable
from math import isfinite, isnan
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


def json_text(
    value: Any, *, indent: int | None = None, default: Callable[[Any], Any] | None = None
) -> str:
    """Return a value as JSON; numbers that it lacks become texts, as in the outputs of jobs.

    `default` makes plain data of other objects.
    """
    options: dict[str, Any] = {"ensure_ascii": False, "indent": indent, "default": default}
    try:
        return json.dumps(value, allow_nan=False, **options)
    except ValueError:
        return json.dumps(_with_named_numbers(value), allow_nan=False, **options)


def _with_named_numbers(value: Any) -> Any:
    match value:
        case float() if not isfinite(value):
            return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dict():
            return {name: _with_named_numbers(each) for name, each in value.items()}
        case list() | tuple():
            return [_with_named_numbers(each) for each in value]
        case _:
            return value


def printable_json(value: Any, *, indent: int | None = None) -> str:
    """Return a value as JSON that can be read as it is; what cannot be seen is escaped."""
    text = json_text(value, indent=indent)
    if text.isprintable():
        return text
    # Outside of texts JSON has nothing but ASCII and line ends, so what is left stands in one.
    return "".join(
        each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text
    )


def counted(count: int, one: str, several: str = "") -> str:
    """Return a number of things in words, such as `1 match`."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"
