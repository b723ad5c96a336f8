"""Data types, as Spark, sqlglot and polars have them.

Read by the type check and by the columnar evaluator; the scalar one needs no types.

The names are Spark's (`BIGINT`, `TIMESTAMP_NTZ`, ...). Expressions compute with fewer types than
columns have: every integer is a BIGINT, every binary floating point number a DOUBLE
(`DataType.computed`). `OTHER` is a column type expressions cannot read; it matters only if one
tries.

Source: Spark SQL reference, "Data Types".
"""

import re
from dataclasses import dataclass
from enum import StrEnum

import polars as pl
from polars.datatypes import DataTypeClass
from sqlglot import exp

from cep.expression.errors import ExpressionError, problem_at


class Kind(StrEnum):
    """The name of a type without its parameters."""

    NULL = "NULL"
    UNKNOWN = "UNKNOWN"
    OTHER = "OTHER"
    BOOLEAN = "BOOLEAN"
    TINYINT = "TINYINT"
    SMALLINT = "SMALLINT"
    INT = "INT"
    BIGINT = "BIGINT"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    STRING = "STRING"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_NTZ = "TIMESTAMP_NTZ"
    INTERVAL = "INTERVAL"
    ARRAY = "ARRAY"
    STRUCT = "STRUCT"


PolarsType = pl.DataType | DataTypeClass

_INTEGERS = {Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT}


@dataclass(frozen=True, slots=True)
class DataType:
    """One type; `precision` and `scale` are of DECIMAL, `element` of ARRAY, `fields` of STRUCT."""

    kind: Kind
    precision: int = 0
    scale: int = 0
    element: "DataType | None" = None
    fields: tuple[tuple[str, "DataType"], ...] = ()

    def __str__(self) -> str:
        match self.kind:
            case Kind.DECIMAL:
                return f"DECIMAL({self.precision},{self.scale})"
            case Kind.ARRAY:
                return f"ARRAY<{self.element}>"
            case Kind.STRUCT:
                inner = ", ".join(f"{name}: {data_type}" for name, data_type in self.fields)
                return f"STRUCT<{inner}>"
            case _:
                return self.kind.value

    @property
    def computed(self) -> "DataType":
        """The type an expression computes with once it has read a column of this one."""
        if self.kind in _INTEGERS:
            return BIGINT
        return DOUBLE if self.kind is Kind.FLOAT else self

    @property
    def is_numeric(self) -> bool:
        """Whether it is an integer, floating point or decimal type."""
        return self.kind in {Kind.DOUBLE, Kind.FLOAT, Kind.DECIMAL} or self.kind in _INTEGERS

    @property
    def is_temporal(self) -> bool:
        """Whether it is a point in time: a date or a timestamp."""
        return self.kind in {Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ}

    @property
    def is_open(self) -> bool:
        """Whether it fits everywhere: the type of NULL, or of a column without a schema."""
        return self.kind in {Kind.NULL, Kind.UNKNOWN}


NULL = DataType(Kind.NULL)
UNKNOWN = DataType(Kind.UNKNOWN)
OTHER = DataType(Kind.OTHER)
BOOLEAN = DataType(Kind.BOOLEAN)
BIGINT = DataType(Kind.BIGINT)
DOUBLE = DataType(Kind.DOUBLE)
STRING = DataType(Kind.STRING)
DATE = DataType(Kind.DATE)
TIMESTAMP = DataType(Kind.TIMESTAMP)
TIMESTAMP_NTZ = DataType(Kind.TIMESTAMP_NTZ)
INTERVAL = DataType(Kind.INTERVAL)

MAX_DECIMAL_PRECISION = 38
_DIGITS = re.compile("[0-9]{1,2}")
DEFAULT_DECIMAL = DataType(Kind.DECIMAL, precision=10)  # Spark's DECIMAL without parameters


def bad_ddl(ddl: str, message: str) -> ExpressionError:
    """Return the error for a text that is no list of columns and types."""
    hint = "write it as: user STRING, amount DECIMAL(10,2), tags ARRAY<STRING>, a STRUCT<b: INT>"
    return ExpressionError(problem_at(ddl, (0, len(ddl)), message, hint))


_SQLGLOT_KINDS = {
    exp.DType.BOOLEAN: Kind.BOOLEAN,
    exp.DType.TINYINT: Kind.TINYINT,
    exp.DType.SMALLINT: Kind.SMALLINT,
    exp.DType.INT: Kind.INT,
    exp.DType.BIGINT: Kind.BIGINT,
    exp.DType.FLOAT: Kind.FLOAT,
    exp.DType.DOUBLE: Kind.DOUBLE,
    exp.DType.TEXT: Kind.STRING,
    exp.DType.VARCHAR: Kind.STRING,
    exp.DType.DATE: Kind.DATE,
    exp.DType.TIMESTAMP: Kind.TIMESTAMP,
    exp.DType.TIMESTAMPTZ: Kind.TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: Kind.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: Kind.TIMESTAMP_NTZ,
    exp.DType.INTERVAL: Kind.INTERVAL,
}


