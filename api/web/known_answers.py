"""Answers 304 to whoever has an answer already: every GET that answers JSON has an ETag.

Those of single things name their state and are strong, so that a change can be made from them
(`api.web.preconditions`). All others, of lists and figures, are weak: a digest of what is answered.
They save the way over the network, not the work, and only for programs that keep answers: browsers
are told to keep none, as who reads them may sign out. Source: RFC 9110, sections 8.8 and 13.1.2.
"""

import hashlib
from http import HTTPStatus
from typing import Final

from fastapi import Request, Response

from api.web.preconditions import names_tag, quoted

_DIGEST_DIGITS: Final = 32
_KEPT_HEADERS: Final = ("ETag", "Cache-Control", "Vary")


def unless_known(request: Request, response: Response) -> Response:
    """Return an answer with its ETag, or 304 if the caller named this.

    What is streamed, or is no JSON, stays as it is, as does what must not be kept.
    """
    if not _is_read(request, response):
        return response
    headers = response.headers
    if "ETag" not in headers:
        digest = hashlib.sha256(response.body).hexdigest()[:_DIGEST_DIGITS]
        headers["ETag"] = f"W/{quoted(digest)}"
    known = request.headers.get("If-None-Match")
    tag = headers["ETag"].removeprefix("W/").strip('"')
    if known is None or not names_tag(known, tag):
        return response
    kept = {name: headers[name] for name in _KEPT_HEADERS if name in headers}
    return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=kept)


def _is_read(request: Request, response: Response) -> bool:
    return (
        request.method in {"GET", "HEAD"}
        and response.status_code == HTTPStatus.OK
        and response.headers.get("Content-Type", "").startswith("application/json")
        and response.headers.get("Cache-Control") != "no-store"
        and hasattr(response, "body")
    )
