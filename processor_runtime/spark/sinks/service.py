"""Recent matches for the rule service, best effort: they are for people to look at.

newest rows of a batch ──► shortened ──► MatchPoster (a thread) ──► rule service
"""

import logging
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - how PySpark's functions are named everywhere

from contract.problem_text import first_line
from contract.reports import ReportedMatch
from processor_runtime.reporting import MatchPoster
from processor_runtime.reporting.shortening import LEFT_OUT, reported_match

ROWS_PER_BATCH: Final = 1_000
LARGEST_BYTES: Final = 1_000_000

_log = logging.getLogger("percept.outputs")


class ServiceSink:
    """Offers the newest matches of a batch; never waits for the service."""

    remedy = "The rows could not be read from Spark."
    secrets: frozenset[str] = frozenset()

    def __init__(self, poster: MatchPoster) -> None:
        self._poster = poster
        poster.__enter__()

    def write(self, rows: DataFrame, batch_id: int, row_count: int) -> None:
        """Offer a batch."""
        del batch_id
        if row_count == 0:
            return
        newest = (
            # In a large batch, matches take precedence over timed-out partial matches.
            rows.orderBy("kind", F.col("end_ms").desc_nulls_last(), "match_id")
            .limit(ROWS_PER_BATCH)
            .select(
                *("match_id", "kind", "processor_id", "version", "epoch", "start_ms", "end_ms"),
                *(_bounded(name) for name in ("key", "output", "events")),
            )
            .collect()
        )
        matches: list[ReportedMatch] = []
        for row in reversed(newest):
            try:
                matches.append(reported_match(row.asDict()))
            except (ValueError, TypeError, AttributeError) as error:
                self._poster.count_dropped(1, f"one could not be read: {first_line(error)}")
        self._poster.count_dropped(
            row_count - len(newest), f"a batch had more than {ROWS_PER_BATCH}"
        )
        self._poster.offer(matches)

    def close(self) -> None:
        """End posting."""
        self._poster.close()


def _bounded(name: str) -> Column:
    """Replace values far too large for the service before they are sent to the driver."""
    size = F.octet_length(F.col(name)).cast("string")
    note = F.concat(F.lit(f'{{"{LEFT_OUT}":"'), size, F.lit(f' bytes of {name}"}}'))
    match name:
        case "events":
            instead = F.concat(F.lit(f'{{"{LEFT_OUT}":['), note, F.lit("]}"))
        case "key":
            instead = F.concat(F.lit("["), note, F.lit("]"))
        case _:
            instead = note
    return (
        F.when(F.octet_length(F.col(name)) > LARGEST_BYTES, instead)
        .otherwise(F.col(name))
        .alias(name)
    )
