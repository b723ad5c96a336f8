"""Signing in: a token becomes a cookie that no script can read and no other site can use.

    POST /session {token} ─► cookie ─► api.access, where a request has no Authorization header

The cookie holds the token itself: a token that is revoked or expires ends its sessions at once, and
nothing more is kept in the store.
"""

from http import HTTPStatus
from typing import Literal

from fastapi import Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from api.access.authentication import SESSION_COOKIE, Principal, principal_of
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.web.cross_site import refuse_cross_site
from api.web.problems import Refusal
from contract.service.tokens import Role

router = slice_router("/session", "dashboard")


class SignIn(BaseModel):
    """A token to sign in with."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    token: str = Field(min_length=1, max_length=200, repr=False)


class SessionView(BaseModel):
    """Who is signed in."""

    name: str
    role: Role
    token_id: str
    streams: list[str] | None = Field(description="Those it is confined to; null = all.")


class SessionOver(BaseModel):
    """Somebody was signed in, with a token that has expired or was revoked."""

    is_over: Literal[True] = True


@router.post("", dependencies=[Depends(refuse_cross_site)], include_in_schema=False)
async def sign_in(
    document: SignIn, request: Request, runtime: CurrentRuntime, response: Response
) -> SessionView:
    """Check a token and set the session cookie.

    Raises:
        Refusal: it is no valid token (401), or a job's (403).
    """
    token = document.token.strip()
    principal = await principal_of(request, runtime, token)
    if not principal.has(Role.VIEWER):
        raise Refusal(
            HTTPStatus.FORBIDDEN,
            f"This token is for jobs. Sign in with one of the role {Role.VIEWER} or above.",
        )
    response.set_cookie(
        SESSION_COOKIE,
        token,
        max_age=int(runtime.settings.session_hours * 3_600),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return _view(principal)


@router.get("", include_in_schema=False)
async def read_session(
    request: Request, runtime: CurrentRuntime
) -> SessionView | SessionOver | None:
    """Say who is signed in; null = nobody, which is no error for a page that asks."""
    token = request.cookies.get(SESSION_COOKIE, "")
    if not token:
        return None
    try:
        return _view(await principal_of(request, runtime, token))
    except Refusal as refusal:
        if refusal.status_code != HTTPStatus.UNAUTHORIZED:
            raise
        return SessionOver()


@router.delete(
    "",
    status_code=HTTPStatus.NO_CONTENT,
    dependencies=[Depends(refuse_cross_site)],
    include_in_schema=False,
)
async def sign_out(request: Request, response: Response) -> None:
    """Take the session cookie back."""
    response.delete_cookie(
        SESSION_COOKIE,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def _view(principal: Principal) -> SessionView:
    return SessionView(
        name=principal.name,
        role=principal.role,
        token_id=principal.token_id,
        streams=None if principal.streams is None else sorted(principal.streams),
    )
