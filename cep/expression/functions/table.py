"""The functions and arithmetic operators of the language: one table, one place to add one.

Per function: how many arguments, the rule that types it, the scalar meaning, and its columnar form
where polars has one that agrees for every value. If there is none (`columnar` is absent or returns
`None`), the columnar evaluator applies the scalar meaning value by value. All functions but those
with `takes_null` are NULL if an argument is, so neither form has to handle NULL.
"""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import polars as pl

from cep.expression.functions import (
    addresses,
    arithmetic,
    array,
    calendar,
    columnar,
    json_path,
    mathematics,
    text,
)
from cep.expression.functions.operands import Column
from cep.expression.functions.signatures import (
    MOMENT,
    NUMBER,
    TEXT,
    WHOLE,
    Argument,
    Check,
    constant,
    reading,
    takes,
)
from cep.expression.functions.typing_rules import (
    TypeRule,
    alike,
    array_and_item,
    array_of,
    arrays,
    arrays_of_one_type,
    difference,
    element,
    hexadecimal,
    iso_quotient,
    joined_array,
    joined_texts,
    number,
    numeric,
    of_array,
    ordered_element,
    product,
    quotient,
    rounded,
    same_array,
    signed,
    texts_and_arrays,
    total,
    truncated,
    whole_numbers,
)
from cep.expression.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    Kind,
)
from cep.expression.values import Value

ColumnarForm = Callable[[tuple[Column, ...]], pl.Expr | None]


@dataclass(frozen=True, slots=True)
class Function:
    """One function.

    `result` gives the type of the result or raises `TypeMismatch`. `scalar` takes the arguments,
    none of them NULL unless it `takes_null`; `columnar` takes the same as columns. `checks` are by
    the place of arguments that must be constant texts.
    """

    minimum: int
    maximum: int
    result: TypeRule
    scalar: Callable[..., Value]
    columnar: ColumnarForm | None = None
    takes_null: bool = False
    checks: Mapping[int, Check] = field(default_factory=dict)


MANY = 1_000


def _function(
    result: DataType,
    scalar: Callable[..., Value],
    *arguments: Argument,
    optional: int = 0,
    columnar: ColumnarForm | None = None,
) -> Function:
    """Return a function of these arguments, of which the last ones may be missing.

    If `optional` is `MANY`, the last argument may be there any number of times.
    """
    minimum, maximum = len(arguments) - optional, len(arguments)
    if optional == MANY:
        minimum, maximum = len(arguments), MANY
    each = (arguments[min(place, len(arguments) - 1)] for place in range(maximum))
    checks = {place: one.check for place, one in enumerate(each) if one.check is not None}
    return Function(
        minimum,
        maximum,
        takes(result, *arguments),
        reading(scalar, *arguments),
        columnar,
        checks=checks,
    )


DATE_PARTS = tuple(calendar.PARTS)
_BLOCK = constant(addresses.block)
_ZONE = constant(calendar.zone)
_JSON_PATH = constant(json_path.path)

_REAL = {
    "SQRT": mathematics.real(math.sqrt),
    "CBRT": mathematics.real(math.cbrt),
    "EXP": mathematics.real(math.exp),
    "LN": mathematics.logarithm(math.log),
    "LOG2": mathematics.logarithm(math.log2),
    "LOG10": mathematics.logarithm(math.log10),
    "SIGN": mathematics.sign,
    "SIN": mathematics.real(math.sin),
    "COS": mathematics.real(math.cos),
    "TAN": mathematics.real(math.tan),
    "ASIN": mathematics.real(math.asin),
    "ACOS": mathematics.real(math.acos),
    "ATAN": mathematics.real(math.atan),
    "SINH": mathematics.sinh,
    "COSH": mathematics.real(math.cosh),
    "TANH": mathematics.real(math.tanh),
    "DEGREES": math.degrees,
    "RADIANS": math.radians,
}

