"""What a function takes: for the type check, for the values, and for constants.

    Argument … ──takes──► the rule that types a call · ──reading──► the function of any values

Most functions of the table are described so; those whose result depends on the types of their
arguments have rules of their own in `typing_rules`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from itertools import chain, repeat

from cep.expression.functions.typing_rules import TypeMismatch, TypeRule, Types, cast_hint
from cep.expression.temporal import naive_utc, parse_timestamp
from cep.expression.types import DataType, Kind
from cep.expression.values import Group, Mismatch, Value, group_of, to_double

Check = Callable[[str], object]
"""Takes a constant text; raises `ValueError`, which says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument.

    Args:
        what: as a message has it, such as "a text".
        fits: whether values of a type can be given.
        read: returns the value as the function takes it, `None` for NULL; raises `Mismatch`.
        cast: the type that a hint casts to.
        check: of an argument that must be a constant text, else `None`.
    """

    what: str
    fits: Callable[[DataType], bool]
    read: Callable[[Value], Value]
    cast: str
    check: Check | None = None


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise Mismatch
    return value


def _whole(value: Value) -> int:
    is_whole = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if not is_whole or not math.isfinite(value) or value != int(value):
        raise Mismatch
    return int(value)


def _double(value: Value) -> float:
    if group_of(value) is not Group.NUMBER:
        raise Mismatch
    return to_double(value)


def _moment(value: Value) -> datetime | None:
    match group_of(value):
        case Group.TEXT:
            parsed = parse_timestamp(value)
            return None if parsed is None else naive_utc(parsed)
        case Group.MOMENT:
            return naive_utc(value)
        case _:
            raise Mismatch


TEXT = Argument("a text", lambda found: found.kind is Kind.STRING, _text, "STRING")
WHOLE = Argument("a whole number", lambda found: found.kind is Kind.BIGINT, _whole, "BIGINT")
NUMBER = Argument("a number", lambda found: found.is_numeric, _double, "DOUBLE")
"""Any number, read as a DOUBLE."""
MOMENT = Argument("a date or timestamp", lambda found: found.is_temporal, _moment, "TIMESTAMP")
"""A point in time, read as a `datetime` in UTC without zone."""


def constant(check: Check) -> Argument:
    """Return an argument that is a constant text, which `check` refuses with a `ValueError`."""
    return replace(TEXT, check=check)


def takes(result: DataType, *arguments: Argument) -> TypeRule:
    """Return the rule of a function with a fixed result; the last argument may be repeated."""

    def rule(types: Types) -> DataType:
        for place, data_type in enumerate(types):
            argument = arguments[min(place, len(arguments) - 1)]
            if not data_type.is_open and not argument.fits(data_type):
                hint = cast_hint(data_type, argument.cast)
                raise TypeMismatch(f"needs {argument.what}, not a {data_type}", hint)
        return result

    return rule


def reading(function: Callable[..., Value], *arguments: Argument) -> Callable[..., Value]:
    """Return the function of values that are read as its arguments; the last may be repeated."""
    readers = [argument.read for argument in arguments]

    def one(value: Value) -> Value:
        read = readers[0](value)
        return None if read is None else function(read)

    def scalar(*values: Value) -> Value:
        each = chain(readers, repeat(readers[-1]))
        read = [reader(value) for reader, value in zip(each, values, strict=False)]
        return None if None in read else function(*read)

    return one if len(arguments) == 1 else scalar
