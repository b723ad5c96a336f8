"""Cursor paging: a page and, if there is more, the cursor of the next one.

A cursor contains the sort values of the last item, so that pages stay correct while rows are added
and removed.
"""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated, Any, Final, TypeVar

from fastapi import Query

from api.web.problems import Refusal
from contract.service.problems import Flaw

Row = TypeVar("Row")
Place = TypeVar("Place", int, str)

NEWEST: Final = 2**62
"""Above the numbers of all rows: the first page begins below it where the newest come first."""

Limit = Annotated[int, Query(ge=1, le=500, description="Items on a page.")]
Cursor = Annotated[
    str | None,
    Query(max_length=2_000, description="`next_cursor` of the page before; none = first page."),
]


class SortOrder(StrEnum):
    """The order of a list: a field, with `-` in front for descending; each list names its own."""

    @property
    def field(self) -> str:
        """The field sorted by."""
        return self.value.removeprefix("-")

    @property
    def is_descending(self) -> bool:
        """Whether the order is descending."""
        return self.value.startswith("-")


def encoded_cursor(*values: str | int | None) -> str:
    """Return the cursor after an item with these sort values."""
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def cursor_behind(
    found: Sequence[Row], limit: int, place: Callable[[Row], tuple[str | int | None, ...]]
) -> str | None:
    """Return the cursor of the next page, `None` if there is none.

    Args:
        found: the rows of this page and, if there are more, at least one more.
        limit: how many rows are on this page.
        place: the sort values of a row.
    """
    return encoded_cursor(*place(found[limit - 1])) if len(found) > limit else None


def place_in(cursor: str | None, first: Place) -> Place:
    """Return the only sort value in a cursor; `first` for the first page.

    Raises:
        Refusal: it is not the cursor of a list with one sort value of this type.
    """
    if not cursor:
        return first
    place: Place = decoded_cursor(cursor, type(first))[0]
    return place


def decoded_cursor(cursor: str, *types: type) -> list[Any]:
    """Return the sort values in a cursor.

    Raises:
        Refusal: it was not made by `encoded_cursor` for values of these types.
    """
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise _bad_cursor() from None
    if not isinstance(values, list) or len(values) != len(types):
        raise _bad_cursor()
    for value, expected in zip(values, types, strict=True):
        if type(value) is not expected or (isinstance(value, str) and not _is_storable(value)):
            raise _bad_cursor()
        if isinstance(value, int) and abs(value) >= 2**63:
            raise _bad_cursor()
    return values


def _is_storable(text: str) -> bool:
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _bad_cursor() -> Refusal:
    flaw = Flaw(
        pointer="query/cursor",
        detail="It is not a cursor of this list.",
        remedy="Use next_cursor as it was given, with the same sort.",
    )
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "The cursor is not valid.", [flaw])
