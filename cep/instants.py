"""Points in time: ISO 8601 with a zone outside, also times of rows; milliseconds inside."""

from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

NEVER_MS: Final = 2**62
"""The time of a row without one: NULLs come last, and no match reaches from a time to NULL."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_DAY_MS = 86_400_000
_DAYS_TO_2000 = (date(2000, 1, 1) - date(1970, 1, 1)).days
_DAYS_OF_400_YEARS = 146_097


def epoch_ms(moment: datetime) -> int:
    """Return a point in time in milliseconds since 1970, rounded down; without a zone it is UTC."""
    instant = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (instant - _EPOCH) // _MILLISECOND


_EARLIEST_MS = epoch_ms(datetime(1, 1, 2, tzinfo=UTC))
_LATEST_MS = epoch_ms(datetime(9999, 12, 30, tzinfo=UTC))


def instant_ms(value: Any) -> int:
    """Return a point in time in milliseconds since 1970.

    Raises:
        ValueError: it is neither ISO 8601 with a zone nor a whole number of milliseconds.
    """
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError("not a time; write it as 2026-12-01T08:00:00Z") from None
        if moment.tzinfo is None:
            raise ValueError("a time without zone; add Z or an offset such as +01:00")
        value = epoch_ms(moment)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(  # noqa: TRY004 - pydantic reports ValueErrors, not TypeErrors
            "not a time; write 2026-12-01T08:00:00Z, or milliseconds since 1970"
        )
    if not _EARLIEST_MS <= value <= _LATEST_MS:
        raise ValueError("a time outside the years 1 to 9999")
    return value


def iso_text(value_ms: int) -> str:
    """Return a point in time as ISO 8601 in UTC, with milliseconds.

    Outside of the years 1 to 9999 the year has a sign, as in `+12024-01-31T10:00:00.000Z`.
    """
    days, rest_ms = divmod(value_ms, _DAY_MS)
    time_of_day = (_EPOCH + timedelta(milliseconds=rest_ms)).strftime("%H:%M:%S")
    return f"{iso_date(days)}T{time_of_day}.{rest_ms % 1_000:03}Z"


def iso_date(days: int) -> str:
    """Return a day, counted from 1970-01-01, as ISO 8601; years as in `iso_text`."""
    # The calendar repeats itself every 400 years.
    cycles, day_of_cycle = divmod(days - _DAYS_TO_2000, _DAYS_OF_400_YEARS)
    day = date(2000, 1, 1) + timedelta(days=day_of_cycle)
    year = day.year + 400 * cycles
    shown = f"{year:04}" if MINYEAR <= year <= MAXYEAR else f"{year:+05}"
    return f"{shown}-{day:%m-%d}"


Instant = Annotated[
    int,
    BeforeValidator(instant_ms),
    PlainSerializer(iso_text, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-12-01T08:00:00Z"]}),
]

GivenInstant = Annotated[
    Instant,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "format": "date-time"},
                {"type": "integer", "minimum": _EARLIEST_MS, "maximum": _LATEST_MS},
            ],
            "examples": ["2026-12-01T08:00:00Z"],
        }
    ),
]
"""A point in time as people may write it: ISO 8601, or milliseconds since 1970."""


def time_ms_of(value: Any) -> int:
    """Return a value of a column of time in milliseconds since 1970.

    Raises:
        TypeError: it is neither a datetime, a date nor a whole number.
    """
    match value:
        case datetime():
            return epoch_ms(value)
        case date():
            return epoch_ms(datetime(value.year, value.month, value.day))  # noqa: DTZ001 - UTC
        case int() if not isinstance(value, bool):
            return value
        case _:
            raise TypeError(f"{value!r} is no time: a datetime or milliseconds are needed")
