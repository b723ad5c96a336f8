"""From the body of an upload to values: CSV of one column, or a JSON array.

    body ─► lines ─► value_of each ─► values, or what is wrong with which line

Nothing is taken if anything is wrong. Source: RFC 4180, "Common Format and MIME Type for CSV
Files", and Python's `csv`, which reads what spreadsheets write.
"""

import csv
import email.message
import io
from collections.abc import Iterable, Iterator, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any, Final

from fastapi import Request
from pydantic_core import from_json
from starlette.requests import ClientDisconnect

from api.idempotency.requests import HEADER
from api.lists.changes import Edit
from api.runtime import Runtime
from api.web.bodies import read_body
from api.web.problems import Refusal, invalid
from cep.list_content import LONGEST_VALUE, ListType, ListValue, value_in_cell, written_value
from contract.service.problems import Flaw

LARGEST_UPLOAD: Final = 32_000_000
"""Size of a body with a whole list, in bytes."""
_MOST_TOLD: Final = 100
_SECONDS_FACTOR: Final = 4
"""How much longer than any other body such a one may take."""

Placed = tuple[str, int | None, ListValue | None]
"""A pointer, a line, and a value as it was given; `None` is none at all."""


async def uploaded_body(request: Request, runtime: Runtime) -> bytes:
    """Return the body of an upload.

    Raises:
        Refusal: it is too long (413), too slow (408), or broke off (400), or has a key (422).
        Overloaded: too many uploads are under way.
    """
    if HEADER in request.headers:
        detail = "An upload takes no key."
        remedy = "Leave it out: with If-Match the same upload may be sent again."
        flaw = Flaw(pointer=f"header/{HEADER}", detail=detail, remedy=remedy)
        raise invalid("request", [flaw])
    seconds = _SECONDS_FACTOR * runtime.settings.body_seconds
    with runtime.uploads.share() as share:
        try:
            return await read_body(request, share, LARGEST_UPLOAD, seconds)
        except ClientDisconnect:
            raise Refusal(HTTPStatus.BAD_REQUEST, "The upload was interrupted.") from None


def media_type_of(request: Request) -> str:
    """Return whether a body is CSV or JSON.

    Raises:
        Refusal: it is neither (415).
    """
    message = email.message.Message()
    message["content-type"] = request.headers.get("Content-Type", "")
    found = message.get_content_type()
    if found not in {"text/csv", "application/json"}:
        detail = (
            "Send the values as text/csv, one on each line, or as an array of application/json."
        )
        raise Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, detail)
    return found


def read_values(
    data_type: ListType, body: bytes, media_type: str, *, has_header: bool
) -> set[ListValue]:
    """Return the values in a body.

    Args:
        data_type: of the list.
        body: as it was sent.
        media_type: `text/csv` or `application/json`.
        has_header: whether the first line of CSV is the name of the column.

    Raises:
        Refusal: it cannot be read (400), or values are wrong (422), with the first 100 places.
    """
    if media_type == "text/csv":
        placed: Iterable[Placed | Flaw] = islice(_lines(_text(body)), 1 if has_header else 0, None)
    else:
        placed = _elements(body)
    return checked_values(data_type, placed, "list")


def checked_values(
    data_type: ListType, placed: Iterable[Placed | Flaw], what: str
) -> set[ListValue]:
    """Return values, each read as its type says.

    Raises:
        Refusal: some are wrong (422), with the first 100 places.
    """
    values: set[ListValue] = set()
    flaws: list[Flaw] = []
    count = 0
    for each in placed:
        if isinstance(each, Flaw):
            flaw = each
        else:
            pointer, line, given = each
            try:
                values.add(_value(data_type, given))
            except ValueError as error:
                flaw = Flaw(pointer=pointer, detail=_sentence(error), line=line)
            else:
                continue
        count += 1
        if len(flaws) < _MOST_TOLD:
            flaws.append(flaw)
    if not flaws:
        return values
    refusal = invalid(what, flaws)
    if count > len(flaws):
        detail = f"The {what} has {count} problems, of which {len(flaws)} are shown."
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, detail, flaws)
    raise refusal


def placed_values(pointer: str, given: Sequence[ListValue]) -> Iterator[Placed]:
    """Yield the values of an array, each with its place in the body."""
    for index, value in enumerate(given):
        yield f"{pointer}/{index}", None, value


def given_edit(data_type: ListType, add: Sequence[ListValue], remove: Sequence[ListValue]) -> Edit:
    """Return values to be added and removed.

    Raises:
        Refusal: there are none, some are wrong, or some are to be both (422).
    """
    if not add and not remove:
        raise invalid("change", [Flaw(pointer="", detail="It names no value.")])
    both_placed = (*placed_values("/add", add), *placed_values("/remove", remove))
    checked_values(data_type, both_placed, "change")
    edit = Edit(
        *(
            frozenset(checked_values(data_type, placed_values("", each), "change"))
            for each in (add, remove)
        )
    )
    if both := sorted(map(str, edit.add & edit.remove)):
        detail = f"'{both[0]}' is to be added and removed."
        raise invalid("change", [Flaw(pointer="/remove", detail=detail)])
    return edit


def _value(data_type: ListType, given: ListValue | None) -> ListValue:
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise ValueError("it is no text and no whole number")  # noqa: TRY004 - told as others are
    if isinstance(given, int) and data_type != "BIGINT":
        raise ValueError(f"{given} is no {data_type}; write it in quotes")
    return written_value(data_type, str(given) if isinstance(given, int) else given)


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        flaw = Flaw(pointer="", detail="It is not UTF-8.", remedy="Save it as UTF-8.", line=line)
        raise Refusal(HTTPStatus.BAD_REQUEST, "The body cannot be read.", [flaw]) from None


def _lines(text: str) -> Iterator[Placed | Flaw]:
    """Yield the values of CSV with their lines; empty lines are none."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            detail = f"This line is no CSV: {error}."
            yield Flaw(pointer="", detail=detail, remedy="Double quotes within quotes.", line=line)
            return
        if len(row) == 1:
            yield "", line, value_in_cell(row[0])
        elif row:
            detail = f"{len(row)} columns; a list has one."
            remedy = 'Leave the others out, or write values with commas in quotes: "a, b".'
            yield Flaw(pointer="", detail=detail, remedy=remedy, line=line)


def _elements(body: bytes) -> Iterator[Placed]:
    try:
        # Numbers beyond 64 bits stay whole numbers, and are refused by their type.
        found: Any = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        detail = f"The body is not JSON: {error}."
        raise Refusal(HTTPStatus.BAD_REQUEST, detail) from None
    if not isinstance(found, list):
        flaw = Flaw(pointer="", detail="It is no array.", remedy='Send ["ana", "eve"].')
        raise invalid("list", [flaw])
    yield from placed_values("", found)


def _sentence(error: ValueError) -> str:
    if isinstance(error, UnicodeError):
        return "The text holds half of a surrogate pair, which is no character."
    text = str(error)
    told = text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
    return f"{told[:1].upper()}{told[1:]}."
