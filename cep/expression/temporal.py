"""Points in time and intervals as values: reading them from text, and naive against aware.

An aware `datetime` is an instant (TIMESTAMP), a naive one a wall clock reading (TIMESTAMP_NTZ), a
`date` midnight of that day. Where two of these meet, the naive one counts as UTC, as in a Spark
session whose time zone is UTC. Calendar parts of an instant are those of UTC. Resolution: one
microsecond.

Source: Spark SQL reference, "Data Types" and "Literals"; ISO 8601.
"""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache

MAX_INTERVAL = timedelta(microseconds=2**63 - 1)

_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,9}))?)?\s*"
    r"(Z|UTC|[+-]\d\d(?::?\d\d)?)?",
    re.ASCII,
)
_INTERVAL_PART = re.compile(
    r"([+-]?(?:\d+(?:\.\d*)?|\.\d+))\s*([a-z]+)\s*", re.ASCII | re.IGNORECASE
)
UNIT_MICROSECONDS = {
    "WEEK": 604_800_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
INTERVAL_UNITS = tuple(UNIT_MICROSECONDS)
_LONGEST_TIMESTAMP = 100  # characters; the cache holds no long texts


def parse_timestamp(text: str) -> datetime | None:
    """Return the ISO 8601 timestamp or date, aware in UTC if it names an offset; else `None`.

    Digits beyond the microsecond are dropped.
    """
    if len(text) > _LONGEST_TIMESTAMP:
        text = text.strip()
        if len(text) > _LONGEST_TIMESTAMP:
            return None
    return _parsed_timestamp(text)


@lru_cache(maxsize=4096)
def _parsed_timestamp(text: str) -> datetime | None:
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        return None
    day, clock, fraction, offset = match.groups()
    if offset is not None:
        offset = {"Z": "+00:00", "UTC": "+00:00"}.get(offset, offset)
    iso = f"{day}T{clock or '00:00'}"
    if fraction:
        iso = f"{iso if iso.count(':') > 1 else iso + ':00'}.{fraction[:6]:0<6}"
    try:
        found = datetime.fromisoformat(iso + (offset or ""))
        return found.astimezone(UTC) if offset else found
    except (ValueError, OverflowError):
        return None


def parse_date(text: str) -> date | None:
    """Return the date of an ISO 8601 date or timestamp, in UTC if it has an offset; else `None`."""
    found = parse_timestamp(text)
    return None if found is None else found.date()


def parse_interval(text: str) -> timedelta | None:
    """Return the interval written as `10 minutes` or `1 day 2.5 hours`; else `None`.

    Months and years are no fixed length of time, so they are not intervals here.
    """
    microseconds = Decimal(0)
    position = 0
    text = text.strip()
    try:
        while match := _INTERVAL_PART.match(text, position):
            unit = UNIT_MICROSECONDS[match[2].upper().removesuffix("S")]
            microseconds += Decimal(match[1]) * unit
            position = match.end()
        interval = timedelta(microseconds=int(microseconds))
    except (KeyError, InvalidOperation, OverflowError):
        return None
    complete = 0 < position == len(text)
    return interval if complete and abs(interval) <= MAX_INTERVAL else None


def naive_utc(value: datetime | date) -> datetime:
    """Return the point in time as a naive UTC `datetime`, in which any two can be compared.

    Comparing aware values directly would ignore the offset where both share one time zone object.
    """
    if isinstance(value, datetime):
        zone = value.tzinfo
        if zone is None:
            return value
        if zone is UTC:
            return value.replace(tzinfo=None)
        try:
            return value.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:  # an offset that leads out of the years 1 to 9999
            return datetime.max if value.year > 1 else datetime.min  # noqa: DTZ901 - naive on purpose
    return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - naive on purpose


def shifted(moment: datetime | date, interval: timedelta) -> datetime | None:
    """Return the moment plus the interval, aware if the moment is; `None` outside 1 to 9999."""
    is_aware = isinstance(moment, datetime) and moment.tzinfo is not None
    try:
        result = naive_utc(moment) + interval
    except OverflowError:
        return None
    return result.replace(tzinfo=UTC) if is_aware else result