def from_sqlglot(parsed: exp.DataType) -> DataType:  # noqa: PLR0911 - one line per kind
    """Return the type sqlglot has read, OTHER for one expressions cannot read."""
    match parsed.this:
        case exp.DType.DECIMAL:
            written = [parameter.name for parameter in parsed.expressions]
            if not written:
                return DEFAULT_DECIMAL
            if not all(_DIGITS.fullmatch(parameter) for parameter in written):
                return OTHER
            parameters = [int(parameter) for parameter in written]
            scale = parameters[1] if len(parameters) > 1 else 0
            if not 0 <= scale <= parameters[0] <= MAX_DECIMAL_PRECISION or not parameters[0]:
                return OTHER
            return DataType(Kind.DECIMAL, precision=parameters[0], scale=scale)
        case exp.DType.ARRAY if parsed.expressions:
            return DataType(Kind.ARRAY, element=from_sqlglot(parsed.expressions[0]))
        case exp.DType.STRUCT:
            return DataType(Kind.STRUCT, fields=tuple(named_types(parsed, parsed.sql("spark"))))
        case exp.Interval():
            return INTERVAL
        case kind:
            return DataType(_SQLGLOT_KINDS.get(kind, Kind.OTHER))


def named_types(struct: exp.Expression, ddl: str) -> list[tuple[str, DataType]]:
    """Return names and types of what sqlglot has read as a struct.

    Raises:
        ExpressionError: a column has no name or no type; `ddl` is the text.
    """
    columns: list[tuple[str, DataType]] = []
    for column in struct.expressions:
        kind = column.args.get("kind")
        if not isinstance(column, exp.ColumnDef) or not isinstance(kind, exp.DataType):
            raise bad_ddl(ddl, f"{column.sql('spark')} needs a name and a type")
        columns.append((column.name, from_sqlglot(kind)))
    return columns


_TO_POLARS: dict[Kind, pl.DataType] = {
    Kind.NULL: pl.Null(),
    Kind.BOOLEAN: pl.Boolean(),
    Kind.TINYINT: pl.Int8(),
    Kind.SMALLINT: pl.Int16(),
    Kind.INT: pl.Int32(),
    Kind.BIGINT: pl.Int64(),
    Kind.FLOAT: pl.Float32(),
    Kind.DOUBLE: pl.Float64(),
    Kind.STRING: pl.String(),
    Kind.DATE: pl.Date(),
    Kind.TIMESTAMP: pl.Datetime("us", "UTC"),
    Kind.TIMESTAMP_NTZ: pl.Datetime("us"),
    Kind.INTERVAL: pl.Duration("us"),
}


def to_polars(data_type: DataType) -> pl.DataType:
    """Return the polars type that stores it; raises `ValueError` if it is OTHER or UNKNOWN."""
    match data_type.kind:
        case Kind.DECIMAL:
            return pl.Decimal(data_type.precision, data_type.scale)
        case Kind.ARRAY if data_type.element is not None:
            return pl.List(to_polars(data_type.element))
        case Kind.STRUCT:
            return pl.Struct({name: to_polars(inner) for name, inner in data_type.fields})
        case kind if kind in _TO_POLARS:
            return _TO_POLARS[kind]
        case _:
            raise ValueError(f"{data_type} has no polars type")


_FROM_POLARS: tuple[tuple[type[pl.DataType], Kind], ...] = (
    (pl.Null, Kind.NULL),
    (pl.Boolean, Kind.BOOLEAN),
    (pl.Int8, Kind.TINYINT),
    (pl.Int16, Kind.SMALLINT),
    (pl.Int32, Kind.INT),
    (pl.Int64, Kind.BIGINT),
    (pl.UInt8, Kind.SMALLINT),
    (pl.UInt16, Kind.INT),
    (pl.UInt32, Kind.BIGINT),
    (pl.Float32, Kind.FLOAT),
    (pl.Float64, Kind.DOUBLE),
    (pl.String, Kind.STRING),
    (pl.Date, Kind.DATE),
    (pl.Duration, Kind.INTERVAL),
)


def from_polars(data_type: PolarsType) -> DataType:
    """Return the type of a column of a frame, OTHER for one expressions cannot read."""
    match data_type:
        case pl.Datetime(time_zone=zone):
            return TIMESTAMP if zone else TIMESTAMP_NTZ
        case pl.Decimal(precision=precision, scale=scale):
            return DataType(Kind.DECIMAL, precision=precision or MAX_DECIMAL_PRECISION, scale=scale)
        case pl.List(inner=inner):
            return DataType(Kind.ARRAY, element=from_polars(inner))
        case pl.Struct(fields=fields):
            named = tuple((field.name, from_polars(field.dtype)) for field in fields)
            return DataType(Kind.STRUCT, fields=named)
        case _:
            kind = next((kind for polars, kind in _FROM_POLARS if data_type == polars), Kind.OTHER)
            return DataType(kind)
