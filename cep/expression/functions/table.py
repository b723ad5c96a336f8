"""The functions and arithmetic operators of the language: one table, one place to add one.

Per function: how many arguments, the rule that types it, the scalar meaning, and its columnar form
where polars has one that agrees for every value. If there is none (`columnar` is absent or returns
`None`), the columnar evaluator applies the scalar meaning value by value. All functions are NULL if
an argument is, so neither form has to handle NULL.
"""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from cep.expression.functions import arithmetic, columnar, text
from cep.expression.functions.operands import Column
from cep.expression.functions.typing_rules import (
    array_contains,
    arrays,
    date_part,
    difference,
    iso_quotient,
    joined_texts,
    number,
    numeric,
    product,
    quotient,
    rounded,
    signed,
    texts,
    total,
)
from cep.expression.types import BIGINT, BOOLEAN, STRING, DataType
from cep.expression.values import Value

TypeRule = Callable[[tuple[DataType, ...]], DataType]
ColumnarForm = Callable[[tuple[Column, ...]], pl.Expr | None]


@dataclass(frozen=True, slots=True)
class Function:
    """One function.

    `result` gives the type of the result or raises `TypeMismatch`. `scalar` takes the arguments,
    none of them NULL; `columnar` takes the same as columns.
    """

    minimum: int
    maximum: int
    result: TypeRule
    scalar: Callable[..., Value]
    columnar: ColumnarForm | None = None


DATE_PARTS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "DAYOFWEEK")
_MANY = 100

FUNCTIONS: dict[str, Function] = {
    "+": Function(2, 2, total, arithmetic.add, columnar.add),
    "-": Function(2, 2, difference, arithmetic.subtract, columnar.subtract),
    "*": Function(2, 2, product, arithmetic.multiply, columnar.multiply),
    "/": Function(2, 2, quotient, arithmetic.divide, columnar.divide),
    "%": Function(2, 2, numeric, arithmetic.modulo, columnar.modulo),
    "ISO_DIVIDE": Function(2, 2, iso_quotient, arithmetic.iso_divide),
    "ISO_MODULO": Function(2, 2, numeric, arithmetic.iso_modulo),
    "ARRAY_EQUALS": Function(2, 2, arrays, arithmetic.array_equals),
    "NEGATE": Function(1, 1, signed, arithmetic.negate, columnar.negate),
    "ABS": Function(1, 1, number, arithmetic.absolute, columnar.absolute),
    "ROUND": Function(1, 2, rounded, arithmetic.round_half_up, columnar.round_half_up),
    "FLOOR": Function(1, 1, rounded, arithmetic.floor, columnar.whole(pl.Expr.floor)),
    "CEIL": Function(1, 1, rounded, arithmetic.ceil, columnar.whole(pl.Expr.ceil)),
    "LOWER": Function(1, 1, texts(STRING, 1), text.lower, columnar.lower),
    "UPPER": Function(1, 1, texts(STRING, 1), text.upper, columnar.upper),
    "TRIM": Function(1, 1, texts(STRING, 1), text.trim, columnar.trim),
    "LENGTH": Function(1, 1, texts(BIGINT, 1), text.length, columnar.length),
    "CONCAT": Function(1, _MANY, joined_texts, text.concat, columnar.concat),
    "SUBSTRING": Function(2, 3, texts(STRING, 1), text.substring, columnar.substring),
    "STARTSWITH": Function(2, 2, texts(BOOLEAN, 2), text.starts_with, columnar.starts_with),
    "ENDSWITH": Function(2, 2, texts(BOOLEAN, 2), text.ends_with, columnar.ends_with),
    "CONTAINS": Function(2, 2, texts(BOOLEAN, 2), text.contains, columnar.contains),
    "ARRAY_CONTAINS": Function(2, 2, array_contains, text.array_contains),
    **{
        part: Function(1, 1, date_part, text.date_part(part), columnar.date_part(part))
        for part in DATE_PARTS
    },
}

OPERATORS = frozenset({"+", "-", "*", "/", "%"})
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
    "CEILING": "CEIL",
    "DAYOFMONTH": "DAY",
    "DOW": "DAYOFWEEK",
    "MOD": "%",
}
