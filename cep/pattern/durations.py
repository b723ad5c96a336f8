"""Durations as people write them, to whole milliseconds and back.

Read by the builder and the document for every window; written by the printed form and the document.
"""

import re
from datetime import timedelta
from typing import Final

from pydantic import TypeAdapter, ValidationError

LONGEST_MS: Final = 2**63 - 1  # timestamps are 64-bit, here as in Flink

_UNITS_MS: Final = {
    "week": 604_800_000,
    "day": 86_400_000,
    "hour": 3_600_000,
    "minute": 60_000,
    "second": 1_000,
    "millisecond": 1,
}
_UNIT_OF: Final = {
    alias: unit
    for unit, aliases in {
        "week": ("w", "week", "weeks"),
        "day": ("d", "day", "days"),
        "hour": ("h", "hr", "hrs", "hour", "hours"),
        "minute": ("m", "min", "mins", "minute", "minutes"),
        "second": ("s", "sec", "secs", "second", "seconds"),
        "millisecond": ("ms", "millisecond", "milliseconds"),
    }.items()
    for alias in aliases
}
_UNITS_OF_TEXT: Final = tuple(unit for unit in _UNITS_MS if unit != "week")  # "10 days" reads best
_PART: Final = re.compile(r"([0-9]{1,19})\s*([a-z]+)\s*")
_CALENDAR_PART: Final = re.compile(r"P[^T]*[YM]")
_ISO_8601: Final = TypeAdapter(timedelta)
_LONGEST_TEXT: Final = 200
_HOW: Final = "Write it like '10 minutes', '1h 30m' or 'PT10M' (ISO-8601)."


def duration_ms(duration: int | str | timedelta) -> int:
    """Return a duration in milliseconds, the unit of integers; texts are such as "1h 30m", "PT10M".

    Raises:
        ValueError: it is not a duration, is negative, is not a whole number of milliseconds or does
            not fit into 64 bits.
    """
    match duration:
        case bool():
            raise ValueError(f"{duration} is not a duration. {_HOW}")
        case int():
            milliseconds = duration
        case timedelta():
            milliseconds = _timedelta_ms(duration)
        case str():
            milliseconds = _text_ms(duration.strip())
        case _:
            raise ValueError(f"{duration!r} is not a duration. {_HOW}")
    if not 0 <= milliseconds <= LONGEST_MS:
        raise ValueError(
            f"A duration of {milliseconds} ms is out of range: from 0 to {LONGEST_MS} ms."
        )
    return milliseconds


def duration_text(milliseconds: int) -> str:
    """Return a duration as text that `duration_ms` reads back, such as "1 hour 30 minutes"."""
    parts = []
    rest = milliseconds
    for unit in _UNITS_OF_TEXT:
        count, rest = divmod(rest, _UNITS_MS[unit])
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(parts) or "0 milliseconds"


def _text_ms(text: str) -> int:
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"A text of {len(text)} characters is not a duration. {_HOW}")
    if text.startswith(("P", "-P")):
        if _CALENDAR_PART.match(text):
            raise ValueError(f"'{text}': years and months have no fixed length. Write it in days.")
        try:
            return _timedelta_ms(_ISO_8601.validate_python(text))
        except ValidationError:
            raise ValueError(f"'{text}' is not an ISO-8601 duration. {_HOW}") from None
    position = total_ms = 0
    while part := _PART.match(text.lower(), position):
        unit = _UNIT_OF.get(part[2])
        if part[2] in {"month", "months", "year", "years"}:
            raise ValueError(f"'{text}': years and months have no fixed length. Write it in days.")
        if unit is None:
            raise ValueError(f"'{part[2]}' in '{text}' is not a unit of time. {_HOW}")
        total_ms += int(part[1]) * _UNITS_MS[unit]
        position = part.end()
    if position == 0 or position < len(text):
        raise ValueError(f"'{text}' is not a duration. {_HOW}")
    return total_ms


def _timedelta_ms(duration: timedelta) -> int:
    milliseconds, rest = divmod(duration, timedelta(milliseconds=1))
    if rest:
        raise ValueError(f"{duration} is not a whole number of milliseconds.")
    return milliseconds