FUNCTIONS: dict[str, Function] = {
    # Operators
    "+": Function(2, 2, total, arithmetic.add, columnar.add),
    "-": Function(2, 2, difference, arithmetic.subtract, columnar.subtract),
    "*": Function(2, 2, product, arithmetic.multiply, columnar.multiply),
    "/": Function(2, 2, quotient, arithmetic.divide, columnar.divide),
    "%": Function(2, 2, numeric, arithmetic.modulo, columnar.modulo),
    "DIV": Function(2, 2, whole_numbers, mathematics.whole_quotient),
    "&": Function(2, 2, whole_numbers, mathematics.bit_and, columnar.bits(operator.and_)),
    "|": Function(2, 2, whole_numbers, mathematics.bit_or, columnar.bits(operator.or_)),
    "ISO_DIVIDE": Function(2, 2, iso_quotient, arithmetic.iso_divide),
    "ISO_MODULO": Function(2, 2, numeric, arithmetic.iso_modulo),
    "ARRAY_EQUALS": Function(2, 2, arrays, arithmetic.array_equals),
    "NEGATE": Function(1, 1, signed, arithmetic.negate, columnar.negate),
    # Numbers
    "ABS": Function(1, 1, number, arithmetic.absolute, columnar.absolute),
    "ROUND": Function(1, 2, rounded, arithmetic.round_half_up, columnar.round_half_up),
    "FLOOR": Function(1, 1, rounded, arithmetic.floor, columnar.whole(pl.Expr.floor)),
    "CEIL": Function(1, 1, rounded, arithmetic.ceil, columnar.whole(pl.Expr.ceil)),
    "PMOD": Function(2, 2, numeric, mathematics.positive_modulo),
    "GREATEST": Function(2, MANY, alike, array.greatest_of, columnar.greatest, takes_null=True),
    "LEAST": Function(2, MANY, alike, array.least_of, columnar.least, takes_null=True),
    **{name: _function(DOUBLE, scalar, NUMBER) for name, scalar in _REAL.items()},
    "LOG": _function(DOUBLE, mathematics.log, NUMBER, NUMBER, optional=1),
    "POWER": _function(DOUBLE, mathematics.power, NUMBER, NUMBER),
    "ATAN2": _function(DOUBLE, math.atan2, NUMBER, NUMBER),
    "HYPOT": _function(DOUBLE, mathematics.real(math.hypot), NUMBER, NUMBER),
    "BIT_COUNT": _function(BIGINT, mathematics.bit_count, WHOLE),
    "SHIFTLEFT": _function(BIGINT, mathematics.shift_left, WHOLE, WHOLE),
    "SHIFTRIGHT": _function(BIGINT, mathematics.shift_right, WHOLE, WHOLE),
    "GEO_DISTANCE": _function(
        DOUBLE,
        mathematics.geo_distance,
        NUMBER,
        NUMBER,
        NUMBER,
        NUMBER,
        columnar=columnar.geo_distance,
    ),
    # Texts
    "LOWER": _function(STRING, str.lower, TEXT, columnar=columnar.lower),
    "UPPER": _function(STRING, str.upper, TEXT, columnar=columnar.upper),
    "TRIM": _function(STRING, text.trim, TEXT, columnar=columnar.trim),
    "LTRIM": _function(STRING, text.trim_left, TEXT, columnar=columnar.trim_left),
    "RTRIM": _function(STRING, text.trim_right, TEXT, columnar=columnar.trim_right),
    "BTRIM": _function(STRING, text.trim, TEXT, TEXT, optional=1),
    "LENGTH": _function(BIGINT, len, TEXT, columnar=columnar.length),
    "OCTET_LENGTH": _function(BIGINT, text.octet_length, TEXT, columnar=columnar.octet_length),
    "CONCAT": Function(1, MANY, joined_texts, reading(text.concat, TEXT, TEXT), columnar.concat),
    "CONCAT_WS": Function(2, MANY, texts_and_arrays, text.concat_ws, takes_null=True),
    "SUBSTRING": _function(
        STRING, text.substring, TEXT, WHOLE, WHOLE, optional=1, columnar=columnar.substring
    ),
    "LEFT": _function(STRING, text.left, TEXT, WHOLE),
    "RIGHT": _function(STRING, text.right, TEXT, WHOLE),
    "STARTSWITH": _function(BOOLEAN, str.startswith, TEXT, TEXT, columnar=columnar.starts_with),
    "ENDSWITH": _function(BOOLEAN, str.endswith, TEXT, TEXT, columnar=columnar.ends_with),
    "CONTAINS": _function(BOOLEAN, operator.contains, TEXT, TEXT, columnar=columnar.contains),
    "INSTR": _function(BIGINT, text.instr, TEXT, TEXT),
    "LOCATE": _function(BIGINT, text.locate, TEXT, TEXT, WHOLE, optional=1),
    "REPLACE": _function(STRING, text.replace, TEXT, TEXT, TEXT, optional=1),
    "TRANSLATE": _function(STRING, text.translate, TEXT, TEXT, TEXT),
    "REVERSE": _function(STRING, text.reverse, TEXT),
    "REPEAT": _function(STRING, text.repeat, TEXT, WHOLE),
    "LPAD": _function(STRING, text.pad_left, TEXT, WHOLE, TEXT, optional=1),
    "RPAD": _function(STRING, text.pad_right, TEXT, WHOLE, TEXT, optional=1),
    "SPLIT": _function(
        DataType(Kind.ARRAY, element=STRING),
        text.split,
        TEXT,
        constant(text.delimiter),
        WHOLE,
        optional=1,
    ),
    "SPLIT_PART": _function(STRING, text.split_part, TEXT, TEXT, WHOLE),
    "SUBSTRING_INDEX": _function(STRING, text.substring_index, TEXT, TEXT, WHOLE),
    "REGEXP_EXTRACT": _function(
        STRING, text.regexp_extract, TEXT, constant(text.capturing), WHOLE, optional=1
    ),
    "REGEXP_COUNT": _function(BIGINT, text.regexp_count, TEXT, constant(text.delimiter)),
    "REGEXP_REPLACE": _function(
        STRING, text.regexp_replace, TEXT, constant(text.delimiter), constant(text.replacement)
    ),
    "LEVENSHTEIN": _function(BIGINT, text.levenshtein, TEXT, TEXT),
    "ASCII": _function(BIGINT, text.ascii_code, TEXT),
    "CHR": _function(STRING, text.character, WHOLE),
    "HEX": Function(1, 1, hexadecimal, text.to_hex),
    "CONV": _function(STRING, text.conv, TEXT, WHOLE, WHOLE),
    "BASE64": _function(STRING, text.to_base64, TEXT),
    "UNBASE64": _function(STRING, text.from_base64, TEXT),
    "URL_ENCODE": _function(STRING, text.url_encode, TEXT),
    "URL_DECODE": _function(STRING, text.url_decode, TEXT),
    "MD5": _function(STRING, text.md5, TEXT),
    "SHA1": _function(STRING, text.sha1, TEXT),
    "SHA2": _function(STRING, text.sha2, TEXT, WHOLE),
    "CRC32": _function(BIGINT, text.crc32, TEXT),
    "CIDR_MATCH": _function(BOOLEAN, addresses.in_blocks, TEXT, _BLOCK, optional=MANY),
    "GET_JSON_OBJECT": _function(STRING, json_path.get_json_object, TEXT, _JSON_PATH),
    "JSON_ARRAY_LENGTH": _function(BIGINT, json_path.json_array_length, TEXT),
    "JSON_OBJECT_KEYS": _function(
        DataType(Kind.ARRAY, element=STRING), json_path.json_object_keys, TEXT
    ),
    # Arrays
    "ARRAY": Function(1, MANY, array_of, array.array, columnar.array, takes_null=True),
    "SIZE": Function(1, 1, of_array(BIGINT), array.size, columnar.size),
    "GET": Function(2, 2, element, array.get, columnar.get),
    "ELEMENT_AT": Function(2, 2, element, array.element_at, columnar.element_at),
    "ARRAY_CONTAINS": Function(
        2, 2, array_and_item(BOOLEAN), array.contains, columnar.array_contains
    ),
    "ARRAY_POSITION": Function(2, 2, array_and_item(BIGINT), array.position),
    "ARRAYS_OVERLAP": Function(2, 2, arrays_of_one_type, array.overlap, columnar.arrays_overlap),
    "ARRAY_DISTINCT": Function(1, 1, same_array, array.distinct),
    "ARRAY_MIN": Function(1, 1, ordered_element, array.least),
    "ARRAY_MAX": Function(1, 1, ordered_element, array.greatest),
    "ARRAY_JOIN": Function(2, 3, joined_array, array.join),
    # Dates and times
    **{
        part: _function(BIGINT, take, MOMENT, columnar=columnar.date_part(part))
        for part, take in calendar.PARTS.items()
    },
    "DATE_TRUNC": Function(
        2, 2, truncated, calendar.date_trunc, columnar.date_trunc, checks={0: calendar.unit}
    ),
    "TRUNC": _function(DATE, calendar.trunc, MOMENT, constant(calendar.date_unit)),
    "LAST_DAY": _function(DATE, calendar.last_day, MOMENT),
    "DATE_ADD": _function(DATE, calendar.date_add, MOMENT, WHOLE),
    "DATE_SUB": _function(DATE, calendar.date_sub, MOMENT, WHOLE),
    "DATEDIFF": _function(BIGINT, calendar.date_diff, MOMENT, MOMENT),
    "ADD_MONTHS": _function(DATE, calendar.add_months, MOMENT, WHOLE),
    "MAKE_DATE": _function(DATE, calendar.make_date, WHOLE, WHOLE, WHOLE),
    "DAYNAME": _function(STRING, calendar.day_name, MOMENT),
    "MONTHNAME": _function(STRING, calendar.month_name, MOMENT),
    "DATE_FORMAT": _function(STRING, calendar.date_format, MOMENT, constant(calendar.date_pattern)),
    "CONVERT_TIMEZONE": _function(
        TIMESTAMP_NTZ,
        calendar.convert_timezone,
        _ZONE,
        MOMENT,
        columnar=columnar.convert_timezone,
    ),
    "FROM_UTC_TIMESTAMP": _function(TIMESTAMP, calendar.from_utc_timestamp, MOMENT, _ZONE),
    "TO_UTC_TIMESTAMP": _function(TIMESTAMP, calendar.to_utc_timestamp, MOMENT, _ZONE),
    "UNIX_SECONDS": _function(BIGINT, calendar.since_epoch(1_000_000), MOMENT),
    "UNIX_MILLIS": _function(BIGINT, calendar.since_epoch(1_000), MOMENT),
    "UNIX_MICROS": _function(BIGINT, calendar.since_epoch(1), MOMENT),
    "TIMESTAMP_SECONDS": _function(TIMESTAMP, calendar.from_epoch(1_000_000), WHOLE),
    "TIMESTAMP_MILLIS": _function(TIMESTAMP, calendar.from_epoch(1_000), WHOLE),
    "TIMESTAMP_MICROS": _function(TIMESTAMP, calendar.from_epoch(1), WHOLE),
}

