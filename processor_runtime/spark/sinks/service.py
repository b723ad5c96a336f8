"""Recent matches for the rule service, best effort: they are for people to look at.

newest rows of a batch ──► shortened ──► MatchPoster (a thread) ──► rule service
"""

import logging
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - how PySpark's functions are named everywhere

from contract.problem_text import first_line
from contract.reports import LEFT_OUT, ReportedGroup, ReportedMatch
from processor_runtime.reporting import MatchPoster
from processor_runtime.reporting.shortening import reported_group, reported_match

ROWS_PER_BATCH: Final = 1_000
LARGEST_BYTES: Final = 1_000_000
_PRECEDENCE: Final = ("match", "group", "shadow", "suppressed", "timeout", "grouped")
"""Which kinds are offered of a batch that has too many rows."""

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
            rows.orderBy(_precedence(), F.col("end_ms").desc_nulls_last(), "match_id")
            .limit(ROWS_PER_BATCH)
            .select(
                *("kind", "tag", "processor_id", "version", "epoch"),
                *("match_id", "start_ms", "end_ms"),
                *(_bounded(name) for name in ("key", "output", "events")),
            )
            .collect()
        )
        matches: list[ReportedMatch] = []
        groups: list[ReportedGroup] = []
        for row in reversed(newest):
            try:
                if row.kind == "group":
                    groups.append(reported_group(row.asDict()))
                else:
                    matches.append(reported_match(row.asDict()))
            except (LookupError, ValueError, TypeError, AttributeError) as error:
                self._poster.count_dropped(1, f"one could not be read: {first_line(error)}")
        self._poster.count_dropped(
            row_count - len(newest), f"a batch had more than {ROWS_PER_BATCH}"
        )
        # Groups last: a match and what it stands for can come in one batch.
        self._poster.offer([*matches, *groups])

    def close(self) -> None:
        """End posting."""
        self._poster.close()


def _precedence() -> Column:
    places = (F.when(F.col("kind") == kind, place) for place, kind in enumerate(_PRECEDENCE))
    return F.coalesce(*places, F.lit(len(_PRECEDENCE)))


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
