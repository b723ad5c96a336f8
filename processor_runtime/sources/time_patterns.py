"""Times written by a pattern of one's own, such as dd.MM.yyyy HH:mm.

    pattern ──TimePattern──► regular expression · text ──TimePattern.moment──► datetime

Source: Java's `DateTimeFormatter`, whose letters Spark's `timestampFormat` has.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

_PIECE: Final = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|\[|\]|[^A-Za-z\[\]']")
_MONTHS: Final = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)
_OFFSET: Final = r"(?P<offset>Z|UTC|[+-]\d\d(?::?\d\d)?)"
_TWO_DIGITS: Final = {
    "M": "month",
    "d": "day",
    "H": "hour",
    "h": "hour",
    "m": "minute",
    "s": "second",
}
_HALF_DAY: Final = 12
_THIS_CENTURY: Final = 2000


@dataclass(frozen=True, slots=True)
class TimePattern:
    """A pattern of Java's letters: y u M d H h a m s S X x Z, `'text'` and `[optional]`.

    Raises:
        ValueError: it has another letter, or one twice; says which.
    """

    text: str
    _expression: re.Pattern[str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        try:
            expression = re.compile("".join(self._pieces()))
        except re.error:
            raise ValueError(
                f"'{self.text}': brackets do not match, or a part is there twice"
            ) from None
        object.__setattr__(self, "_expression", expression)

    def _pieces(self) -> "list[str]":
        found, place = [], 0
        while place < len(self.text):
            piece = _PIECE.match(self.text, place)
            if piece is None:
                raise ValueError(f"'{self.text}': a quote does not end")
            found.append(self._expression_of(piece))
            place = piece.end()
        return found

    def _expression_of(self, piece: re.Match[str]) -> str:  # noqa: PLR0911 - one line per letter
        text, letter = piece.group(), piece.group(2)
        if text in {"[", "]"}:
            return {"[": "(?:", "]": ")?"}[text]
        if letter is None:
            quoted = piece.group(1)
            return re.escape(text if quoted is None else quoted.replace("''", "'") or "'")
        count = len(text)
        match letter:
            case "y" | "u":
                return r"(?P<short_year>\d\d)" if count == 2 else r"(?P<year>\d{4})"  # noqa: PLR2004
            case "M" if count == 3:  # noqa: PLR2004
                return f"(?P<month_name>{'|'.join(_MONTHS)})"
            case "M" | "d" | "H" | "h" | "m" | "s" if count <= 2:  # noqa: PLR2004
                return rf"(?P<{_TWO_DIGITS[letter]}>\d{{{count},2}})"
            case "S":
                return rf"(?P<fraction>\d{{{count}}})"
            case "a":
                return r"(?P<half>[AaPp][Mm])"
            case "X" | "x" | "Z":
                return _OFFSET
            case _:
                raise ValueError(f"'{self.text}': the letters {text} are not known")

    def moment(self, text: str) -> datetime:
        """Return the time that a text tells, in UTC if it has no offset.

        Raises:
            ValueError: it is not written so, or there is no such time.
        """
        found = self._expression.fullmatch(text)
        if found is None:
            raise ValueError(f"'{text[:80]}' is not written as {self.text}")
        parts = {name: value for name, value in found.groupdict().items() if value is not None}
        year = int(parts.get("year", 1970))
        if "short_year" in parts:
            year = _THIS_CENTURY + int(parts["short_year"])
        month = int(parts.get("month", 1))
        if "month_name" in parts:
            month = _MONTHS.index(parts["month_name"]) + 1
        hour = int(parts.get("hour", 0))
        if "half" in parts:
            if not 1 <= hour <= _HALF_DAY:
                raise ValueError(f"'{text[:80]}' has no such hour")
            hour = hour % _HALF_DAY + _HALF_DAY * (parts["half"].lower() == "pm")
        return datetime(
            year,
            month,
            int(parts.get("day", 1)),
            hour,
            int(parts.get("minute", 0)),
            int(parts.get("second", 0)),
            int(parts.get("fraction", "0")[:6].ljust(6, "0")),
            tzinfo=_zone(parts.get("offset", "Z")),
        )


@dataclass(frozen=True, slots=True)
class TimePatterns:
    """How times are written, by type, where it is not as in ISO 8601; see `TimePattern`."""

    timestamp: str | None = None
    timestamp_ntz: str | None = None
    date: str | None = None


ISO: Final = TimePatterns()


def _zone(offset: str) -> timezone:
    if offset in {"Z", "UTC"}:
        return UTC
    digits = offset[1:].replace(":", "").ljust(4, "0")
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-size if offset.startswith("-") else size)
