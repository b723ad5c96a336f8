"""Lists of a stream are created, read, described and deleted; jobs fetch their contents."""

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends, Header, Path, Query, Request, Response
from sqlalchemy.orm import Session

from api.access.authentication import Author, Publisher, Viewer, ViewerOrJob
from api.list_store import repository
from api.list_store.contents import DecodedContents, unpacked
from api.list_store.tables import StoredList
from api.lists import service, views
from api.lists.reading import (
    ValuesFilter,
    ValuesResponse,
    csv_lines,
    page_begins,
    values_of,
    values_page,
)
from api.routing import slice_router
from api.streams.service import existing_stream
from api.transactions import Read, Write
from api.web.paging import Cursor, Limit, cursor_behind, place_in
from api.web.preconditions import CREATED, TAGGED, IfMatch, tagged
from api.web.problems import documented, not_found
from cep.definition.document import StreamName
from cep.definition.list_documents import ListName
from contract.service.lists import (
    ListDocument,
    ListPatch,
    ListSummary,
    ListVersionView,
    ListView,
    ValuesPage,
)
from contract.service.pages import Page

router = slice_router("/v1/streams/{stream}/lists", "lists", for_confined=True)

StreamInPath = Annotated[StreamName, Path()]
NameInPath = Annotated[ListName, Path()]

_FOR_EVER = "private, max-age=31536000, immutable"


async def _decoded(request: Request) -> DecodedContents:
    contents: DecodedContents = request.app.state.list_contents
    return contents


Decoded = Annotated[DecodedContents, Depends(_decoded)]


@dataclass(frozen=True, slots=True)
class ListInPath:
    """The list that a request to read is about."""

    stream: StreamInPath
    name: NameInPath
    session: Read

    def stored(self) -> StoredList:
        """Return the list.

        Raises:
            Refusal: there is no such stream or list (404).
        """
        existing_stream(self.session, self.stream)
        return service.existing_list(self.session, self.stream, self.name)


@dataclass(frozen=True, slots=True)
class ChangeOfList:
    """What each change of a list has: which one, made from which state, and its answer."""

    stream: StreamInPath
    name: NameInPath
    write: Write
    response: Response
    if_match: IfMatch = None

    def stored(self, *, in_any_state: bool = False) -> StoredList:
        """Return the list, locked, in the state the change was made from.

        Raises:
            Refusal: there is none (404), or the change was made from another state (412, 428).
        """
        if_match = "*" if in_any_state and self.if_match is None else self.if_match
        return service.locked_list(self.write, self.stream, self.name, if_match)

    def shown(self, stored: StoredList) -> ListView:
        """Return what the list has become, its ETag set in the answer."""
        return _shown(self.write.session, stored, self.response)


@dataclass(frozen=True, slots=True)
class AnswerShape:
    """In which form values are answered, and which page of them."""

    form: Annotated[
        Literal["json", "csv"] | None,
        Query(alias="format", description="csv = all of them in one answer, as Accept: text/csv."),
    ] = None
    accept: Annotated[str, Header()] = ""
    cursor: Cursor = None
    limit: Limit = 50

    @property
    def is_csv(self) -> bool:
        """Whether all values are asked for, as CSV."""
        first = self.accept.split(",")[0].split(";")[0].strip().lower()
        return first == "text/csv" if self.form is None else self.form == "csv"


Asked = Annotated[ListInPath, Depends()]
Change = Annotated[ChangeOfList, Depends()]


@router.post("", status_code=201, responses={201: CREATED, **documented(404, 409)})
def create_list(
    stream: StreamInPath,
    document: ListDocument,
    _principal: Publisher,
    write: Write,
    response: Response,
) -> ListView:
    """Add a list to a stream, without values; put them with PUT …/values."""
    stored = service.create(write, stream, document)
    response.headers["Location"] = f"/v1/streams/{stream}/lists/{stored.name}"
    return _shown(write.session, stored, response)


