"""The time of a row: what a value of its column of time says, in milliseconds."""

from datetime import date, datetime
from typing import Any, Final

from cep.instants import epoch_ms

NEVER_MS: Final = 2**62
"""The time of a row without one: NULLs come last, and no match reaches from a time to NULL."""


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
