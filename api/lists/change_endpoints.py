"""The values of a list are changed: put whole, added, removed, rolled back, scheduled, cancelled.

body ─► values, checked ─► prepared beside what is there ─► transaction ─► answer
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, cast

from fastapi import Depends, Path, Query, Request
from starlette.concurrency import run_in_threadpool

from api.access.authentication import Publisher
from api.list_store.contents import DecodedContents
from api.lists import service, views
from api.lists.changes import (
    ListChange,
    PreparedVersion,
    Replacement,
    Restoration,
    base_of,
    prepared,
)
from api.lists.endpoints import Change, ChangeOfList, Decoded, NameInPath, StreamInPath
from api.lists.parameters import UPLOAD, EffectiveFrom
from api.lists.uploads import given_edit, media_type_of, read_values, uploaded_body
from api.routing import slice_router
from api.runtime import CurrentRuntime
from api.web.preconditions import TAGGED, IfMatch, require_match, tagged
from api.web.problems import documented
from cep.list_content import ListType
from contract.service.lists import ListChanges, ListChangeView, ListRollback, ListView

router = slice_router("/v1/streams/{stream}/lists/{name}", "lists", for_confined=True)

_ANSWERS = {200: TAGGED, **documented(404, 409, 412, 428)}

DryRun = Annotated[bool, Query(description="Only tell what would change; nothing is written.")]


@dataclass(frozen=True, slots=True)
class ReadyChange:
    """A change whose values have been read, and the version it would make of what was there."""

    change: ListChange
    ready: PreparedVersion
    effective_from_ms: int | None


@dataclass(frozen=True, slots=True)
class WhichList:
    """The list that a change is made ready for."""

    stream: StreamInPath
    name: NameInPath
    runtime: CurrentRuntime
    contents: Decoded
    effective_from: EffectiveFrom = None

    def data_type(self, if_match: str | None) -> ListType:
        """Return the type of its values, after a look at whether it is as it was seen.

        Raises:
            Refusal: there is none (404), or it has been changed since (412, 428).
        """
        with self.runtime.database.reading() as session:
            stored = service.existing_list(session, self.stream, self.name)
        require_match(if_match, service.etag(stored))
        return cast(ListType, stored.data_type)

    def ready(self, change: ListChange) -> ReadyChange:
        """Return a change with the version it would make now.

        Raises:
            Refusal: as `prepared`.
        """
        with self.runtime.database.reading() as session:
            stored = service.existing_list(session, self.stream, self.name)
            base = base_of(session, stored, self.effective_from, self.runtime.now_ms())
            made = prepared(session, self.contents, stored, change, base)
        return ReadyChange(change, made, self.effective_from)


@dataclass(frozen=True, slots=True)
class UploadForm:
    """How the body of an upload is to be read."""

    header: Annotated[
        bool, Query(description="The first line of CSV is the name of the column.")
    ] = False


async def uploaded_values(
    request: Request,
    which: Annotated[WhichList, Depends()],
    _principal: Publisher,
    form: Annotated[UploadForm, Depends()],
    if_match: IfMatch = None,
) -> ReadyChange:
    """Return the whole content in the body, beside the values that the list has.

    Raises:
        Refusal: the list is not there (404) or not as it was seen (412, 428), or the body is too
            long, too slow, unreadable or wrong.
        Overloaded: too many uploads are under way.
    """
    media_type = media_type_of(request)
    data_type = await run_in_threadpool(which.data_type, if_match)
    body = await uploaded_body(request, which.runtime)

    def ready() -> ReadyChange:
        values = read_values(data_type, body, media_type, has_header=form.header)
        return which.ready(Replacement(frozenset(values)))

    return await which.runtime.parsers.run(ready)


async def given_changes(
    changes: ListChanges, which: Annotated[WhichList, Depends()], _principal: Publisher
) -> ReadyChange:
    """Return values to be added and removed, beside the values that the list has.

    Raises:
        Refusal: the list is not there (404), or values are wrong (422).
        Overloaded: too many uploads are under way.
    """
    data_type = await run_in_threadpool(which.data_type, "*")
    edit = given_edit(data_type, changes.add, changes.remove)
    return await which.runtime.parsers.run(partial(which.ready, edit))


async def wanted_rollback(
    target: ListRollback, which: Annotated[WhichList, Depends()], _principal: Publisher
) -> ReadyChange:
    """Return the values of an old version, beside those that the list has.

    Raises:
        Refusal: there is no such list or version (404), or its values are kept no longer (409).
        Overloaded: too many uploads are under way.
    """
    return await which.runtime.parsers.run(partial(which.ready, Restoration(target.version)))


@router.put("/values", responses=_ANSWERS | documented(415, 400, 408), openapi_extra=UPLOAD)
def put_values(
    _principal: Publisher,
    ready: Annotated[ReadyChange, Depends(uploaded_values)],
    contents: Decoded,
    change: Change,
    dry_run: DryRun = False,  # noqa: FBT002 - a parameter of the query
) -> ListChangeView:
    """Give a list these values instead of those it has: CSV of one column, or a JSON array.

    Bad lines are told, the first 100, and then nothing is taken.
    """
    return _changed(change, ready, contents, dry_run=dry_run)


@router.post("/changes", responses=_ANSWERS)
def change_values(
    _principal: Publisher,
    ready: Annotated[ReadyChange, Depends(given_changes)],
    contents: Decoded,
    change: Change,
    dry_run: DryRun = False,  # noqa: FBT002 - a parameter of the query
) -> ListChangeView:
    """Add values to a list and remove some; others stay. It needs no If-Match."""
    return _changed(change, ready, contents, dry_run=dry_run, in_any_state=True)


@router.post("/rollback", responses=_ANSWERS)
def roll_back_list(
    _principal: Publisher,
    ready: Annotated[ReadyChange, Depends(wanted_rollback)],
    contents: Decoded,
    change: Change,
    dry_run: DryRun = False,  # noqa: FBT002 - a parameter of the query
) -> ListChangeView:
    """Give a list the values of an old version, as a new one."""
    return _changed(change, ready, contents, dry_run=dry_run)


@router.post("/versions/{version}/cancel", responses=_ANSWERS)
def cancel_list_version(
    version: Annotated[int, Path(ge=1, lt=2**31)], _principal: Publisher, change: Change
) -> ListView:
    """Take back a scheduled version; what was published before it goes on."""
    return change.shown(service.cancel(change.write, change.stored(), version))


def _changed(
    change: ChangeOfList,
    given: ReadyChange,
    contents: DecodedContents,
    *,
    dry_run: bool,
    in_any_state: bool = False,
) -> ListChangeView:
    stored = change.stored(in_any_state=in_any_state)
    done = service.change_values(
        change.write,
        contents,
        stored,
        given.change,
        given.effective_from_ms,
        given.ready,
        dry_run=dry_run,
    )
    view = views.change_view(change.write.session, done)
    tagged(change.response, service.etag(stored))
    return view
