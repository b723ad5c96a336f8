"""How the values of a column are read, by its type: what is sure at once, and what is looked at.

    type of a column ──column_reader──► what JSON surely has of it · values ──► array, misfits

A value means here what it means in an archive and in an example: `cep.events.values` says it. What
a decoder can be told about a type, it checks itself; only other values are looked at one by one.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Annotated, Any, Final

import polars as pl
import pyarrow as pa
from msgspec import Meta

from cep.events.values import Reader, text_reader, value_reader
from cep.expression import DataType, Kind
from cep.expression.types import DATE, STRING, TIMESTAMP
from processor_runtime.sources.time_patterns import ISO, TimePattern, TimePatterns

Values = Sequence[Any]
Misfits = list[int]
"""Places of values that do not fit, rising; there is NULL in the array."""

MomentReader = Callable[[str], datetime]
"""Makes an instant of a text; raises ValueError."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_GREATEST_MS: Final = (2**63 - 1) // 1_000
_ISO_MOMENT: Final = text_reader(TIMESTAMP)
PLAIN_INSTANT: Final = (
    r"^(?:19|20)\d\d-\d\d-\d\d([T ])(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?"
    r"(Z|[+-](?:0\d|1[0-3]):?[0-5]\d)?$"
)
"""How most instants are written, which are then read all at once."""
_FRACTIONS: Final = {0: "", 4: ".%3f", 7: ".%6f"}
"""As Polars has them, by their length: with a known number of places it takes a third of the time,
or less."""
_ANY_FRACTION: Final = "%.f"


class UnknownType(ValueError):
    """Values of a type are not read from text."""


@dataclass(frozen=True, slots=True)
class ColumnReader:
    """How one column is read.

    Args:
        sure: what a decoder of JSON is told, as a type of Python: its values need no look.
        look: makes such a value of one that is not of `sure`; raises ValueError.
        array: makes the array of values that are `sure`, or NULL.
    """

    sure: Any
    look: Reader
    array: Callable[[Values], tuple[pa.Array, Misfits]]


def column_reader(data_type: pa.DataType, times: TimePatterns = ISO) -> ColumnReader:
    """Return how a column of a type is read.

    Raises:
        UnknownType: its values cannot be read.
        ValueError: a pattern of times cannot be used.
    """
    if pa.types.is_integer(data_type):
        limit = 2 ** (data_type.bit_width - 1)
        return _sure(data_type, Annotated[int, Meta(ge=-limit, le=limit - 1)])
    if pa.types.is_floating(data_type):
        return _sure(data_type, float)
    if pa.types.is_boolean(data_type):
        return _sure(data_type, bool)
    if pa.types.is_string(data_type):
        # Identifiers are often numbers where they are written.
        return ColumnReader(str | int | None, value_reader(STRING), _texts)
    if pa.types.is_timestamp(data_type):
        moment = moment_reader(data_type, times)
        return ColumnReader(str | int | None, _time, partial(_instants, data_type, moment))
    read = with_parts(data_type, partial(_reader, times=times))
    return ColumnReader(Any, lambda value: value, partial(_read, data_type, read))


def _sure(data_type: pa.DataType, sure: Any) -> ColumnReader:
    return ColumnReader(
        sure | None, value_reader(plain_type(data_type)), partial(_as_given, data_type)
    )


def _as_given(data_type: pa.DataType, values: Values) -> tuple[pa.Array, Misfits]:
    return pa.array(values, data_type), []


def _texts(values: Values) -> tuple[pa.Array, Misfits]:
    try:
        return pa.array(values, pa.string()), []
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if each is None else str(each) for each in values], pa.string()), []


def _time(value: Any) -> Any:
    if type(value) in {str, int}:
        return value
    raise _misfit(value)


def _instants(
    data_type: pa.DataType, moment: MomentReader, values: Values
) -> tuple[pa.Array, Misfits]:
    """Return instants, of milliseconds since 1970 and of texts."""
    micros = _plain_instants(values, is_iso=moment is iso_moment)
    misfits: Misfits = []
    if micros is None:
        found, misfits = read_each(values, partial(micros_of, moment))
        micros = pa.array(found, pa.int64())
    return micros.cast(data_type), misfits


def _plain_instants(values: Values, *, is_iso: bool) -> pa.Array | None:
    """Return instants of one kind in microseconds; `None` if they are to be read one by one."""
    first = next((each for each in values if each is not None), None)
    try:
        if isinstance(first, int):
            numbers = pl.Series(values, dtype=pl.Int64)
            if numbers.is_between(-_GREATEST_MS, _GREATEST_MS).all():
                return (numbers * 1_000).to_arrow()
        elif isinstance(first, str) and is_iso:
            texts = pl.Series(values, dtype=pl.String)
            if texts.str.contains(PLAIN_INSTANT).all():
                found = moments(texts)
                return found.to_arrow() if found.null_count() == texts.null_count() else None
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        pass
    return None


def iso_moment(text: str) -> datetime:
    """Return an instant of ISO 8601, or of milliseconds since 1970.

    Raises:
        ValueError: it is none.
    """
    moment: datetime = _ISO_MOMENT(text)
    return moment


def moment_reader(data_type: pa.DataType, times: TimePatterns) -> MomentReader:
    """Return what reads texts of a type of instants, as they are written."""
    pattern = times.timestamp if data_type.tz else times.timestamp_ntz
    return iso_moment if pattern is None else TimePattern(pattern).moment


def date_reader(times: TimePatterns) -> Callable[[str], date] | None:
    """Return what reads dates by their pattern; `None` if they are as in ISO 8601."""
    if times.date is None:
        return None
    moment = TimePattern(times.date).moment
    return lambda text: moment(text).date()


