"""JSON → what Avro's writer takes, by a schema: each value in the type of its field.

    {"start_time": "2026-…Z", "output": {…}} ──fitted──► {"start_time": datetime, "output": "{…}"}

A schema names the fields that it wants; others are left out. Where it wants a text and there is an
object, a list or a number, it gets the JSON.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any, Final, NoReturn
from uuid import UUID

Schema = Any
"""A schema as fastavro has parsed it: a name, a list of branches, or a mapping."""

_BITS: Final = {"int": 31, "long": 63}
_KINDS: Final[Mapping[type, str]] = {
    type(None): "NULL",
    bool: "a boolean",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}


class Unfit(ValueError):
    """A value is not of the type its field has; says which field, and never the value."""

    def __init__(self, place: str, told: str) -> None:
        super().__init__(f"{place}: {told}" if place else told)


def fitted(
    value: Any, schema: Schema, place: str = "", known: dict[str, Schema] | None = None
) -> Any:
    """Return a value as the writer takes it.

    `value`: of JSON.

    Raises:
        Unfit: it is of another type.
    """
    known = {} if known is None else known
    if isinstance(schema, list):
        return _of_union(value, schema, place, known)
    if isinstance(schema, str):
        if schema in known:
            return fitted(value, known[schema], place, known)
        schema = {"type": schema}
    if not isinstance(schema["type"], str):
        return fitted(value, schema["type"], place, known)
    if "name" in schema:
        known[schema["name"]] = schema
    kind, logical = schema["type"], schema.get("logicalType", "")
    convert = _LOGICAL.get((kind, logical)) or _TYPES.get(kind)
    if convert is None:
        raise Unfit(place, f"the type {kind} of the schema is not known")
    if kind in _NESTED:
        return convert(value, schema, place, known)
    try:
        return convert(value)
    except (TypeError, ValueError, ArithmeticError, binascii.Error):
        _refuse(value, logical or kind, place)


def _of_union(value: Any, branches: list[Schema], place: str, known: dict[str, Schema]) -> Any:
    if value is None and "null" in branches:
        return None
    wanted = [each for each in branches if each != "null"]
    # Everything has a text; it is the last choice for what is none.
    wanted.sort(key=lambda each: each == "string", reverse=isinstance(value, str))
    reason: Unfit | None = None
    for branch in wanted:
        try:
            return fitted(value, branch, place, known)
        except Unfit as error:
            reason = reason or error
    raise reason or Unfit(place, "the schema wants NULL alone")


def _record(value: Any, schema: Schema, place: str, known: dict[str, Schema]) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(value, "record", place)
    found = {}
    for field in schema["fields"]:
        name = field["name"]
        if name not in value and "default" in field:
            continue
        inside = f"{place}.{name}" if place else name
        found[name] = fitted(value.get(name), field["type"], inside, known)
    return found


def _array(value: Any, schema: Schema, place: str, known: dict[str, Schema]) -> list[Any]:
    if not isinstance(value, list):
        _refuse(value, "array", place)
    return [fitted(each, schema["items"], f"{place}[{n}]", known) for n, each in enumerate(value)]


def _map(value: Any, schema: Schema, place: str, known: dict[str, Schema]) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(value, "map", place)
    return {
        name: fitted(each, schema["values"], f"{place}.{name}", known)
        for name, each in value.items()
    }


def _enum(value: Any, schema: Schema, place: str, _known: dict[str, Schema]) -> str:
    if value not in schema["symbols"]:
        raise Unfit(place, f"{_kind(value)} that is none of {', '.join(schema['symbols'])}")
    return str(value)


def _fixed(value: Any, schema: Schema, place: str, _known: dict[str, Schema]) -> Any:
    if schema.get("logicalType") == "decimal":
        return _scaled(value, schema, place)
    try:
        found = _bytes(value)
    except (TypeError, ValueError):
        found = b""
    if len(found) != schema["size"]:
        raise Unfit(place, f"not {schema['size']} bytes as Base64")
    return found


def _bytes_or_decimal(value: Any, schema: Schema, place: str, _known: dict[str, Schema]) -> Any:
    if schema.get("logicalType") == "decimal":
        return _scaled(value, schema, place)
    try:
        return _bytes(value)
    except (TypeError, ValueError):
        _refuse(value, "bytes", place)


def _scaled(value: Any, schema: Schema, place: str) -> Decimal:
    """Return a decimal that the schema has room for, without rounding."""
    scale, precision = schema.get("scale", 0), schema["precision"]
    try:
        found = Decimal(_text(value) if isinstance(value, str) else _number(value, int | float))
        digits = found.scaleb(scale)
        fits = digits == digits.to_integral_value() and abs(digits) < Decimal(10) ** precision
    except (InvalidOperation, TypeError, ValueError):
        _refuse(value, "decimal", place)
    if not fits:
        raise Unfit(place, f"the number has more digits than decimal({precision}, {scale})")
    return found


def _refuse(value: Any, wanted: str, place: str) -> NoReturn:
    if value is None:
        raise Unfit(place, f"the row has none, and the schema wants {wanted}")
    raise Unfit(place, f"{_kind(value)}, and the schema wants {wanted}")


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "a value")


def _whole(value: Any, bits: int) -> int:
    number = int(_number(value, int))
    if not -(1 << bits) <= number < 1 << bits:
        raise ValueError
    return number


def _number(value: Any, kinds: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise TypeError
    return value


def _float(value: Any) -> float:
    # Decimals, and what is no finite number, are texts in JSON.
    return float(value if isinstance(value, str) else _number(value, int | float))


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _null(value: Any) -> None:
    if value is not None:
        raise TypeError


def _string(value: Any) -> str:
    if value is None:
        raise TypeError
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _bytes(value: Any) -> bytes:
    return base64.b64decode(_text(value), validate=True)


def _instant(value: Any, ticks_per_ms: int) -> Any:
    """Return a time of ISO 8601, or of a whole number: milliseconds since 1970."""
    if not isinstance(value, str):
        return _whole(value, _BITS["long"]) * ticks_per_ms
    found = datetime.fromisoformat(value)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


_NESTED: Final = ("record", "array", "map", "enum", "fixed", "bytes")
_TYPES: Final[Mapping[str, Callable[..., Any]]] = {
    "null": _null,
    "boolean": _boolean,
    "int": partial(_whole, bits=_BITS["int"]),
    "long": partial(_whole, bits=_BITS["long"]),
    "float": _float,
    "double": _float,
    "string": _string,
    "record": _record,
    "array": _array,
    "map": _map,
    "enum": _enum,
    "fixed": _fixed,
    "bytes": _bytes_or_decimal,
}
_LOGICAL: Final[Mapping[tuple[str, str], Callable[..., Any]]] = {
    ("long", "timestamp-millis"): partial(_instant, ticks_per_ms=1),
    ("long", "timestamp-micros"): partial(_instant, ticks_per_ms=1_000),
    ("int", "date"): lambda value: date.fromisoformat(_text(value)),
    ("int", "time-millis"): lambda value: time.fromisoformat(_text(value)),
    ("long", "time-micros"): lambda value: time.fromisoformat(_text(value)),
    ("string", "uuid"): lambda value: str(UUID(_text(value))),
}
