"""A key as people and matches have it, read back as the values of its columns.

    ["eve", "2026-03-01"] ──key_as_written──► ("eve", date(2026, 3, 1)) ──key_hashing──► shard

The other way round is `json_text`.
"""

import base64
from collections.abc import Sequence
from typing import Any

import polars as pl
from pydantic import TypeAdapter, ValidationError


class NoKey(ValueError):
    """These values cannot be a key of the rule; says why."""


def key_as_written(values: Sequence[Any], types: Sequence[pl.DataType]) -> tuple[Any, ...]:
    """Return a key as the matcher has it.

    Args:
        values: as JSON has them; a number, a truth value or a time may also be a text.
        types: those of the columns of the key.

    Raises:
        NoKey: there are more or fewer than columns, or one is not of its type.
    """
    if len(values) != len(types):
        wanted = f"{len(types)} values" if len(types) != 1 else "one value"
        given = f"{len(values)} are given" if len(values) != 1 else "one is given"
        raise NoKey(f"the key of the rule has {wanted}, and {given}")
    return tuple(
        _value(value, of, place)
        for place, (value, of) in enumerate(zip(values, types, strict=True))
    )


def _value(value: Any, data_type: pl.DataType, place: int) -> Any:
    if value is None:
        return None
    read: Any
    try:
        if data_type == pl.Binary:
            read = base64.urlsafe_b64decode(value)
        else:
            read = TypeAdapter(data_type.to_python()).validate_python(value)
        # As a column has it: so many bits of a number, so many digits of a decimal.
        column = pl.Series([read], dtype=data_type, strict=True)
    except (ValidationError, ValueError, TypeError, pl.exceptions.PolarsError):
        shown = str(value)[:100]
        raise NoKey(f"value {place + 1} of the key, {shown!r}, is no {data_type}") from None
    if data_type.is_float():
        column = column.fill_nan(None).replace(0.0, 0.0)
    return column.to_list()[0]
