"""Streams are registered, read and listed; `api.redefinition` changes them."""

from typing import Annotated

from fastapi import Path, Response
from sqlalchemy.orm import Session

from api.access.authentication import Admin, ViewerOrJob
from api.routing import slice_router
from api.streams import repository, service
from api.streams.tables import Stream
from api.transactions import Read, Write
from api.web.paging import Cursor, Limit, cursor_behind, place_in
from api.web.preconditions import CREATED, TAGGED, tagged
from api.web.problems import documented
from cep.definition.document import StreamName
from contract.service.pages import Page
from contract.service.streams import StreamDocument, StreamView

router = slice_router("/v1/streams", "streams", for_confined=True)

NameInPath = Annotated[StreamName, Path()]


@router.post("", status_code=201, responses={201: CREATED, **documented(404, 409)})
def register_stream(
    document: StreamDocument, _principal: Admin, write: Write, response: Response
) -> StreamView:
    """Register a stream; its first epoch holds no processor."""
    stream = service.register(write, document)
    response.headers["Location"] = f"/v1/streams/{stream.name}"
    return shown(write.session, stream, response)


@router.get("")
def list_streams(
    _principal: ViewerOrJob, session: Read, cursor: Cursor = None, limit: Limit = 50
) -> Page[StreamView]:
    """Return the streams by name."""
    after = place_in(cursor, "")
    found = repository.streams_after(session, after, limit + 1)
    next_cursor = cursor_behind(found, limit, lambda last: (last.name,))
    return Page(
        items=[service.view(session, stream) for stream in found[:limit]], next_cursor=next_cursor
    )


@router.get("/{name}", responses={200: TAGGED, **documented(404)})
def read_stream(
    name: NameInPath, _principal: ViewerOrJob, session: Read, response: Response
) -> StreamView:
    """Return a stream."""
    return shown(session, service.existing_stream(session, name), response)


def shown(session: Session, stream: Stream, response: Response) -> StreamView:
    """Return the view of a stream, its ETag set in the answer."""
    tagged(response, service.etag(stream))
    return service.view(session, stream)
