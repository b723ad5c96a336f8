"""The values of a list are read: a page at a time, or whole as CSV.

version ─► values, decoded ─► with this text in them ─► page, or lines
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Final

from fastapi import Query
from sqlalchemy.orm import Session
from starlette.responses import StreamingResponse

from api.list_store import repository
from api.list_store.contents import ContentGone, DecodedContents
from api.list_store.tables import ListVersion, StoredList
from api.lists.changes import existing_version, gone
from api.lists.parameters import SearchedText
from api.web.paging import decoded_cursor, encoded_cursor
from cep.list_content import ListValue, csv_cell
from contract.service.lists import ValuesPage

_LINES: Final = 5_000


class ValuesResponse(StreamingResponse):
    """An answer of values as lines of CSV."""

    media_type = "text/csv; charset=utf-8; header=absent"


@dataclass(frozen=True, slots=True)
class ValuesFilter:
    """Which values are shown; `None` = any."""

    prefix: Annotated[SearchedText | None, Query(description="Beginning with this text.")] = None
    contains: Annotated[SearchedText | None, Query(description="With this text in them.")] = None
    version: Annotated[
        int | None, Query(ge=1, lt=2**31, description="Of this version; left out = the newest.")
    ] = None

    def takes(self, text: str) -> bool:
        """Return whether a value is shown."""
        return (not self.prefix or text.startswith(self.prefix)) and (
            not self.contains or self.contains in text
        )


def values_of(
    session: Session, contents: DecodedContents, stored: StoredList, version: int | None
) -> tuple[ListVersion, Sequence[ListValue]]:
    """Return a version of a list, the newest unless one is named, and its values in order.

    Raises:
        Refusal: there is no such version (404), or its values are kept no longer (409).
    """
    found = existing_version(session, stored, version or stored.latest_version)
    if version is None and not found.has_content:
        # The newest was cancelled long ago: what jobs are given is shown.
        found = repository.open_versions(session, stored.stream, stored.name)[-1]
    try:
        return found, contents.values(session, found)
    except ContentGone:
        raise gone(found.version) from None


def page_begins(wanted: ValuesFilter, cursor: str | None) -> tuple[int | None, int]:
    """Return of which version a page is, and at which of its values it begins.

    All pages are of the version that the first one was of.

    Raises:
        Refusal: the cursor is none of this list (422).
    """
    if cursor is None:
        return wanted.version, 0
    version, start = decoded_cursor(cursor, int, int)
    return min(max(version, 1), 2**31 - 1), max(start, 0)


def values_page(
    version: ListVersion,
    values: Sequence[ListValue],
    wanted: ValuesFilter,
    start: int,
    limit: int,
) -> ValuesPage:
    """Return a page of the values of a version, from a position on."""
    found: list[str] = []
    next_cursor = None
    for index in range(start, len(values)):
        text = str(values[index])
        if not wanted.takes(text):
            continue
        if len(found) == limit:
            next_cursor = encoded_cursor(version.version, index)
            break
        found.append(text)
    return ValuesPage(
        items=found, next_cursor=next_cursor, version=version.version, count=version.count
    )


def csv_lines(values: Sequence[ListValue], wanted: ValuesFilter) -> Iterator[str]:
    """Yield values as CSV of one column, some thousand lines at a time."""
    texts = (text for value in values if wanted.takes(text := str(value)))
    while some := list(islice(texts, _LINES)):
        yield "".join(f"{csv_cell(text)}\r\n" for text in some)
