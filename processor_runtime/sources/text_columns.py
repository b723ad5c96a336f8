"""Columns of texts, as CSV has them: what is sure all at once, and the others one by one.

texts ──sure──► values · NULL where it is not ──`cep.events.values`──► series, misfits
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import polars as pl
import pyarrow as pa

from cep.events.values import Reader, text_reader
from processor_runtime.sources.column_values import (
    PLAIN_INSTANT,
    Misfits,
    UnknownType,
    Values,
    date_reader,
    iso_moment,
    micros_of,
    moment_reader,
    moments,
    plain_type,
    read_each,
)
from processor_runtime.sources.time_patterns import ISO, TimePatterns

TextReader = Callable[[Values], tuple[pl.Series, Misfits]]
"""Makes a column of texts."""

_WHOLE_MS: Final = r"^[+-]?[0-9]{1,15}$"
_PLAIN_DATE: Final = r"^(19|20)\d\d-\d\d-\d\d$"
_TRUTHS: Final = {"true": True, "false": False}


def text_column(column: pa.Field, times: TimePatterns = ISO) -> TextReader:
    """Return how a column is read from texts.

    Those of BINARY are its octets in UTF-8. Instants are in microseconds since 1970, as integers.

    Raises:
        UnknownType: its values cannot be read from text; names the column.
        ValueError: a pattern of times cannot be used.
    """
    data_type = column.type
    if pa.types.is_string(data_type):
        return lambda texts: (pl.Series(texts, dtype=pl.String), [])
    if pa.types.is_timestamp(data_type):
        moment = moment_reader(data_type, times)
        sure = _sure_instants if moment is iso_moment else _none_sure
        return partial(_texts_read, pa.int64(), partial(micros_of, moment), sure)
    try:
        read = _text_reader(data_type, times)
    except UnknownType as error:
        raise UnknownType(f"the column {column.name} is {data_type}: {error}") from None
    return partial(_texts_read, data_type, read, _sure_values(data_type, times))


def _text_reader(data_type: pa.DataType, times: TimePatterns) -> Reader:
    if pa.types.is_binary(data_type):
        return str.encode
    if pa.types.is_date(data_type) and (read_date := date_reader(times)) is not None:
        return read_date
    return text_reader(plain_type(data_type))


def _sure_values(data_type: pa.DataType, times: TimePatterns) -> Callable[[pl.Series], pl.Series]:
    """Return what makes values of those texts that are surely read right, and NULL of others."""
    polars_type = pl.Series(pl.from_arrow(pa.array([], data_type))).dtype
    if pa.types.is_integer(data_type) or pa.types.is_float64(data_type):
        return lambda texts: texts.cast(polars_type, strict=False)
    if pa.types.is_decimal(data_type):
        whole, scale = data_type.precision - data_type.scale, data_type.scale
        plain = rf"^-?[0-9]{{1,{max(whole, 1)}}}(\.[0-9]{{0,{scale}}})?$"
        return lambda texts: _those(plain, texts).cast(polars_type, strict=False)
    if pa.types.is_date(data_type) and times.date is None:
        return lambda texts: _those(_PLAIN_DATE, texts).str.to_date("%Y-%m-%d", strict=False)
    if pa.types.is_boolean(data_type):
        return lambda texts: texts.str.to_lowercase().replace_strict(
            _TRUTHS, default=None, return_dtype=pl.Boolean
        )
    return _none_sure


def _none_sure(texts: pl.Series) -> pl.Series:
    return texts.clear(len(texts))


def _sure_instants(texts: pl.Series) -> pl.Series:
    found = moments(_those(PLAIN_INSTANT, texts))
    if found.null_count() > texts.null_count():
        numbers = _those(_WHOLE_MS, texts).cast(pl.Int64)
        found = found.zip_with(found.is_not_null(), numbers * 1_000)
    return found


def _those(pattern: str, texts: pl.Series) -> pl.Series:
    """Return texts of a pattern, and NULL in place of others."""
    return texts.set(~texts.str.contains(pattern), None)


def _texts_read(
    data_type: pa.DataType, read: Reader, sure: Callable[[pl.Series], pl.Series], texts: Values
) -> tuple[pl.Series, Misfits]:
    written = pl.Series(texts, dtype=pl.String)
    found = sure(written)
    places = (found.is_null() & written.is_not_null()).arg_true()
    if not len(places):
        return found, []
    values, misfits = read_each(written.gather(places), read)
    looked_at = pl.Series(pl.from_arrow(pa.array(values, data_type)))
    if len(places) == len(written):
        return looked_at, misfits
    return found.scatter(places, looked_at), places.gather(misfits).to_list()
