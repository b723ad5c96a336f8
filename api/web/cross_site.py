"""Prevents pages of other sites from using the session cookie of a visitor.

The cookie is `SameSite=Strict`, so browsers do not send it with requests of other sites. A request
that changes anything must also carry a header that only a script of this origin can set, and if the
browser names the page a request came from, that must be a page of this service.

Source: Fetch Metadata Request Headers, W3C; OWASP Cross-Site Request Forgery Prevention.
"""

from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request

from api.web.problems import Refusal

DASHBOARD_HEADER: Final = "X-Percept-Dashboard"

_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def refuse_cross_site(request: Request) -> None:
    """Accept a request that changes nothing, or that comes from a page of this service.

    Raises:
        Refusal: it would change something and may come from elsewhere (403).
    """
    if request.method in _SAFE_METHODS:
        return
    if request.headers.get(DASHBOARD_HEADER) != "1":
        raise _refusal(f"A change made with the session cookie needs the header {DASHBOARD_HEADER}")
    if not _is_same_origin(request):
        raise _refusal("The request came from a page of another origin")


def _is_same_origin(request: Request) -> bool:
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    # Browsers leave Sec-Fetch-Site out on plain HTTP. The scheme is not compared: a proxy that ends
    # TLS may not pass it on.
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("Host")


def _refusal(reason: str) -> Refusal:
    return Refusal(
        HTTPStatus.FORBIDDEN,
        f"{reason}. Programs send a token instead, as: Authorization: Bearer percept_…",
    )
