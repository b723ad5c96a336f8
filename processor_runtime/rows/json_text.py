"""Values as JSON text: keys, events and outputs as they stand in rows of output.

values of Python ──json_text──► `key`, `output`, `events`, `error` of an output row

Numbers that JSON lacks become texts (`"NaN"`, `"Infinity"`), decimals texts with all their digits,
times ISO 8601, bytes Base64 with the alphabet for URLs.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import PydanticSerializationError, to_json


class NoJson(TypeError):
    """A value cannot be written as JSON; says which."""


def json_text(value: Any) -> str:
    """Return a value as JSON.

    Raises:
        NoJson: there is something in it that JSON has no form for, or it is nested too deeply.
    """
    try:
        return _written(value)
    except PydanticSerializationError as error:
        # Halves of surrogate pairs, which a text of Python may hold and UTF-8 cannot.
        try:
            return _written(with_whole_characters(value))
        except (PydanticSerializationError, RecursionError):
            reason = str(error).removeprefix("Error serializing to JSON: ")
            raise NoJson(f"it cannot be written as JSON: {reason}") from None


def plain_json_text(value: Any) -> str:
    """Return a value as `json_text` does, faster if everything in it has a form in JSON.

    It may hold no iterators, which can be read only once.

    Raises:
        NoJson: there is something in it that JSON has no form for, or it is nested too deeply.
    """
    try:
        return to_json(value, inf_nan_mode="strings", bytes_mode="base64").decode()
    except PydanticSerializationError:
        return json_text(value)


def list_texts(lists: Sequence[Sequence[Any]]) -> list[str]:
    """Return lists, such as keys, as `plain_json_text` writes each, in a fifth of the time.

    Raises:
        NoJson: see there.
    """
    # Between any two of them stands "],["; more of these are in lists of lists, and in texts.
    parts = plain_json_text(lists)[2:-2].split("],[")
    if len(parts) == len(lists):
        return [f"[{part}]" for part in parts]
    return [*map(plain_json_text, lists)]


def _written(value: Any) -> str:
    unknown: list[Any] = []

    def plain(inner: Any) -> Any:
        if type(inner).__module__ == "numpy" and hasattr(inner, "tolist"):
            return inner.tolist()
        unknown.append(inner)
        raise TypeError

    try:
        return to_json(value, inf_nan_mode="strings", bytes_mode="base64", fallback=plain).decode()
    except PydanticSerializationError:
        if unknown:
            kind = type(unknown[0]).__qualname__
            raise NoJson(f"a value of the type {kind} cannot be written as JSON") from None
        raise


def with_whole_characters(value: Any) -> Any:
    """Return a value without halves of surrogate pairs, at any depth; there is `?` in their place.

    JSON can hold them, and texts of Python do, but UTF-8 does not.
    """
    match value:
        case str():
            return value.encode(errors="replace").decode()
        case Mapping():
            return {
                with_whole_characters(key): with_whole_characters(item)
                for key, item in value.items()
            }
        case list() | tuple() | set() | frozenset():
            return [with_whole_characters(item) for item in value]
        case _:
            return value
