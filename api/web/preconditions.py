"""Strong ETags and `If-Match`: nobody overwrites a change they have not seen.

Source: RFC 9110, sections 8.8.3 and 13.1; RFC 6585 (428).
"""

from http import HTTPStatus
from typing import Annotated

from fastapi import Header

from api.web.problems import Refusal

IfMatch = Annotated[
    str | None,
    Header(description="ETag of the state this change was made from; `*` = any state."),
]
IfNoneMatch = Annotated[
    str | None,
    Header(description="ETag of the known state; if it is unchanged, the answer is 304."),
]


def quoted(tag: str) -> str:
    """Return a strong ETag in the form of a header."""
    return f'"{tag}"'


def names_tag(header: str, tag: str) -> bool:
    """Return whether an If-Match or If-None-Match header names this tag, or any."""
    candidates = [part.strip().removeprefix("W/") for part in header.split(",")]
    return "*" in candidates or quoted(tag) in candidates


def require_match(if_match: str | None, tag: str) -> None:
    """Accept a change only if its author has seen the current state.

    Raises:
        Refusal: no If-Match (428), or one that names another state (412).
    """
    if if_match is None:
        raise Refusal(
            HTTPStatus.PRECONDITION_REQUIRED,
            "This change needs If-Match with the ETag that a GET gave, or '*' to overwrite.",
        )
    check_match(if_match, tag)


def check_match(if_match: str | None, tag: str) -> None:
    """Accept a change if its author named no state, or the current one.

    Raises:
        Refusal: If-Match names another state (412).
    """
    if if_match is not None and not names_tag(if_match, tag):
        raise Refusal(
            HTTPStatus.PRECONDITION_FAILED,
            f"It has been changed since: its ETag is {quoted(tag)} now. Read it again.",
            headers={"ETag": quoted(tag)},
        )
