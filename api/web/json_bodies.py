"""JSON bodies are parsed and checked for what no store can keep.

JSON may hold NUL characters, halves of surrogate pairs, numbers beyond every column, keys given
twice, nesting and values without end; all are refused here, once, with a pointer. The work is
linear in the length of the body, and each step of it short enough for other threads to go on.
"""

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from api.web.problems import Refusal, escaped
from contract.service.problems import Flaw

MAXIMUM_DEPTH: Final = 60

_INTEGER_LIMIT: Final = 2**63
_SHOWN_CHARACTERS: Final = 200


class _Unfit(Exception):
    """A value cannot be kept; `path` leads to it, innermost part first."""

    def __init__(self, detail: str, remedy: str) -> None:
        super().__init__(detail)
        self.remedy = remedy
        self.path: list[str] = []


def parsed_body(body: bytes, maximum_values: int) -> Any:
    """Return what a body says.

    Args:
        body: JSON in UTF-8.
        maximum_values: how many numbers, texts, lists … it may hold, keys not counted.

    Raises:
        Refusal: it is not JSON, or holds what cannot be stored, or too much (400).
    """
    try:
        value = json.loads(body.decode(), object_pairs_hook=_object, parse_constant=_constant)
        _check(value, _Count(maximum_values).add, 0)
    except json.JSONDecodeError as error:
        raise _not_json(error) from None
    except _Unfit as unfit:
        raise _refusal(unfit) from None
    except UnicodeDecodeError:
        raise _refusal(_Unfit("The body is not UTF-8.", "Send JSON in UTF-8.")) from None
    except RecursionError:
        detail = f"It is nested deeper than the limit of {MAXIMUM_DEPTH} levels."
        raise _refusal(_Unfit(detail, "Flatten it.")) from None
    except ValueError:  # a whole number of thousands of digits
        many = _Unfit("It holds a number with too many digits.", "Use a smaller one.")
        raise _refusal(many) from None
    return value


class _Count:
    """How many values have been seen, up to a limit."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._seen = 0

    def add(self) -> None:
        self._seen += 1
        if self._seen > self._maximum:
            detail = f"It holds more than {self._maximum} values."
            raise _Unfit(detail, "Send it in several requests.")


def _check(value: Any, count: Callable[[], None], depth: int) -> None:
    count()
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, dict):
        _check_depth(depth)
        for key, inner in value.items():
            _check_text(key)
            _check_inner(inner, key, count, depth)
    elif isinstance(value, list):
        _check_depth(depth)
        for index, inner in enumerate(value):
            _check_inner(inner, index, count, depth)
    elif isinstance(value, int):
        if abs(value) >= _INTEGER_LIMIT:
            raise _Unfit("The number is beyond 64 bits.", "Use a text.")
    elif isinstance(value, float) and value in {float("inf"), float("-inf")}:
        raise _Unfit("The number is too large.", "Use a smaller one.")


def _check_inner(value: Any, part: str | int, count: Callable[[], None], depth: int) -> None:
    try:
        _check(value, count, depth + 1)
    except _Unfit as unfit:
        unfit.path.append(str(part))
        raise


def _check_depth(depth: int) -> None:
    if depth >= MAXIMUM_DEPTH:
        raise RecursionError


def _check_text(text: str) -> None:
    if "\x00" in text:
        raise _Unfit("The text holds a NUL character.", "Take it out.")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            detail = "The text holds half of a surrogate pair, which is no character."
            raise _Unfit(detail, "Take it out.") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Unfit(f"The key '{_shown(key)}' is given twice in one object.", "Keep one.")
            seen.add(key)
    return found


def _constant(name: str) -> Any:
    raise _Unfit(f"{name} is not JSON.", "Use null, or a number.")


def _not_json(error: json.JSONDecodeError) -> Refusal:
    flaw = Flaw(
        pointer="",
        detail=error.msg,
        remedy="Fix the JSON there.",
        line=error.lineno,
        column=error.colno,
    )
    return Refusal(HTTPStatus.BAD_REQUEST, f"The body is not JSON: {error.msg}.", [flaw])


def _shown(text: str) -> str:
    # A key may itself be what is wrong; what cannot be written is shown as a question mark.
    written = text.encode(errors="replace").decode()
    return written if len(written) <= _SHOWN_CHARACTERS else f"{written[:_SHOWN_CHARACTERS]}…"


def _refusal(unfit: _Unfit) -> Refusal:
    pointer = "".join(f"/{escaped(_shown(part))}" for part in reversed(unfit.path))
    flaw = Flaw(pointer=pointer, detail=str(unfit), remedy=unfit.remedy)
    return Refusal(HTTPStatus.BAD_REQUEST, f"The body cannot be read: {unfit}", [flaw])
