"""The columns of output rows as sinks write them: times beside milliseconds, JSON of a whole row.

kind, tag, … , start_ms, end_ms, output, events, error ──► + start_time, end_time ──► JSON text
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from pyspark import SparkContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - how PySpark's functions are named everywhere

from processor_runtime.output.row_columns import LINES

ROW_ID: Final = "row_id"

_PLAIN: Final = (
    "kind",
    "tag",
    "processor_id",
    "version",
    "epoch",
    "match_id",
    "start_time",
    "end_time",
    "start_ms",
    "end_ms",
)
_JSON: Final = ("key", "output", "events", "error")
_COLUMNS: Final = (*_PLAIN[:5], "key", *_PLAIN[5:], "output", "events", "error")
_END: Final = "end"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_JSON_OPTIONS: Final = {
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
    "ignoreNullFields": "true",
}


def with_times(rows: DataFrame) -> DataFrame:
    """Return rows with start and end also as timestamps, columns in the documented order."""
    identity = [ROW_ID] if ROW_ID in rows.columns else []
    return rows.withColumns(_times()).select(*identity, *_COLUMNS)


def _times() -> dict[str, Column]:
    return {"start_time": F.timestamp_millis("start_ms"), "end_time": F.timestamp_millis("end_ms")}


def row_lines(rows: DataFrame) -> DataFrame:
    """Return rows as lines of JSON; their only column is `value`.

    Those that are lines already stay so, and are some thousand in one row.
    """
    return rows.select(_line(rows.sparkSession.sparkContext, has_lines=LINES in rows.columns))


@lru_cache(maxsize=4)
def _line(_context: SparkContext, *, has_lines: bool) -> Column:
    """Return the column of `row_lines`, of which each part is a call of Java.

    `has_lines`: whether some rows are lines already.
    """
    times = _times()
    line = _json([times[name].alias(name) if name in times else name for name in _PLAIN])
    return (F.coalesce(F.col(LINES).cast("string"), line) if has_lines else line).alias("value")


def row_json(timed_rows: DataFrame) -> Column:
    """Return a row as one line of JSON; columns that are NULL are left out.

    `timed_rows`: rows with times. Columns with JSON become part of the text unchanged, so that
    numbers keep their digits and keys their order.
    """
    identity = [ROW_ID] if ROW_ID in timed_rows.columns else []
    return _json([*identity, *_PLAIN])


def _json(begin_with: Sequence[str | Column]) -> Column:
    """Return rows as JSON, in which these columns come first."""
    # `kind` is never NULL, so there is always something in front of a comma.
    plain = F.to_json(F.struct(*begin_with, F.lit(0).alias(_END)), _JSON_OPTIONS)
    # To cut off the last character Spark would count all characters, twice. A text of JSON has no
    # quotation mark without a backslash before it.
    begin = F.replace(plain, F.lit(f',"{_END}":0}}'), F.lit(""))
    nested = [F.coalesce(F.concat(F.lit(f',"{name}":'), F.col(name)), F.lit("")) for name in _JSON]
    return F.concat(begin, *nested, F.lit("}"))


def instant(value_ms: int | None) -> datetime | None:
    """Return milliseconds since 1970 as a time; `None` also beyond the years 1 to 9999."""
    if value_ms is None:
        return None
    try:
        return _EPOCH + timedelta(milliseconds=value_ms)
    except OverflowError:
        return None
