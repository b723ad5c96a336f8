"""Health and metrics. Health is open, so that load balancers need no token; it reveals little."""

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import Depends, Request, Response
from fastapi.security import HTTPAuthorizationCredentials
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from api.access.authentication import authenticated, bearer, token_sha256, token_text
from api.access.confined import require_all_streams
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.store.unavailable import StoreUnavailable
from api.web.problems import Refusal, documented

router = slice_router("", "operations")


class Health(BaseModel):
    """The service answers."""

    status: Literal["ok"] = "ok"


@router.get("/healthz")
async def is_alive() -> Health:
    """Say that the process runs."""
    return Health()


@router.get("/readyz", responses=documented(503))
async def is_ready(runtime: CurrentRuntime) -> Health:
    """Say whether to send requests here: the store answers, and no stop has begun."""
    if runtime.bell.is_closed or not await runtime.readiness.is_ready():
        raise Refusal(
            HTTPStatus.SERVICE_UNAVAILABLE, "The store is not ready, or a stop has begun."
        )
    return Health()


async def may_read_metrics(
    request: Request,
    runtime: CurrentRuntime,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> None:
    """Let every valid token of all streams pass, and everybody if the operator has opened them.

    While the store is away a token passes that was valid when it was last used: the metrics of this
    process are wanted most of all then, and those of jobs are not among them.

    Raises:
        Refusal: no valid token (401), or one that is confined to some streams (403).
        StoreUnavailable: nobody knows whether the token is valid.
    """
    if runtime.settings.metrics_open:
        return
    if await runtime.readiness.is_ready():
        require_all_streams(await authenticated(request, runtime, credentials))
    elif not runtime.known_tokens.sees_all(token_sha256(token_text(request, credentials))):
        raise StoreUnavailable("a token cannot be looked up")


@router.get(
    "/metrics",
    dependencies=[Depends(may_read_metrics)],
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def read_metrics(runtime: CurrentRuntime) -> Response:
    """Return the metrics of this process in the text format of Prometheus.

    Those of jobs are read from the store. While that cannot be used `percept_store_up` is 0, and
    they are left out.
    """
    await runtime.readiness.is_ready()
    runtime.metrics.waiting_readers.set(runtime.bell.waiting_readers)
    text = await run_in_threadpool(generate_latest, runtime.metrics.registry)
    return Response(text, media_type=CONTENT_TYPE_LATEST)
