"""Streams are registered, read, listed and redefined."""

from typing import Annotated

from fastapi import Path, Response
from sqlalchemy.orm import Session

from api.paging import Cursor, Limit, Page, decoded_cursor, encoded_cursor
from api.preconditions import IfMatch, quoted
from api.problems import Flaw, documented, invalid
from api.processors.fitness import misfits
from api.routing import slice_router
from api.security import Admin, ViewerOrJob
from api.streams import repository, service
from api.streams.schemas import StreamDocument, StreamName, StreamView
from api.streams.tables import Stream
from api.transactions import Read, Write

router = slice_router("/v1/streams", "streams")

NameInPath = Annotated[StreamName, Path()]


@router.post("", status_code=201, responses=documented(409))
def register_stream(
    document: StreamDocument, _principal: Admin, write: Write, response: Response
) -> StreamView:
    """Register a stream; its first epoch holds no processor."""
    stream = service.register(write, document)
    response.headers["Location"] = f"/v1/streams/{stream.name}"
    return _shown(write.session, stream, response)


@router.get("")
def list_streams(
    _principal: ViewerOrJob, session: Read, cursor: Cursor = None, limit: Limit = 50
) -> Page[StreamView]:
    """Return the streams by name."""
    after = decoded_cursor(cursor, str)[0] if cursor else ""
    found = repository.streams_after(session, after, limit + 1)
    next_cursor = encoded_cursor(found[limit - 1].name) if len(found) > limit else None
    return Page(
        items=[service.view(session, stream) for stream in found[:limit]], next_cursor=next_cursor
    )


@router.get("/{name}", responses=documented(404))
def read_stream(
    name: NameInPath, _principal: ViewerOrJob, session: Read, response: Response
) -> StreamView:
    """Return a stream."""
    return _shown(session, service.existing_stream(session, name), response)


@router.put("/{name}", responses=documented(404, 412, 428))
def redefine_stream(
    name: NameInPath,
    document: StreamDocument,
    _principal: Admin,
    write: Write,
    response: Response,
    if_match: IfMatch = None,
) -> StreamView:
    """Give a stream a new definition; every published rule must still fit it."""
    if document.name != name:
        flaw = Flaw(
            pointer="/name",
            detail=f"It is '{document.name}', the path says '{name}'.",
            remedy="A name stays; register another stream instead.",
        )
        raise invalid("stream document", [flaw])
    schema = service.check_definition(document)
    stream = service.locked_stream(write, name)
    if flaws := misfits(write.session, stream.name, schema):
        raise invalid("new definition does not fit what is published: it", flaws)
    return _shown(write.session, service.redefine(write, stream, document, if_match), response)


def _shown(session: Session, stream: Stream, response: Response) -> StreamView:
    response.headers["ETag"] = quoted(service.etag(stream))
    return service.view(session, stream)