@router.get("", responses=documented(404))
def list_lists(
    stream: StreamInPath,
    _principal: Viewer,
    session: Read,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[ListSummary]:
    """Return the lists of a stream by name."""
    existing_stream(session, stream)
    after = place_in(cursor, "")
    found = repository.lists_after(session, stream, after, limit + 1)
    next_cursor = cursor_behind(found, limit, lambda last: (last.name,))
    return Page(items=views.summaries(session, stream, found[:limit]), next_cursor=next_cursor)


@router.get("/{name}", responses={200: TAGGED, **documented(404)})
def read_list(asked: Asked, _principal: Viewer, response: Response) -> ListView:
    """Return a list: what jobs are given of it, and which rules name it."""
    return _shown(asked.session, asked.stored(), response)


@router.patch("/{name}", responses={200: TAGGED, **documented(404, 412, 428)})
def describe_list(patch: ListPatch, _principal: Author, change: Change) -> ListView:
    """Say what a list is for; neither a version nor an epoch is made."""
    return change.shown(service.describe(change.write, change.stored(), patch.description))


@router.delete("/{name}", status_code=204, responses=documented(404, 409, 412, 428))
def delete_list(_principal: Publisher, change: Change) -> None:
    """Take a list and its values away, unless a rule names it; the log of its versions stays."""
    service.delete(change.write, change.stored())


@router.get(
    "/{name}/values",
    response_model=ValuesPage,
    responses={
        200: {"content": {"text/csv": {"schema": {"type": "string"}}}},
        **documented(404, 409),
    },
)
def read_values(
    asked: Asked,
    _principal: Viewer,
    contents: Decoded,
    wanted: Annotated[ValuesFilter, Depends()],
    shape: Annotated[AnswerShape, Depends()],
) -> ValuesPage | ValuesResponse:
    """Return values of a list, in order: a page of them or, as CSV, all."""
    stored = asked.stored()
    start = 0
    named = wanted.version
    if not shape.is_csv:
        named, start = page_begins(wanted, shape.cursor)
    version, values = values_of(asked.session, contents, stored, named)
    if not shape.is_csv:
        return values_page(version, values, wanted, start, shape.limit)
    file_name = f"{stored.name}-{version.version}.csv"
    return ValuesResponse(
        csv_lines(values, wanted),
        headers={
            "Content-Disposition": f'attachment; filename="{file_name}"',
            "Cache-Control": "no-store",
        },
    )


@router.get("/{name}/versions", responses=documented(404))
def list_list_versions(
    asked: Asked, _principal: Viewer, cursor: Cursor = None, limit: Limit = 50
) -> Page[ListVersionView]:
    """Return the log of a list: its versions, newest first."""
    stored = asked.stored()
    below = place_in(cursor, stored.latest_version + 1)
    session, stream, name = asked.session, stored.stream, stored.name
    found = repository.versions_below(session, stream, name, below, limit + 1)
    next_cursor = cursor_behind(found, limit, lambda last: (last.version,))
    return Page(items=[views.version_view(each) for each in found[:limit]], next_cursor=next_cursor)


@router.get(
    "/contents/{digest}",
    response_class=Response,
    responses={
        200: {
            "description": "The canonical content: a JSON array of values, in order.",
            "content": {
                "application/json": {
                    "schema": {"type": "array", "items": {}},
                    "example": ["ana", "eve"],
                }
            },
        },
        **documented(404),
    },
)
def read_list_content(
    stream: StreamInPath,
    digest: Annotated[str, Path(pattern="^[0-9a-f]{64}$")],
    _principal: ViewerOrJob,
    session: Read,
    accept_encoding: Annotated[str, Header()] = "",
) -> Response:
    """Return a content that snapshots of the stream name, byte for byte, for jobs."""
    existing_stream(session, stream)
    content = repository.served_content(session, stream, digest)
    if content is None:
        remedy = "No version that is kept has it. Read the newest snapshot."
        raise not_found("list content", digest, remedy, of=f"stream '{stream}'")
    headers = {"Cache-Control": _FOR_EVER, "Vary": "Accept-Encoding"}
    if _takes_gzip(accept_encoding):
        headers["Content-Encoding"] = "gzip"
        return Response(content.compressed, headers=headers, media_type="application/json")
    return Response(unpacked(content), headers=headers, media_type="application/json")


def _takes_gzip(accept_encoding: str) -> bool:
    for part in accept_encoding.lower().split(","):
        coding, _, weight = part.partition(";")
        if coding.strip() in {"gzip", "*"}:
            return weight.replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False


def _shown(session: Session, stored: StoredList, response: Response) -> ListView:
    session.flush()
    tagged(response, service.etag(stored))
    return views.list_view(session, stored)
