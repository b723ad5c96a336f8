"""`_malformed`: the raw text of a row that could not be read, where it was, and why.

A JSON object: {"reason": …, "raw": …} with the file, or the topic, partition and offset. Bytes that
are not UTF-8 are in `raw_base64`.
"""

from collections.abc import Callable, Mapping
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.job_file.consistency import MALFORMED_COLUMN

RAW_LENGTH: Final = 1_000_000


def malformed_column(
    *, condition: Column, reason: Column, raw: Column, place: Mapping[str, Column]
) -> Column:
    """Return the column `_malformed`.

    `condition`: whether a row is malformed. `raw`: the text or bytes as they were read; the first
    million is kept.
    """
    beginning = F.substring(raw, 1, RAW_LENGTH)
    text = beginning.cast("string")
    is_text = F.is_valid_utf8(text)
    told = F.struct(
        reason.alias("reason"),
        F.when(is_text, text).alias("raw"),
        F.when(~is_text, F.base64(beginning.cast("binary"))).alias("raw_base64"),
        *(value.alias(name) for name, value in place.items()),
    )
    return F.when(condition, F.to_json(told)).alias(MALFORMED_COLUMN)


def never_malformed() -> Column:
    """Return the column `_malformed` of a source with typed columns."""
    return F.lit(None).cast("string").alias(MALFORMED_COLUMN)


def misfit_reason(
    written: Column,
    values: Mapping[str, tuple[Callable[[Column], Column], Column]],
    otherwise: Callable[[Column], Column],
) -> Column:
    """Return which columns did not fit, or another reason if all of them do.

    Args:
        written: the row with every value as text.
        values: by column, its text in `written` (NULL if nothing was written), and the value that
            was read from it.
        otherwise: the other reason, computed from `written`.
    """

    def reason(row: Column) -> Column:
        names = F.array(
            *(
                F.when(text_of(row).isNotNull() & read.isNull(), F.lit(name))
                for name, (text_of, read) in values.items()
            )
        ).cast("ARRAY<STRING>")
        told = F.concat_ws(", ", F.array_compact(names))
        prefix = F.lit("does not fit the stream's schema: ")
        return _evaluated_once(
            told,
            lambda names: F.when(names != "", F.concat(prefix, names)).otherwise(otherwise(row)),
        )

    return _evaluated_once(written, reason)


def _evaluated_once(value: Column, use: Callable[[Column], Column]) -> Column:
    """Apply a function to a value that is costly to compute and used many times.

    Spark would parse a malformed row once for every mention of it.
    """
    return F.transform(F.array(value), use).getItem(0)
