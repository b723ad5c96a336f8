"""Matches that meet a filter as a file: CSV for spreadsheets, JSON Lines for programs.

    store ─ a page at a time, each a transaction of its own ─► lines ─► answer

A slow reader holds no transaction open. Lines are in the order of arrival, newest first; what comes
while they are read is not among them.

Source: RFC 4180, "Common Format and MIME Type for CSV Files".
"""

import json
from collections.abc import AsyncIterator
from typing import Final, Literal

from starlette.concurrency import run_in_threadpool

from api.matches import repository, service
from api.matches.filters import MatchFilter, MatchSort
from api.matches.repository import Place
from api.runtime import Runtime
from api.streams.service import existing_stream
from api.web.csv_text import csv_text
from cep.instants import iso_text
from contract.service.matches import MatchSummary

ExportFormat = Literal["csv", "jsonl"]

MEDIA_TYPES: Final[dict[ExportFormat, str]] = {
    "csv": "text/csv; header=present",
    "jsonl": "application/x-ndjson",
}
COLUMNS: Final = (
    "match_id",
    "rule",
    "version",
    "kind",
    "key",
    "start",
    "end",
    "received",
    "job",
    "status",
    "events",
    "output",
    "group",
    "stands_for_matches",
    "stands_for_keys",
    "stands_for_since",
    "stands_for_until",
)
_PAGE: Final = 1_000


def read_page(
    runtime: Runtime, stream: str, wanted: MatchFilter, after: Place | None = None
) -> tuple[list[MatchSummary], Place | None]:
    """Return matches behind a place, newest first, a page of them, and where the next begins.

    Raises:
        Refusal: there is no such stream (404).
    """
    with runtime.database.reading() as session:
        existing_stream(session, stream)
        found, more = repository.matches_found(
            session, stream, wanted, MatchSort.ARRIVAL_DESCENDING, after, _PAGE
        )
        return [service.match_summary(match) for match in found], more


async def lines(
    runtime: Runtime,
    stream: str,
    wanted: MatchFilter,
    written: ExportFormat,
    first: tuple[list[MatchSummary], Place | None],
) -> AsyncIterator[str]:
    """Yield all matches, a page at a time, of which the first has been read."""
    if written == "csv":
        yield csv_text([COLUMNS])
    page, more = first
    while True:
        if written == "csv":
            yield csv_text(map(_row, page))
        else:
            yield "".join(f"{match.model_dump_json()}\n" for match in page)
        if more is None:
            return
        page, more = await run_in_threadpool(read_page, runtime, stream, wanted, more)


def _row(match: MatchSummary) -> tuple[str | int, ...]:
    # Key and output are JSON: no text begins a cell, which a spreadsheet could take for a formula.
    return (
        match.match_id,
        match.processor_id,
        match.version,
        match.kind,
        json.dumps(match.key, ensure_ascii=False),
        iso_text(match.start),
        iso_text(match.end),
        iso_text(match.received_at),
        match.job,
        match.triage.status,
        match.event_count,
        json.dumps(match.output, ensure_ascii=False),
        *_group(match),
    )


def _group(match: MatchSummary) -> tuple[str | int, ...]:
    told = match.stands_for
    if told is None:
        return match.group_id, "", "", "", ""
    return match.group_id, told.matches, told.keys, iso_text(told.since), iso_text(told.until)