OPERATORS = frozenset({"+", "-", "*", "/", "%", "DIV", "&", "|"})
"""What is written between its operands."""
UNWRITTEN = frozenset({"NEGATE", "ISO_DIVIDE", "ISO_MODULO", "ARRAY_EQUALS"})
"""What has a name here only: operators of one side, and what they mean in MATCH_RECOGNIZE."""

ALIASES = {
    "LCASE": "LOWER",
    "UCASE": "UPPER",
    "LEN": "LENGTH",
    "CHAR_LENGTH": "LENGTH",
    "CHARACTER_LENGTH": "LENGTH",
    "SUBSTR": "SUBSTRING",
    "CHAR": "CHR",
    "SHA": "SHA1",
    "POSITION": "LOCATE",
    "CEILING": "CEIL",
    "MOD": "%",
    "POW": "POWER",
    "SIGNUM": "SIGN",
    "CARDINALITY": "SIZE",
    "ARRAY_SIZE": "SIZE",
    "TRY_ELEMENT_AT": "ELEMENT_AT",
    "DAYOFMONTH": "DAY",
    "DOW": "DAYOFWEEK",
    "DOY": "DAYOFYEAR",
    "WEEK": "WEEKOFYEAR",
    "DATE_DIFF": "DATEDIFF",
    "DATEADD": "DATE_ADD",
}
