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
from api.web.preconditions import TAGGED, IfNoneMatch, not_modified, tagged
from api.web.problems import documented, not_found
from cep.definition.document import StreamName
from contract.snapshot import Snapshot

router = slice_router("/v1/streams/{name}", "snapshots", for_confined=True)


async def _cache(request: Request) -> SnapshotCache:
    cache: SnapshotCache = request.app.state.snapshot_cache
    return cache


@router.get(
    "/snapshot",
    response_model=Snapshot,
    responses={
        200: TAGGED,
        304: {"description": "Unchanged, also at the end of the wait."},
        **documented(404),
    },
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
            known = not_modified(if_none_match, served.etag)
            if known is None:
                return _answer(served)
            if remaining_seconds <= 0 or runtime.bell.is_closed:
                return known
            try:
                await asyncio.wait_for(rung.wait(), remaining_seconds)
            except TimeoutError:
                continue


@router.get(
    "/epochs/{epoch}",
    response_model=Snapshot,
    responses={200: TAGGED, 304: {"description": "Known already."}, **documented(404)},
)
def read_epoch(
    name: Annotated[StreamName, Path()],
    epoch: Annotated[int, Path(ge=1, lt=2**53)],
    runtime: CurrentRuntime,
    _principal: ViewerOrJob,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Return the snapshot of an epoch, byte for byte as it was when it was the newest."""
    with runtime.database.reading() as session:
        stream = existing_stream(session, name)
        if epoch > stream.epoch:
            newest = f"The newest is {stream.epoch}."
            raise not_found("epoch", str(epoch), newest, of=f"stream '{name}'")
        served = snapshot_at(session, stream, epoch)
    for_ever = {"Cache-Control": "private, max-age=31536000, immutable"}
    return not_modified(if_none_match, served.etag) or _answer(served, for_ever)


def _newest(runtime: Runtime, cache: SnapshotCache, name: str) -> ServedSnapshot:
    with runtime.database.reading() as session:
        served = cache.newest(session, existing_stream(session, name))
    runtime.metrics.epochs.labels(name).set(served.epoch)
    return served


def _answer(served: ServedSnapshot, headers: dict[str, str] | None = None) -> Response:
    answer = Response(served.body, media_type="application/json")
    tagged(answer, served.etag)
    answer.headers.update(headers or {})
    return answer
