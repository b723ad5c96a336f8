"""Rules are snoozed, and woken again; what is snoozed is listed."""

from typing import Annotated

from fastapi import Path, Response

from api.access.authentication import Publisher, Viewer
from api.processors.endpoints import IdInPath
from api.processors.views import existing_processor
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.snooze_store import repository
from api.snoozes import service
from api.streams.endpoints import NameInPath
from api.streams.service import existing_stream
from api.transactions import Read, Write
from api.web.problems import documented
from contract.service.snoozes import NewSnooze, Snoozes, SnoozeView

router = slice_router("/v1", "snoozes", for_confined=True)

NumberInPath = Annotated[int, Path(ge=1, lt=2**53)]


@router.get("/processors/{processor_id}/snoozes", responses=documented(404))
def list_snoozes(
    processor_id: IdInPath, _principal: Viewer, session: Read, runtime: CurrentRuntime
) -> Snoozes:
    """List the snoozes of a rule, those that are over by the clock among them."""
    processor = existing_processor(session, processor_id)
    found = repository.open_snoozes(session, processor.stream, processor.id)
    now_ms = runtime.now_ms()
    return Snoozes(items=[service.snooze_view(each, now_ms) for each in found])


@router.get("/streams/{stream}/snoozes", responses=documented(404))
def list_snoozes_of_stream(
    stream: NameInPath, _principal: Viewer, session: Read, runtime: CurrentRuntime
) -> Snoozes:
    """List the snoozes of all rules of a stream."""
    existing_stream(session, stream)
    now_ms = runtime.now_ms()
    found = repository.open_snoozes(session, stream)
    return Snoozes(items=[service.snooze_view(each, now_ms) for each in found])


@router.post("/processors/{processor_id}/snoozes", status_code=201, responses=documented(404, 409))
def snooze_processor(
    processor_id: IdInPath,
    wanted: NewSnooze,
    _principal: Publisher,
    write: Write,
    response: Response,
) -> SnoozeView:
    """Hold the matches of a rule back, of one key or all, until a time; they are kept, and counted.

    It is event time, and begins with the events that jobs have not read yet. One for the same key
    takes the place of that before. The rule's revision stays, so no If-Match is asked for.
    """
    begun = service.snooze(write, existing_processor(write.session, processor_id), wanted)
    response.headers["Location"] = f"/v1/processors/{processor_id}/snoozes/{begun.number}"
    return service.snooze_view(begun, write.now_ms)


@router.delete(
    "/processors/{processor_id}/snoozes/{number}", status_code=204, responses=documented(404)
)
def end_snooze(
    processor_id: IdInPath, number: NumberInPath, _principal: Publisher, write: Write
) -> None:
    """End a snooze before its time, for events that jobs have not read yet."""
    service.wake(write, existing_processor(write.session, processor_id), number)
