"""Labels: what people decided about matches, as CSV, for backtests and statistics.

    store ─ a page at a time, each a transaction of its own ─► lines ─► answer

A slow reader holds no transaction open. Lines are in the order of event time; what is triaged while
they are read may be among them or not.

Source: RFC 4180, "Common Format and MIME Type for CSV Files".
"""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from api.matches.tables import MatchTriage
from api.runtime import Runtime
from api.streams.service import existing_stream
from api.triage import repository
from api.triage.filters import LabelFilter
from api.web.csv_text import csv_text
from cep.instants import iso_text

COLUMNS: Final = (
    "match_id",
    "rule",
    "version",
    "kind",
    "key",
    "start",
    "end",
    "label",
    "labelled_at",
)
_PAGE: Final = 1_000


class CsvResponse(StreamingResponse):
    """An answer of lines of CSV."""

    media_type = "text/csv; header=present"


def read_page(
    runtime: Runtime, stream: str, wanted: LabelFilter, after: tuple[int, str] | None = None
) -> Sequence[MatchTriage]:
    """Return the labels of one page, in the order of (end of the match, id), after a pair.

    Raises:
        Refusal: there is no such stream (404).
    """
    with runtime.database.reading() as session:
        existing_stream(session, stream)
        return repository.labels_after(session, stream, wanted, after, _PAGE)


async def lines(
    runtime: Runtime, stream: str, wanted: LabelFilter, first: Sequence[MatchTriage]
) -> AsyncIterator[str]:
    """Yield the header and all labels, a page at a time, of which the first has been read."""
    yield csv_text([COLUMNS])
    page = first
    while page:
        yield csv_text(map(_row, page))
        if len(page) < _PAGE:
            return
        after = (page[-1].end_ms, page[-1].match_id)
        page = await run_in_threadpool(read_page, runtime, stream, wanted, after)


def _row(triage: MatchTriage) -> tuple[str | int, ...]:
    # A key is JSON and begins with a bracket, so that no spreadsheet takes it for a formula.
    return (
        triage.match_id,
        triage.processor_id,
        triage.version,
        triage.kind,
        triage.key,
        iso_text(triage.start_ms),
        iso_text(triage.end_ms),
        triage.status,
        "" if triage.decided_at_ms is None else iso_text(triage.decided_at_ms),
    )
