"""Times and dates before the year 1 and after 9999: sources can hold them, Python cannot.

frame of events ──out_of_range──► which rows have one, by column ──readable_rows──► error rows

Microseconds that are read as milliseconds become such times. Rows that have one must leave the
stream before any of their values becomes a Python object.
"""

from collections.abc import Iterable, Iterator
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, timedelta
from functools import reduce
from typing import Any, Final

import polars as pl

from cep.expression.types import PolarsType
from cep.instants import iso_date, iso_text

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY: Final = (date(MINYEAR, 1, 1) - _EPOCH.date()).days
_LAST_DAY: Final = (date(MAXYEAR, 12, 31) - _EPOCH.date()).days
_PER_SECOND: Final = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_SECONDS_A_DAY: Final = 86_400


def out_of_range(events: pl.DataFrame) -> pl.DataFrame | None:
    """Return, for each column that has such a value somewhere, which rows; `None` if none has."""
    masks = [
        outside.alias(name)
        for name, data_type in events.schema.items()
        if _may_be_outside(events.get_column(name))
        if (outside := _outside(_as_numbers(name, data_type), data_type)) is not None
    ]
    if not masks:
        return None
    to_blame = [column for column in events.select(masks) if column.any()]
    return pl.DataFrame(to_blame) if to_blame else None


def readable_rows(events: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield events as mappings, with times and dates that are out of range as ISO 8601 texts."""
    outside = out_of_range(events)
    if outside is None:
        yield from events.to_dicts()
        return
    types = {name: events.schema[name] for name in outside.columns}
    numbers = events.with_columns(_as_numbers(name, each) for name, each in types.items())
    for event in numbers.to_dicts():
        yield event | {name: _value(event[name], each) for name, each in types.items()}


def _may_be_outside(column: pl.Series) -> bool:
    """Look at the smallest and the greatest value, which costs next to nothing."""
    bounds = _bounds(column.dtype)
    if bounds is None:
        return column.dtype.is_nested()
    numbers = column.to_physical()
    least, greatest = numbers.min(), numbers.max()
    if not isinstance(least, int) or not isinstance(greatest, int):  # all are NULL
        return False
    return least < bounds[0] or greatest > bounds[1]


def _bounds(data_type: PolarsType) -> tuple[int, int] | None:
    """Return the smallest and the greatest number that stands for a value Python has."""
    match data_type:
        case pl.Date():
            return _FIRST_DAY, _LAST_DAY
        case pl.Datetime(time_unit=unit, time_zone=zone):
            # In another time zone than UTC a time may be in the next year.
            margin = 0 if zone in {None, "UTC"} else 1
            a_day = _SECONDS_A_DAY * _PER_SECOND[unit]
            return (_FIRST_DAY + margin) * a_day, (_LAST_DAY + 1 - margin) * a_day - 1
        case _:
            return None


def _outside(numbers: pl.Expr, data_type: PolarsType) -> pl.Expr | None:
    """Return whether a value holds anything out of range; `None` where it never can.

    `numbers`: the value, of the type that `_number_type` makes of its own.
    """
    match data_type:
        case pl.Struct(fields=fields):
            return _any_of((numbers.struct.field(each.name), each.dtype) for each in fields)
        case pl.List(inner=inner):
            return _any_item(numbers, _outside(pl.element(), inner))
        case pl.Map(key=key, value=value):
            entry = pl.element().struct
            parts = [(entry.field("key"), key), (entry.field("value"), value)]
            return _any_item(numbers, _any_of(parts))
        case _:
            bounds = _bounds(data_type)
            if bounds is None:
                return None
            return (~numbers.is_between(*bounds)).fill_null(value=False)


def _any_of(parts: Iterable[tuple[pl.Expr, PolarsType]]) -> pl.Expr | None:
    found = [outside for part in parts if (outside := _outside(*part)) is not None]
    return reduce(lambda one, other: one | other, found) if found else None


def _any_item(items: pl.Expr, outside: pl.Expr | None) -> pl.Expr | None:
    return None if outside is None else items.list.eval(outside).list.any().fill_null(value=False)


def _as_numbers(name: str, data_type: PolarsType) -> pl.Expr:
    return pl.col(name).cast(_number_type(data_type))


def _number_type(data_type: PolarsType) -> PolarsType:
    """Return a type with numbers in place of times and dates, and lists in place of maps."""
    match data_type:
        case pl.Date():
            return pl.Int32()
        case pl.Datetime():
            return pl.Int64()
        case pl.Struct(fields=fields):
            return pl.Struct({each.name: _number_type(each.dtype) for each in fields})
        case pl.List(inner=inner):
            return pl.List(_number_type(inner))
        case pl.Map(key=key, value=value):
            entry = {"key": _number_type(key), "value": _number_type(value)}
            return pl.List(pl.Struct(entry))
        case _:
            return data_type


def _value(number: Any, data_type: PolarsType) -> Any:
    """Return what a value of `_number_type` stands for."""
    match data_type:
        case _ if number is None:
            return None
        case pl.Date() | pl.Datetime():
            return _moment(number, data_type)
        case pl.Struct(fields=fields):
            return {each.name: _value(number[each.name], each.dtype) for each in fields}
        case pl.List(inner=inner):
            return [_value(item, inner) for item in number]
        case pl.Map(key=key, value=value):
            return {_value(each["key"], key): _value(each["value"], value) for each in number}
        case _:
            return number


def _moment(number: int, data_type: pl.Date | pl.Datetime) -> date | datetime | str:
    first, last = _bounds(data_type) or (0, 0)
    is_inside = first <= number <= last
    if not isinstance(data_type, pl.Datetime):
        return _EPOCH.date() + timedelta(days=number) if is_inside else iso_date(number)
    per_second = _PER_SECOND[data_type.time_unit]
    if is_inside:
        moment = _EPOCH + timedelta(microseconds=number * 1_000_000 // per_second)
        return moment if data_type.time_zone else moment.replace(tzinfo=None)
    text = iso_text(number * 1_000 // per_second)
    return text if data_type.time_zone else text.removesuffix("Z")
