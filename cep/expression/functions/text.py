"""Scalar meaning of the functions on texts, arrays and dates; no argument is NULL.

Positions and lengths count characters (code points). Source: Spark SQL reference, "Built-in
functions".
"""

import math
import operator
from collections.abc import Callable
from datetime import datetime

from cep.expression.temporal import naive_utc, parse_timestamp
from cep.expression.values import MAX_COMPUTED_TEXT, Group, Mismatch, Value, equal, group_of


def _require_texts(*values: Value) -> None:
    if not all(isinstance(value, str) for value in values):
        raise Mismatch


def _of_texts(function: Callable[..., Value]) -> Callable[..., Value]:
    def checked(*texts: Value) -> Value:
        _require_texts(*texts)
        return function(*texts)

    return checked


lower = _of_texts(str.lower)
upper = _of_texts(str.upper)
length = _of_texts(len)
starts_with = _of_texts(str.startswith)
ends_with = _of_texts(str.endswith)
contains = _of_texts(operator.contains)


def trim(text: Value) -> str:
    """Return the text without blanks (U+0020 only, as in Spark) around it."""
    _require_texts(text)
    return str.strip(text, " ")


def concat(*texts: Value) -> str | None:
    """Return the texts as one, NULL beyond `MAX_COMPUTED_TEXT` characters."""
    _require_texts(*texts)
    return "".join(texts) if sum(map(len, texts)) <= MAX_COMPUTED_TEXT else None


def substring(text: Value, position: Value, count: Value = None) -> str:
    """Return `count` characters from `position`: 1 is the first one, -1 the last."""
    _require_texts(text)
    for number in (position, count or 0):
        if group_of(number) is not Group.NUMBER or not math.isfinite(number):
            raise Mismatch
    start = int(position)
    start = start - 1 if start > 0 else start + len(text) if start < 0 else 0
    end = len(text) if count is None else start + int(count)
    return str(text[max(start, 0) : max(end, 0)])


def array_contains(array: Value, item: Value) -> bool | None:
    """Return whether an element equals the item; unknown if none does but one is NULL."""
    if group_of(array) is not Group.ARRAY:
        raise Mismatch
    found: bool | None = False
    for element in array:
        same = None if element is None else equal(element, item)
        if same:
            return True
        found = None if same is None else found
    return found


def _moment(value: Value) -> datetime | None:
    match group_of(value):
        case Group.TEXT:
            parsed = parse_timestamp(value)
            return None if parsed is None else naive_utc(parsed)
        case Group.MOMENT:
            return naive_utc(value)
        case _:
            raise Mismatch


_PARTS: dict[str, Callable[[datetime], int]] = {
    "YEAR": lambda moment: moment.year,
    "MONTH": lambda moment: moment.month,
    "DAY": lambda moment: moment.day,
    "HOUR": lambda moment: moment.hour,
    "MINUTE": lambda moment: moment.minute,
    "SECOND": lambda moment: moment.second,
    "DAYOFWEEK": lambda moment: moment.isoweekday() % 7 + 1,
}


def date_part(part: str) -> Callable[[Value], int | None]:
    """Return the function that takes a part out of a date or timestamp.

    Instants are read in UTC. `SECOND` is whole, `DAYOFWEEK` counts from 1 = Sunday.
    """
    take = _PARTS[part]

    def scalar(value: Value) -> int | None:
        moment = _moment(value)
        return None if moment is None else take(moment)

    return scalar