def moments(texts: pl.Series) -> pl.Series:
    """Return plain instants in microseconds; NULL for those that are written unlike the first."""
    first = next(iter(texts.drop_nulls().head(1)), "")
    like = re.match(PLAIN_INSTANT, first)
    if like is None:
        return texts.clear(len(texts)).cast(pl.Int64)
    between, fraction, zone = like.groups("")
    zone = zone if zone in {"", "Z"} else "%#z"
    found = texts.clear(len(texts))
    for places in (_FRACTIONS.get(len(fraction), _ANY_FRACTION), _ANY_FRACTION):
        pattern = f"%Y-%m-%d{between}%H:%M:%S{places}{zone}"
        found = texts.str.to_datetime(pattern, time_unit="us", strict=False)
        if found.null_count() == texts.null_count():  # else some have other places
            break
    return found.cast(pl.Int64)


def micros_of(moment: MomentReader, value: str | int) -> int:
    """Return an instant in microseconds, of a text or of milliseconds since 1970.

    Raises:
        ValueError: there is no such time.
    """
    if isinstance(value, str):
        # By a pattern, digits alone may be a day.
        if moment is iso_moment and _is_whole(value):
            return micros_of(moment, int(value))
        return (moment(value) - _EPOCH) // _MICROSECOND
    if abs(value) > _GREATEST_MS:
        raise ValueError(f"{value} is no time in milliseconds")
    return value * 1_000


def _is_whole(text: str) -> bool:
    digits = text.strip().removeprefix("-").removeprefix("+")
    return digits.isascii() and digits.isdigit() and len(digits) <= 18  # noqa: PLR2004 - as in values


def _read(data_type: pa.DataType, read: Reader, values: Values) -> tuple[pa.Array, Misfits]:
    found, misfits = read_each(values, read)
    return pa.array(found, data_type), misfits


def read_each(values: Iterable[Any], read: Reader) -> tuple[list[Any], Misfits]:
    """Return each value as it is read, NULL in place of a misfit."""
    found: list[Any] = []
    misfits: Misfits = []
    for place, value in enumerate(values):
        try:
            found.append(None if value is None else read(value))
        except ValueError:
            found.append(None)
            misfits.append(place)
    return found, misfits


def with_parts(data_type: pa.DataType, leaf: Callable[[pa.DataType], Reader]) -> Reader:
    """Return what reads one value, and everything in it by what `leaf` returns for its type."""

    def or_none(inner: pa.DataType) -> Reader:
        read = with_parts(inner, leaf)
        return lambda value: None if value is None else read(value)

    if pa.types.is_map(data_type):
        key = text_reader(plain_type(data_type.key_type))
        return partial(_map, key, or_none(data_type.item_type))
    if pa.types.is_list(data_type):
        return partial(_list, or_none(data_type.value_type))
    if pa.types.is_struct(data_type):
        return partial(_struct, {each.name: or_none(each.type) for each in data_type})
    return leaf(data_type)


def _reader(data_type: pa.DataType, times: TimePatterns) -> Reader:
    """Return what reads one value of JSON, whose numbers with a point are decimals."""
    if pa.types.is_binary(data_type):
        return bytes_of_text
    if pa.types.is_timestamp(data_type):
        return partial(_datetime, moment_reader(data_type, times), data_type.tz is not None)
    if pa.types.is_date(data_type) and (read_date := date_reader(times)) is not None:
        return lambda value: read_date(_text(value))
    return value_reader(plain_type(data_type))


def _datetime(moment: MomentReader, is_aware: bool, value: Any) -> datetime:  # noqa: FBT001 - of partial
    try:
        found = _EPOCH + micros_of(moment, _time(value)) * _MICROSECOND
    except OverflowError:
        raise ValueError(f"{value} is no time in milliseconds") from None
    return found if is_aware else found.replace(tzinfo=None)


def _map(key: Reader, item: Reader, value: Any) -> list[tuple[Any, Any]]:
    if not isinstance(value, dict):
        raise _misfit(value)
    return [(key(name), item(each)) for name, each in value.items()]


def _list(item: Reader, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _misfit(value)
    return [item(each) for each in value]


def _struct(fields: dict[str, Reader], value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _misfit(value)
    return {name: read(value.get(name)) for name, read in fields.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _misfit(value)
    return value


def bytes_of_text(value: Any) -> bytes:
    """Return what a text holds as Base64.

    Raises:
        ValueError: it is none.
    """
    try:
        return base64.b64decode(_text(value), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def _misfit(value: Any) -> ValueError:
    return ValueError(f"it is of the kind {type(value).__name__}")


_PLAIN: Final = {
    pa.bool_(): DataType(Kind.BOOLEAN),
    pa.int8(): DataType(Kind.TINYINT),
    pa.int16(): DataType(Kind.SMALLINT),
    pa.int32(): DataType(Kind.INT),
    pa.int64(): DataType(Kind.BIGINT),
    pa.float32(): DataType(Kind.FLOAT),
    pa.float64(): DataType(Kind.DOUBLE),
    pa.string(): STRING,
    pa.date32(): DATE,
}


def plain_type(data_type: pa.DataType) -> DataType:
    """Return a type without parts as conditions know it.

    Raises:
        UnknownType: they do not know it.
    """
    if pa.types.is_decimal(data_type):
        return DataType(Kind.DECIMAL, data_type.precision, data_type.scale)
    if data_type not in _PLAIN:
        raise UnknownType("its values are not read from text. Have them written as STRING")
    return _PLAIN[data_type]
