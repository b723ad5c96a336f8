"""What jobs read: the newest snapshot of a stream, at once or once it changes, and old ones."""

import asyncio
from typing import Annotated

from fastapi import Depends, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from api.access.authentication import ViewerOrJob
from api.routing import slice_router
from api.runtime import CurrentRuntime, Runtime
from api.snapshots.cache import ServedSnapshot, SnapshotCache, snapshot_at
from api.streams.service import existing_stream
from api.web.preconditions import IfNoneMatch, names_tag, quoted
from api.web.problems import documented, not_found
from cep.definition.document import StreamName
from contract.snapshot import Snapshot

router = slice_router("/v1/streams/{name}", "snapshots")


async def _cache(request: Request) -> SnapshotCache:
    cache: SnapshotCache = request.app.state.snapshot_cache
    return cache


@router.get(
    "/snapshot",
    response_model=Snapshot,
    responses={304: {"description": "Unchanged, also at the end of the wait."}, **documented(404)},
)
async def read_snapshot(
    name: Annotated[StreamName, Path()],
    runtime: CurrentRuntime,
    cache: Annotated[SnapshotCache, Depends(_cache)],
    _principal: ViewerOrJob,
    if_none_match: IfNoneMatch = None,
    wait: Annotated[
        str,
        Query(
            pattern=r"^[0-9]{1,4}(\.[0-9]{1,3})?s?$",
            description="How long to wait for a change if If-None-Match names the newest epoch.",
            examples=["30s"],
        ),
    ] = "0s",
) -> Response:
    """Return all processors of a stream; with `wait`, not before something has changed."""
    wait_seconds = min(float(wait.removesuffix("s")), runtime.settings.max_wait_seconds)
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + (wait_seconds if if_none_match else 0)
    with runtime.bell.listening(name) as rung:
        while True:
            if not runtime.bell.is_closed:
                rung.clear()
            served = await run_in_threadpool(_newest, runtime, cache, name)
            remaining_seconds = ends_at - loop.time()
            if if_none_match is None or not names_tag(if_none_match, served.etag):
                return _answer(served)
            if remaining_seconds <= 0 or runtime.bell.is_closed:
                return Response(status_code=304, headers={"ETag": quoted(served.etag)})
            try:
                await asyncio.wait_for(rung.wait(), remaining_seconds)
            except TimeoutError:
                continue


@router.get("/epochs/{epoch}", response_model=Snapshot, responses=documented(404))
def read_epoch(
    name: Annotated[StreamName, Path()],
    epoch: Annotated[int, Path(ge=1, lt=2**53)],
    runtime: CurrentRuntime,
    _principal: ViewerOrJob,
) -> Response:
    """Return the snapshot of an epoch, byte for byte as it was when it was the newest."""
    with runtime.database.reading() as session:
        stream = existing_stream(session, name)
        if epoch > stream.epoch:
            raise not_found(f"epoch of stream {name}", str(epoch), f"The newest is {stream.epoch}.")
        served = snapshot_at(session, stream, epoch)
    return _answer(served, {"Cache-Control": "private, max-age=31536000, immutable"})


def _newest(runtime: Runtime, cache: SnapshotCache, name: str) -> ServedSnapshot:
    with runtime.database.reading() as session:
        served = cache.newest(session, existing_stream(session, name))
    runtime.metrics.epochs.labels(name).set(served.epoch)
    return served


def _answer(served: ServedSnapshot, headers: dict[str, str] | None = None) -> Response:
    known = {"ETag": quoted(served.etag), "Cache-Control": "private, no-cache"}
    return Response(served.body, media_type="application/json", headers=known | (headers or {}))
