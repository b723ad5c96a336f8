"""Strong ETags: nobody overwrites a change they have not seen, nor reads again what they know.

Source: RFC 9110, sections 8.8.3 and 13.1; RFC 6585 (428).
"""

import re
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Header, Response

from api.web.problems import Refusal, invalid
from contract.service.problems import Flaw

IfMatch = Annotated[
    str | None,
    Header(description="ETag of the state this change was made from; `*` = any state."),
]
IfNoneMatch = Annotated[
    str | None,
    Header(description="ETag of the known state; if it is unchanged, the answer is 304."),
]
IfNew = Annotated[
    str | None,
    Header(
        alias="If-None-Match",
        description="`*` = create it, and change nothing if it is there already.",
    ),
]

_TAG: Final = re.compile(r'"[^"]*"')
_TAGS: Final = re.compile(rf"\*|(?:W/)?{_TAG.pattern}(?:\s*,\s*(?:W/)?{_TAG.pattern})*")

TAGGED: Final[dict[str, Any]] = {
    "headers": {"ETag": {"description": "Names this state.", "schema": {"type": "string"}}}
}
"""What OpenAPI says of an answer that has an ETag."""
CREATED: Final[dict[str, Any]] = {
    "headers": {
        **TAGGED["headers"],
        "Location": {"description": "Where it can be read.", "schema": {"type": "string"}},
    }
}
"""What OpenAPI says of the answer to what creates something that has an ETag."""


def tagged(response: Response, tag: str) -> None:
    """Set the ETag of an answer; whoever keeps it asks each time whether it still holds."""
    response.headers.update(_headers(tag))


def not_modified(if_none_match: str | None, tag: str) -> Response | None:
    """Return the answer 304 if the caller has this state already."""
    if if_none_match is None or not names_tag(if_none_match, tag):
        return None
    return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=_headers(tag))


def _headers(tag: str) -> dict[str, str]:
    return {"ETag": quoted(tag), "Cache-Control": "private, no-cache"}


def quoted(tag: str) -> str:
    """Return a strong ETag in the form of a header."""
    return f'"{tag}"'


def names_tag(header: str, tag: str) -> bool:
    """Return whether an If-Match or If-None-Match header names this tag, or any.

    A malformed one names none; proxies that compress make a tag weak, which still names its state.
    """
    if _TAGS.fullmatch(header.strip()) is None:
        return False
    return header.strip() == "*" or quoted(tag) in _TAG.findall(header)


def is_creation(if_match: str | None, if_new: str | None) -> bool:
    """Return whether a PUT creates something: `If-None-Match: *` (RFC 9110, section 13.1.2).

    Raises:
        Refusal: it names states, or there is If-Match as well (422).
    """
    if if_new is None:
        return False
    flaws = []
    if if_new.strip() != "*":
        remedy = "Send If-None-Match: * to create it, or If-Match with an ETag to change it."
        flaws.append(Flaw(pointer="header/If-None-Match", detail="It is not '*'.", remedy=remedy))
    if if_match is not None:
        detail = "It says that there is something to change, If-None-Match that there is nothing."
        remedy = "Send one of the two."
        flaws.append(Flaw(pointer="header/If-Match", detail=detail, remedy=remedy))
    if flaws:
        raise invalid("request", flaws)
    return True


def exists_already(what: str, tag: str) -> Refusal:
    """Return the refusal of a creation of something that is there (412)."""
    return Refusal(
        HTTPStatus.PRECONDITION_FAILED,
        f"{what} exists already. Read it, and change it with If-Match and its ETag.",
        headers={"ETag": quoted(tag)},
    )


def require_match(if_match: str | None, tag: str) -> None:
    """Accept a change only if its author has seen the current state.

    Raises:
        Refusal: no If-Match (428), a malformed one (422), or one that names another state (412).
    """
    if if_match is None:
        raise Refusal(
            HTTPStatus.PRECONDITION_REQUIRED,
            "State which revision this changes: send If-Match with the ETag of the last GET, "
            "or '*' to overwrite.",
        )
    if _TAGS.fullmatch(if_match.strip()) is None:
        remedy = f"Write {quoted(tag)} with its quotes, as ETag has it; or * alone."
        detail = f"'{if_match[:100]}' is no list of ETags."
        raise invalid("request", [Flaw(pointer="header/If-Match", detail=detail, remedy=remedy)])
    if not names_tag(if_match, tag):
        raise Refusal(
            HTTPStatus.PRECONDITION_FAILED,
            "It has changed since you loaded it. Load it again and repeat your change.",
            headers={"ETag": quoted(tag)},
        )
