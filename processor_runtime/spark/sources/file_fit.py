"""Whether the columns of a file are those that a job reads from it.

    columns of a file, columns that are read ──file_misfits──► missing · of another type

Readers of Parquet and ORC turn some types into others silently: 6.50 into 650, a time into
its seconds, text into NULL. What is not known to keep every value as it is, does not fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.spark.sources.columns import fits, type_text

_WHOLE: Final = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_EXACT_IN_DOUBLE: Final = (T.ByteType, T.ShortType, T.IntegerType, T.FloatType)
_BYTES: Final = (T.StringType, T.BinaryType)
_TEXTS: Final = (*_BYTES, T.VarcharType, T.CharType)


@dataclass(frozen=True, slots=True)
class FileMisfits:
    """What of a file is not as the job reads it.

    `missing` are columns, or fields inside them, that are not there and are read as NULL; `wrong`
    says what is wrong with others, in words.
    """

    missing: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


def reader_type(found: T.DataType, wanted: T.DataType) -> T.DataType:
    """Return the type to read a column with that must become one of another type.

    It is the wanted one, so that later files may have narrower types than the first, unless a
    reader does not turn the found one into it.
    """
    return found if fits(found, wanted) and not _is_read_as(found, wanted, "orc") else wanted


def file_misfits(
    found: T.StructType, read: T.StructType, file_format: str, given: frozenset[str]
) -> FileMisfits:
    """Compare the columns of a file with those that are read from it.

    `read`: the columns that are read, with the types they are read as. `file_format`: parquet or
    orc. `given`: names of columns that are not in the file, but in the name of its directory.
    """
    told = list(_compared(found, read, file_format, ""))
    return FileMisfits(
        tuple(name for name, wrong in told if wrong is None and name.lower() not in given),
        tuple(wrong for _, wrong in told if wrong is not None),
    )


def _compared(
    found: T.StructType, read: T.StructType, file_format: str, inside: str
) -> Iterator[tuple[str, str | None]]:
    """Yield columns that are missing, with `None`, and columns that are wrong, with the reason."""
    for each in read:
        name = inside + each.name
        # Readers ignore the case of names.
        fields = [field for field in found if field.name.lower() == each.name.lower()]
        if not fields:
            yield name, None
        elif len(fields) > 1:
            names = ", ".join(field.name for field in fields)
            yield name, f"its columns {names} have the same name but for capital letters"
        else:
            yield from _compared_types(fields[0].dataType, each.dataType, file_format, name)


def _compared_types(
    found: T.DataType, read: T.DataType, file_format: str, name: str
) -> Iterator[tuple[str, str | None]]:
    match found, read:
        case T.StructType(), T.StructType():
            yield from _compared(found, read, file_format, f"{name}.")
        case T.ArrayType(), T.ArrayType():
            yield from _compared_types(found.elementType, read.elementType, file_format, name)
        case T.MapType(), T.MapType():
            yield from _compared_types(found.keyType, read.keyType, file_format, name)
            yield from _compared_types(found.valueType, read.valueType, file_format, name)
        case _ if _is_read_as(found, read, file_format):
            pass
        case _:
            yield name, f"its column '{name}' is {type_text(found)}, which is no {type_text(read)}"


def _is_read_as(found: T.DataType, read: T.DataType, file_format: str) -> bool:
    """Return whether a reader gives a value of one type as one of another."""
    match found, read:
        case T.DecimalType(), T.DecimalType():
            return fits(found, read)
        case (_, T.DoubleType()) if isinstance(found, _EXACT_IN_DOUBLE):
            return True
        case _ if isinstance(found, _WHOLE) and isinstance(read, _WHOLE):
            return fits(found, read)
        case _ if isinstance(found, _TEXTS) and isinstance(read, _BYTES):
            is_text = isinstance(found, _BYTES) and type(found) is not type(read)
            return not is_text or file_format == "parquet"
        case _:
            # Inside other types, what is equal but for NULL.
            return fits(found, read) and (file_format == "parquet" or fits(read, found))
