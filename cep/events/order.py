"""Which of several events of one millisecond comes first.

    EventTime, Schema ──order──► columns to sort by, after the time in milliseconds
                      ──order_reader──► event → what Python sorts by, in the order of a job

Time has a resolution of one millisecond, as in Flink. If the event time column is finer than that,
it orders events of the same millisecond before `order_by` does. NULL comes before every value, NaN
behind every number.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cep.expression import Kind, Schema

_FINER: frozenset[Kind] = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})


@dataclass(frozen=True, slots=True)
class EventTime:
    """What orders the events of a stream: the column of their time, and columns for equal times."""

    column: str
    order_by: tuple[str, ...] = ()

    @classmethod
    def of_json(cls, written: Mapping[str, Any]) -> "EventTime":
        """Return what JSON has made of one."""
        return cls(written["column"], tuple(written["order_by"]))

    def order(self, schema: Schema | None) -> tuple[str, ...]:
        """Return the columns that order events of the same millisecond, the first counting most."""
        types = {} if schema is None else dict(schema.columns)
        is_finer = self.column in types and types[self.column].kind in _FINER
        return (
            (self.column, *self.order_by)
            if is_finer and self.column not in self.order_by
            else self.order_by
        )

    def order_reader(self, schema: Schema | None) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
        """Return what gives the place of a typed event among those of the same millisecond."""
        columns = self.order(schema)
        return lambda event: tuple(place_of(event.get(name)) for name in columns)


def place_of(value: Any) -> tuple[int, Any]:
    """Return what to sort a value by: NULL first, NaN last."""
    if value is None:
        return 0, 0
    is_nan = type(value) is float and value != value  # noqa: PLR0124 - only NaN differs from itself
    return (2, 0) if is_nan else (1, value)
