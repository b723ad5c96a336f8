"""Health and metrics. Health is open, so that load balancers need no token; it tells little."""

from http import HTTPStatus
from typing import Annotated, Literal

from fastapi import Depends, Request, Response
from fastapi.security import HTTPAuthorizationCredentials
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel

from api.access.authentication import Requires, Role, authenticated, bearer
from api.health.readiness import Readiness
from api.routing import slice_router
from api.runtime import CurrentRuntime
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
async def is_ready(request: Request, runtime: CurrentRuntime) -> Health:
    """Say whether to send requests here: the store answers, and no stop has begun."""
    readiness: Readiness = request.app.state.readiness
    if runtime.bell.is_closed or not await readiness.is_ready():
        raise Refusal(
            HTTPStatus.SERVICE_UNAVAILABLE, "The store is not ready, or a stop has begun."
        )
    return Health()


async def may_read_metrics(
    request: Request,
    runtime: CurrentRuntime,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> None:
    """Let viewers and jobs pass, and everybody if the operator has opened the metrics.

    Raises:
        Refusal: no valid token (401), or not the role (403).
    """
    if not runtime.settings.metrics_open:
        principal = await authenticated(request, runtime, credentials)
        await Requires(Role.VIEWER, jobs=True)(principal)


@router.get(
    "/metrics",
    dependencies=[Depends(may_read_metrics)],
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def read_metrics(runtime: CurrentRuntime) -> Response:
    """Return the metrics of this process in the text format of Prometheus."""
    runtime.metrics.waiting_readers.set(runtime.bell.waiting_readers)
    return Response(generate_latest(runtime.metrics.registry), media_type=CONTENT_TYPE_LATEST)
