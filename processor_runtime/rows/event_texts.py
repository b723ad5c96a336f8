"""Many events as JSON objects, column by column: the same text as of one after the other.

    frame of events ──event_texts──► `{"user":"ana","amount":5}` per row

Columns of types that JSON writes in a way of its own, and texts with characters to escape, are
written value by value.
"""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from processor_runtime.rows.json_text import plain_json_text

_ESCAPED: Final = r'[\x00-\x1f"\\]'


def event_texts(events: pl.DataFrame) -> list[str]:
    """Return each row as JSON, as `plain_json_text` writes a mapping of its values.

    Raises:
        NoJson: there is something in it that JSON has no form for, or it is nested too deeply.
    """
    if not events.width or not len(events):
        return ["{}"] * len(events)
    parts: list[pl.Expr | pl.Series] = []
    for number, column in enumerate(events.iter_columns()):
        parts.append(pl.lit(f"{',' if number else '{'}{plain_json_text(column.name)}:"))
        parts.append(value_texts(column).alias(f"{number}"))
    parts.append(pl.lit("}"))
    return events.select(pl.concat_str(parts)).to_series().to_list()


def event_text(event: Sequence[Any], columns: Sequence[str]) -> str:
    """Return one event as JSON."""
    return plain_json_text(dict(zip(columns, event, strict=True)))


def value_texts(column: pl.Series) -> pl.Series:
    """Return the values of a column as JSON.

    Raises:
        NoJson: there is something in it that JSON has no form for, or it is nested too deeply.
    """
    if column.dtype.is_integer():
        return column.cast(pl.String).fill_null("null")
    if column.dtype == pl.Boolean:
        return column.cast(pl.String).fill_null("null")
    if column.dtype == pl.String and not column.str.contains(_ESCAPED).any():
        return ('"' + column + '"').fill_null("null")
    if column.dtype == pl.Float64 and column.is_finite().all():
        return column.cast(pl.String).fill_null("null")
    values = column.to_list()
    if column.dtype.is_float() or column.dtype.is_decimal() or column.dtype.is_temporal():
        # No text of these has a comma in it.
        return pl.Series(plain_json_text(values)[1:-1].split(","), dtype=pl.String)
    return pl.Series(map(plain_json_text, values), dtype=pl.String)
