"""Where rules failed in a batch: the events of their error rows, for the history of their health.

    quarantines of a batch ──► its rows of kind `error` ──► FailedAt, by version

Rows are read only of batches in which a rule has failed, and few of them.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - how PySpark's functions are named everywhere

from contract.reports import LEFT_OUT, FailedAt
from processor_runtime.driver.job_progress import VersionOf
from processor_runtime.reporting.shortening import failed_at
from processor_runtime.schedule.timeline import Quarantine

MOST_VERSIONS: Final = 100
"""Of more that fail in one batch, the others are reported without their events."""

_MOST_ROWS: Final = 1_000
_LARGEST_BYTES: Final = 100_000


def failed_events(rows: DataFrame, failures: Sequence[Quarantine]) -> dict[VersionOf, FailedAt]:
    """Return where versions have failed, as far as the rows of their batch tell.

    `rows`: all rows of the batch, evaluated and persisted.
    """
    since_ms: dict[VersionOf, int] = {}
    for each in failures:
        since_ms.setdefault((each.processor_id, each.version), each.since_ms)
    some = list(since_ms)[:MOST_VERSIONS]
    if not some:
        return {}
    is_of_one = reduce(or_, map(_is_of, some))
    found = (
        rows.where((F.col("kind") == "error") & is_of_one)
        .orderBy("end_ms")
        .limit(_MOST_ROWS)
        .select(
            "processor_id", "version", "end_ms", *(_bounded(name) for name in ("key", "events"))
        )
        .collect()
    )
    told: dict[VersionOf, FailedAt] = {}
    # What has stopped it counts before what it was only left out for.
    for row in sorted(found, key=lambda row: row.end_ms != since_ms[row.processor_id, row.version]):
        told.setdefault((row.processor_id, row.version), failed_at(row.asDict()))
    return told


def _is_of(version: VersionOf) -> Column:
    processor_id, number = version
    return (F.col("processor_id") == processor_id) & (F.col("version") == number)


def _bounded(name: str) -> Column:
    """Leave out what is far too large for a report before it is sent to the driver."""
    size = F.octet_length(F.col(name))
    note = F.concat(F.lit(f'"{LEFT_OUT}":"'), size.cast("string"), F.lit(f' bytes of {name}"'))
    before, after = ("[{", "}]") if name == "key" else ("{", "}")
    instead = F.concat(F.lit(before), note, F.lit(after))
    return F.when(size > _LARGEST_BYTES, instead).otherwise(F.col(name)).alias(name)
