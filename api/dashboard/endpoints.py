"""Serves the dashboard: one page for every path a person may bookmark, and its files.

    /streams/payments/rules ─► index.html ─► /assets/<digest>/generated/console.js ─► /v1/…

The pages need no token, like a sign-in form; their data comes from `/v1` and needs a role there.
"""

import secrets
from collections.abc import Callable, Iterable
from functools import cache
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Response

from api.dashboard.assets import Assets, read_assets
from api.dashboard.preloads import unnamed
from api.web.problems import Refusal

router = APIRouter(include_in_schema=False)

PAGES: Final = (
    "/",
    "/sign-in",
    "/streams/{stream}",
    "/streams/{stream}/rules",
    "/streams/{stream}/new-rule",
    "/streams/{stream}/rules/{processor_id}",
    "/streams/{stream}/rules/{processor_id}/edit",
    "/streams/{stream}/matches",
    "/streams/{stream}/matches/{match_id}",
    "/streams/{stream}/lists",
    "/streams/{stream}/lists/{name}",
    "/streams/{stream}/backtests/{number}",
    "/streams/{stream}/jobs/{name}",
    "/proposals",
    "/proposals/{number}",
    "/activity",
    "/tokens",
    "/webhooks",
)

_READING: Final = ["GET", "HEAD"]
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_ASK_AGAIN: Final = "no-cache"


@cache
def loaded_assets() -> Assets:
    """Return the files of the dashboard, read at the first request."""
    return read_assets()


def page_at(path: str) -> Callable[[], Response]:
    """Return what answers the path of a page: the script reads the path and shows the page."""

    def read_page() -> Response:
        return _page(path)

    return read_page


def _page(path: str) -> Response:
    assets = loaded_assets()
    nonce = secrets.token_urlsafe(16)
    page = assets.index.replace("{{preloads}}", _preloads(assets.libraries[unnamed(path)]))
    page = page.replace("{{assets}}", f"/assets/{assets.digest}").replace("{{nonce}}", nonce)
    return Response(
        page,
        media_type="text/html",
        headers={"Cache-Control": "no-store", "Content-Security-Policy": content_policy(nonce)},
    )


for _path in PAGES:
    router.api_route(_path, methods=_READING)(page_at(_path))


@router.api_route("/favicon.ico", methods=_READING)
def read_icon() -> Response:
    """Answer browsers that request the icon at its traditional path."""
    return _file("icon.svg", _ASK_AGAIN, "", "")


@router.api_route("/assets/{digest}/{path:path}", methods=_READING)
def read_asset(
    digest: Annotated[str, Path()],
    path: Annotated[str, Path()],
    if_none_match: Annotated[str, Header()] = "",
    accept_encoding: Annotated[str, Header()] = "",
) -> Response:
    """Return one file.

    A page opened before an update requests an old digest. It gets the current file, which is not
    cached.
    """
    is_current = digest == loaded_assets().digest
    caching = _FOR_EVER if is_current else _ASK_AGAIN
    return _file(path, caching, if_none_match, accept_encoding)


def content_policy(nonce: str) -> str:
    """Return the Content-Security-Policy of a page.

    The nonce is for the one style sheet that the text editor creates at run time.
    """
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self'",
            "font-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


def _file(path: str, caching: str, if_none_match: str, accept_encoding: str) -> Response:
    asset = loaded_assets().files.get(path)
    if asset is None:
        raise Refusal(HTTPStatus.NOT_FOUND, "The dashboard has no such file.")
    etag = f'"{asset.etag}"'
    headers = {"Cache-Control": caching, "ETag": etag, "Vary": "Accept-Encoding"}
    if etag in if_none_match:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    if asset.packed is not None and "gzip" in accept_encoding:
        headers["Content-Encoding"] = "gzip"
        return Response(asset.packed, media_type=asset.media_type, headers=headers)
    return Response(asset.body, media_type=asset.media_type, headers=headers)


def _preloads(libraries: Iterable[str]) -> str:
    """Return preload links, so that all that a page needs is fetched in parallel."""
    return "\n    ".join(
        f'<link rel="modulepreload" href="{{{{assets}}}}/{path}" />' for path in libraries
    )
