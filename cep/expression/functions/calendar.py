"""Scalar meaning of the functions on dates and times, which are read as in UTC, without zone.

A clock reading that a zone skips in spring is as much later as it skips; one that it has twice in
autumn is the first one, as in `java.time`. Source: Spark SQL reference, "Date and timestamp
functions".
"""

import calendar
import zoneinfo
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final

from cep.expression.errors import near_name
from cep.expression.temporal import UNIT_MICROSECONDS, naive_utc, parse_timestamp
from cep.expression.values import Group, Mismatch, Value, group_of

_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - naive on purpose
_MICROSECOND: Final = timedelta(microseconds=1)
_DAY: Final = timedelta(days=1)

PARTS: Final[Mapping[str, Callable[[datetime], int]]] = {
    "YEAR": lambda moment: moment.year,
    "QUARTER": lambda moment: (moment.month + 2) // 3,
    "MONTH": lambda moment: moment.month,
    "WEEKOFYEAR": lambda moment: moment.isocalendar().week,
    "DAY": lambda moment: moment.day,
    "DAYOFYEAR": lambda moment: moment.timetuple().tm_yday,
    "DAYOFWEEK": lambda moment: moment.isoweekday() % 7 + 1,
    "WEEKDAY": lambda moment: moment.weekday(),
    "HOUR": lambda moment: moment.hour,
    "MINUTE": lambda moment: moment.minute,
    "SECOND": lambda moment: moment.second,
}
"""`SECOND` is whole; `DAYOFWEEK` counts from 1 = Sunday, `WEEKDAY` from 0 = Monday."""

