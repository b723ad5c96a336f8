"""A stream is given a new definition, or another number of approvals that its changes need.

The rules that are published on it must still fit the definition. The number is no part of it:
whoever applies files with an admin's token must not lower it by what a file says.
"""

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Response
from sqlalchemy.orm import Session

from api.access.authentication import Admin
from api.list_store.schemas import with_lists
from api.processors import repository
from api.processors.checks import definition_flaws
from api.routing import slice_router
from api.streams import service
from api.streams.endpoints import NameInPath, shown
from api.streams.repository import stream_of
from api.transactions import Write
from api.web.preconditions import (
    CREATED,
    TAGGED,
    IfMatch,
    IfNew,
    exists_already,
    is_creation,
)
from api.web.problems import documented, invalid
from cep.expression import Schema
from contract.service.problems import Flaw
from contract.service.streams import ApprovalsDocument, StreamDocument, StreamView

router = slice_router("/v1/streams", "streams", for_confined=True)

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class FormerState:
    """What a PUT says of what it replaces: its ETag, or that there is nothing."""

    if_match: IfMatch = None
    if_new: IfNew = None


@router.put(
    "/{name}",
    responses={200: TAGGED, 201: {**CREATED, "model": StreamView}, **documented(404, 412, 428)},
)
def redefine_stream(
    name: NameInPath,
    document: StreamDocument,
    _principal: Admin,
    write: Write,
    response: Response,
    state: Annotated[FormerState, Depends()],
) -> StreamView:
    """Give a stream a new definition; every published rule must still fit it.

    With `If-None-Match: *` it is registered (201), and nothing is changed if there is one (412).
    """
    if document.name != name:
        flaw = Flaw(
            pointer="/name",
            detail=f"It is '{document.name}', the path says '{name}'.",
            remedy="A name stays; register another stream instead.",
        )
        raise invalid("stream document", [flaw])
    if is_creation(state.if_match, state.if_new):
        if there := stream_of(write.session, name):
            raise exists_already(f"Stream '{name}'", service.etag(there))
        response.status_code = HTTPStatus.CREATED
        response.headers["Location"] = f"/v1/streams/{name}"
        return shown(write.session, service.register(write, document), response)
    schema = service.check_definition(document)
    stream = service.locked_stream(write, name)
    if flaws := _misfits(write.session, stream.name, schema):
        raise invalid("new definition does not fit what is published: it", flaws)
    return shown(write.session, service.redefine(write, stream, document, state.if_match), response)


@router.put("/{name}/approvals", responses={200: TAGGED, **documented(404, 412, 428)})
def set_required_approvals(
    name: NameInPath,
    document: ApprovalsDocument,
    _principal: Admin,
    write: Write,
    response: Response,
    if_match: IfMatch = None,
) -> StreamView:
    """Set how many people must approve a change of what runs on a stream, from now on."""
    stream = service.locked_stream(write, name)
    changed = service.require_approvals(write, stream, document, if_match)
    return shown(write.session, changed, response)


def _misfits(session: Session, stream: str, schema: Schema) -> list[Flaw]:
    """Return what a new schema would break in published versions, twenty places at most."""
    found: list[Flaw] = []
    schema = with_lists(session, stream, schema)
    for version in repository.live_versions(session, stream):
        for flaw in definition_flaws(json.loads(version.definition), schema):
            who = f"Rule '{version.processor_id}', version {version.version}, {flaw.pointer}"
            found.append(
                flaw.model_copy(update={"pointer": "/schema", "detail": f"{who}: {flaw.detail}"})
            )
        if len(found) >= _SHOWN:
            break
    return found[:_SHOWN]
