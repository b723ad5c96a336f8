"""JSON in texts: what stands at a path, how long an array is, which keys an object has.

Whole numbers are as they are written, others as a DOUBLE is as text. A text that is no JSON is
NULL, as is what a path does not find.
Source: Spark SQL reference, "JSON functions"; RFC 8259.
"""

import json
import re
from functools import lru_cache
from typing import Any, Final

from cep.expression.functions.casting import to_text
from cep.expression.functions.text import readable

_STEP: Final = re.compile(r"\.([^.\[\]*'\s]+)|\['([^']*)'\]|\[(\d{1,9})\]", re.ASCII)


class _Number(str):
    """A whole number as it is written."""

    __slots__ = ()


@lru_cache(maxsize=1024)
def path(text: str) -> tuple[str | int, ...]:
    """Return the names and indexes of a path such as `$.a.b[0]['c d']`.

    Raises:
        ValueError: it is no path, or has a wildcard.
    """
    if not text.startswith("$"):
        raise ValueError(f"the path '{text[:50]}' does not begin with $: write '$.a.b[0]'")
    steps: list[str | int] = []
    place = 1
    while place < len(text):
        step = _STEP.match(text, place)
        if step is None:
            message = f"'{text[place : place + 20]}' cannot stand in a path"
            raise ValueError(f"{message}: write '$.a.b[0]' or '$[''a b'']'; there are no wildcards")
        name, quoted, index = step.groups()
        steps.append(int(index) if index is not None else name if name is not None else quoted)
        place = step.end()
    return tuple(steps)


def get_json_object(text: str, path_text: str) -> str | None:
    """Return the value at a path: a text without quotes, all else as JSON without blanks."""
    found = _parsed(text)
    for step in path(path_text):
        match step, found:
            case int(), list() if step < len(found):
                found = found[step]
            case str(), dict() if step in found:
                found = found[step]
            case _:
                return None
    return None if found is None else readable(_written(found))


def json_array_length(text: str) -> int | None:
    """Return how many elements an array has; NULL for all else."""
    found = _parsed(text)
    return len(found) if isinstance(found, list) else None


def json_object_keys(text: str) -> list[str] | None:
    """Return the keys of an object in their order; NULL for all else."""
    found = _parsed(text)
    return list(map(readable, found)) if isinstance(found, dict) else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_int=_Number, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _written(value: Any) -> str:
    match value:
        case str():
            return str(value)
        case _:
            return _compact(value)


def _compact(value: Any) -> str:
    match value:
        case _Number():
            return str(value)
        case float():
            return to_text(value)
        case dict():
            pairs = (f"{_quoted(name)}:{_compact(each)}" for name, each in value.items())
            return f"{{{','.join(pairs)}}}"
        case list():
            return f"[{','.join(map(_compact, value))}]"
        case _:
            return _quoted(value)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