_DATE_UNITS: Final[Mapping[str, Callable[[datetime], date]]] = {
    "YEAR": lambda moment: date(moment.year, 1, 1),
    "QUARTER": lambda moment: date(moment.year, (moment.month - 1) // 3 * 3 + 1, 1),
    "MONTH": lambda moment: date(moment.year, moment.month, 1),
    "WEEK": lambda moment: moment.date() - timedelta(days=moment.weekday()),
    "DAY": lambda moment: moment.date(),
}
_CLOCK_UNITS: Final = ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
TRUNCATED_UNITS: Final = (*_DATE_UNITS, *_CLOCK_UNITS)


def unit(text: str) -> str:
    """Return a unit that times are cut to, in capital letters.

    Raises:
        ValueError: it is none.
    """
    if text.upper() not in TRUNCATED_UNITS:
        raise ValueError(
            f"'{text[:50]}' is no unit of time; units are {', '.join(TRUNCATED_UNITS)}"
        )
    return text.upper()


def date_unit(text: str) -> str:
    """Return a unit that dates are cut to; raises `ValueError` if it is none."""
    if text.upper() not in _DATE_UNITS:
        raise ValueError(f"'{text[:50]}' is no unit of dates; units are {', '.join(_DATE_UNITS)}")
    return text.upper()


@lru_cache(maxsize=1024)
def zone(name: str) -> zoneinfo.ZoneInfo:
    """Return a time zone by its name in the time zone database, such as `Europe/Berlin`.

    Raises:
        ValueError: there is none.
    """
    known = zoneinfo.available_timezones()
    if name not in known:
        near = near_name(name, known) or "write a name such as 'Europe/Berlin' or 'UTC'"
        raise ValueError(f"there is no time zone '{name[:50]}': {near}")
    return zoneinfo.ZoneInfo(name)


def _aware(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)


def from_utc_timestamp(moment: datetime, name: str) -> datetime | None:
    """Return an instant that is as far from `moment` as the clocks of a zone are from UTC."""
    found = convert_timezone(name, moment)
    return None if found is None else _aware(found)


def to_utc_timestamp(moment: datetime, name: str) -> datetime | None:
    """Return the instant at which clocks of a zone show what those of UTC show at `moment`."""
    try:
        return moment.replace(tzinfo=zone(name)).astimezone(UTC)
    except OverflowError:
        return None


def convert_timezone(name: str, moment: datetime) -> datetime | None:
    """Return what clocks of a zone show at a time of UTC; `None` outside the years 1 to 9999."""
    try:
        return _aware(moment).astimezone(zone(name)).replace(tzinfo=None, fold=0)
    except OverflowError:
        return None


def date_trunc(unit_name: Value, value: Value) -> Value:
    """Return the beginning of the year, …, microsecond; weeks begin on Monday.

    An instant remains one, a date becomes a clock reading.
    """
    moment = parse_timestamp(value) if group_of(value) is Group.TEXT else value
    if moment is None:
        return None
    if group_of(moment) is not Group.MOMENT:
        raise Mismatch
    naive = naive_utc(moment)
    name = unit(unit_name)
    try:
        if name in _DATE_UNITS:
            cut = naive_utc(_DATE_UNITS[name](naive))
        else:
            microseconds = (naive - _EPOCH) // _MICROSECOND
            step = UNIT_MICROSECONDS[name]
            cut = _EPOCH + microseconds // step * step * _MICROSECOND
    except OverflowError:  # a week that begins before the year 1
        return None
    is_instant = isinstance(moment, datetime) and moment.tzinfo is not None
    return _aware(cut) if is_instant else cut


def trunc(moment: datetime, unit_name: str) -> date | None:
    """Return the first day of the year, quarter, month or week."""
    try:
        return _DATE_UNITS[date_unit(unit_name)](moment)
    except OverflowError:
        return None


def last_day(moment: datetime) -> date:
    """Return the last day of the month."""
    return date(moment.year, moment.month, calendar.monthrange(moment.year, moment.month)[1])


def date_add(moment: datetime, days: int) -> date | None:
    """Return the date so many days later; `None` outside the years 1 to 9999."""
    try:
        return moment.date() + timedelta(days=days)
    except OverflowError:
        return None


def date_sub(moment: datetime, days: int) -> date | None:
    """Return the date so many days earlier."""
    return date_add(moment, -days)


def date_diff(end: datetime, start: datetime) -> int:
    """Return the days from the date of one to that of the other."""
    return (end.date() - start.date()).days


def add_months(moment: datetime, months: int) -> date | None:
    """Return the date so many months later; the last day of a shorter month."""
    count = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(count, 12)
    if not 1 <= year <= 9999:  # noqa: PLR2004 - the years there are
        return None
    return date(year, month + 1, min(moment.day, calendar.monthrange(year, month + 1)[1]))


def make_date(year: int, month: int, day: int) -> date | None:
    """Return the date of a year, month and day; `None` if there is none."""
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None


def since_epoch(microseconds: int) -> Callable[[datetime], int]:
    """Return how many whole units, of so many microseconds, it is since 1970 in UTC."""
    return lambda moment: (moment - _EPOCH) // _MICROSECOND // microseconds


def from_epoch(microseconds: int) -> Callable[[int], datetime | None]:
    """Return the instant so many units after 1970; `None` outside the years 1 to 9999."""

    def instant(count: int) -> datetime | None:
        try:
            return _aware(_EPOCH + timedelta(microseconds=count * microseconds))
        except OverflowError:
            return None

    return instant


# DATE_FORMAT

_NAMES_OF_MONTHS: Final = (
    "January February March April May June July August September October November December"
)
_NAMES_OF_DAYS: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_MONTHS: Final = _NAMES_OF_MONTHS.split()
_DAYS: Final = _NAMES_OF_DAYS.split()


def day_name(moment: datetime) -> str:
    """Return the day of the week in English, three letters."""
    return _DAYS[moment.weekday()][:3]


def month_name(moment: datetime) -> str:
    """Return the month in English, three letters."""
    return _MONTHS[moment.month - 1][:3]


_FIELDS: Final[Mapping[str, Callable[[datetime], str]]] = {
    "y": lambda moment: str(moment.year),
    "yy": lambda moment: f"{moment.year % 100:02}",
    "yyyy": lambda moment: f"{moment.year:04}",
    "M": lambda moment: str(moment.month),
    "MM": lambda moment: f"{moment.month:02}",
    "MMM": month_name,
    "MMMM": lambda moment: _MONTHS[moment.month - 1],
    "d": lambda moment: str(moment.day),
    "dd": lambda moment: f"{moment.day:02}",
    "D": lambda moment: str(PARTS["DAYOFYEAR"](moment)),
    "E": day_name,
    "EEE": day_name,
    "EEEE": lambda moment: _DAYS[moment.weekday()],
    "a": lambda moment: "AM" if moment.hour < 12 else "PM",  # noqa: PLR2004 - noon
    "H": lambda moment: str(moment.hour),
    "HH": lambda moment: f"{moment.hour:02}",
    "h": lambda moment: str((moment.hour + 11) % 12 + 1),
    "hh": lambda moment: f"{(moment.hour + 11) % 12 + 1:02}",
    "m": lambda moment: str(moment.minute),
    "mm": lambda moment: f"{moment.minute:02}",
    "s": lambda moment: str(moment.second),
    "ss": lambda moment: f"{moment.second:02}",
    "SSS": lambda moment: f"{moment.microsecond // 1000:03}",
    "SSSSSS": lambda moment: f"{moment.microsecond:06}",
}


@lru_cache(maxsize=256)
def date_pattern(text: str) -> tuple[Callable[[datetime], str], ...]:
    """Return what writes the parts of a pattern of `java.time`, such as `yyyy-MM-dd HH:mm`.

    Text stands in single quotes, `''` is one quote.

    Raises:
        ValueError: a letter means something that is not supported.
    """
    parts: list[Callable[[datetime], str]] = []
    place = 0
    while place < len(text):
        character = text[place]
        end = place + 1
        if character == "'":
            closing = text.find("'", end)
            if closing < 0:
                raise ValueError(f"a quote is never closed in the pattern {text[:50]}")
            literal, end = text[end:closing] or "'", closing + 1
        elif character.isascii() and character.isalpha():
            while text[end : end + 1] == character:
                end += 1
            field = _FIELDS.get(text[place:end])
            if field is None:
                supported = " ".join(_FIELDS)
                raise ValueError(f"{text[place:end]} is not supported in a pattern: {supported}")
            parts.append(field)
            place = end
            continue
        else:
            literal = character
        parts.append(lambda _moment, literal=literal: literal)  # type: ignore[misc]
        place = end
    return tuple(parts)


def date_format(moment: datetime, pattern: str) -> str:
    """Return a time as text by a pattern of `java.time`, with English names."""
    return "".join(part(moment) for part in date_pattern(pattern))
