"""Who asks, and what that role may do; every route names the least role it needs.

A token that is confined to some streams confines all sessions that its request opens.

`viewer < author < publisher < admin`; `job` stands beside them and may use only what a streaming
job needs. docs/api.md lists the same, and a test compares the two.
"""

import hashlib
import hmac
import json
import math
import secrets
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from api.access import repository
from api.access.tables import Token
from api.runtime import CurrentRuntime, Runtime
from api.store.confinement import confine
from api.web.cross_site import refuse_cross_site
from api.web.problems import Refusal
from contract.service.tokens import Role

TOKEN_PREFIX: Final = "percept_"  # noqa: S105 - no secret, but what secret scanners look for
SESSION_COOKIE: Final = "percept_session"  # holds a token; set by api.dashboard.session

_FAILED_LOGIN_COST = 10  # a wrong token empties the bucket of its address ten times as fast


_RANKS: Final = (Role.VIEWER, Role.AUTHOR, Role.PUBLISHER, Role.ADMIN)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who makes a request: the name and role of its token, and whose it is, if that is known.

    `streams` are those that the token is confined to; `None` = all streams.
    """

    name: str
    role: Role
    token_id: str
    person: str = ""
    streams: frozenset[str] | None = None

    @property
    def identity(self) -> str:
        """What approvals are counted by: the person, or else the name; in lower case."""
        return (self.person or self.name).lower()

    def has(self, least: Role) -> bool:
        """Return whether the role is `least` or stands above it."""
        return self.role in _RANKS and _RANKS.index(self.role) >= _RANKS.index(least)


def new_token_text() -> str:
    """Return the text of a new token: 256 random bits behind a prefix."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def token_sha256(text: str) -> str:
    """Return what is stored of a token, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


bearer = HTTPBearer(
    auto_error=False, description="An access token: `percept token create NAME --role ROLE`."
)


async def authenticated(
    request: Request,
    runtime: CurrentRuntime,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Principal:
    """Return who makes the request, by its header or, without one, by the session cookie.

    It is found out, and the request counted, once. From then on its sessions are confined.

    Raises:
        Refusal: without a valid token (401), after too many requests (429), or by cookie from a
            page of another site (403).
    """
    known: Principal | None = getattr(request.state, "principal", None)
    if known is not None:
        confine(known.streams)
        return known
    return await principal_of(request, runtime, token_text(request, credentials))


def token_text(request: Request, credentials: HTTPAuthorizationCredentials | None) -> str:
    """Return the token in a request, by header or cookie; "" if there is none.

    Raises:
        Refusal: it is in the cookie, and the request may come from a page of another site (403).
    """
    if credentials is not None or "Authorization" in request.headers:
        return credentials.credentials if credentials else ""
    text = request.cookies.get(SESSION_COOKIE, "")
    if text:
        refuse_cross_site(request)
    return text


async def principal_of(request: Request, runtime: Runtime, text: str) -> Principal:
    """Return whose token this is, confine the request to its streams, and count it.

    Raises:
        Refusal: it is no valid token (401), or there were too many requests (429).
    """
    address = f"address {request.client.host if request.client else ''}"
    sha256 = token_sha256(text)
    if not runtime.known_tokens.holds(sha256):
        # Whoever tries one wrong token after the other costs the store nothing in the end.
        _refuse_too_many(runtime, runtime.rate_limits.wait_for(address, _FAILED_LOGIN_COST))
    principal = None
    confine(None)  # tokens are of no stream: whoever was confined before, all are looked at
    if text.startswith(TOKEN_PREFIX):
        principal = await run_in_threadpool(_principal, runtime, sha256)
    if principal is None:
        runtime.known_tokens.forget(sha256)
        _refuse_too_many(runtime, runtime.rate_limits.take(address, _FAILED_LOGIN_COST))
        runtime.metrics.refusals.inc()
        reason = "The token is not valid." if text else "A token is needed."
        raise Refusal(
            HTTPStatus.UNAUTHORIZED,
            f"{reason} Send it as: Authorization: Bearer {TOKEN_PREFIX}…",
            headers={"WWW-Authenticate": "Bearer"},
        )
    runtime.known_tokens.add(sha256, of_all_streams=principal.streams is None)
    request.state.principal = principal
    confine(principal.streams)
    caller = f"token {principal.token_id}"
    wait_seconds = runtime.rate_limits.take(caller)
    request.state.rate_limit = runtime.rate_limits.headers(caller)  # sent by RequestObserver
    _refuse_too_many(runtime, wait_seconds)
    return principal


def _refuse_too_many(runtime: Runtime, wait_seconds: float) -> None:
    if wait_seconds:
        raise Refusal(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"More than {runtime.settings.requests_per_second:g} requests a second.",
            headers={"Retry-After": str(math.ceil(wait_seconds))},
        )


@dataclass(frozen=True, slots=True)
class Requires:
    """A dependency: the principal, if its role is `least` or above, or is `job` where jobs may."""

    least: Role
    jobs: bool = False

    async def __call__(self, principal: Annotated[Principal, Depends(authenticated)]) -> Principal:
        """Return the principal.

        Raises:
            Refusal: the role may not do this (403).
        """
        if principal.has(self.least) or (self.jobs and principal.role is Role.JOB):
            return principal
        raise Refusal(
            HTTPStatus.FORBIDDEN,
            f"Your role ({principal.role}) is not allowed to do this; {self.least}"
            f"{' or job' if self.jobs else ''} is required.",
        )

    async def admit(self, request: Request, runtime: Runtime) -> None:
        """Let a request pass before anything of it is read but its head.

        Raises:
            Refusal: see `authenticated`; the role may not do this (403).
        """
        await self(await authenticated(request, runtime, await bearer(request)))


Viewer = Annotated[Principal, Depends(Requires(Role.VIEWER))]
ViewerOrJob = Annotated[Principal, Depends(Requires(Role.VIEWER, jobs=True))]
Author = Annotated[Principal, Depends(Requires(Role.AUTHOR))]
Publisher = Annotated[Principal, Depends(Requires(Role.PUBLISHER))]
Admin = Annotated[Principal, Depends(Requires(Role.ADMIN))]
Job = Annotated[Principal, Depends(Requires(Role.ADMIN, jobs=True))]


def streams_of(token: Token) -> frozenset[str] | None:
    """Return the streams that a token is confined to; `None` = all streams."""
    return None if token.streams is None else frozenset(json.loads(token.streams))


def _principal(runtime: Runtime, sha256: str) -> Principal | None:
    with runtime.database.reading() as session:
        token = repository.token_of_hash(session, sha256)
    if token is None or not hmac.compare_digest(token.sha256, sha256):
        return None
    if token.revoked_at_ms is not None:
        return None
    if token.expires_at_ms is not None and token.expires_at_ms <= runtime.now_ms():
        return None
    return Principal(token.name, Role(token.role), token.id, token.person, streams_of(token))
