"""A stream is given a new definition; the rules that are published on it must still fit."""

import json

from fastapi import Response
from sqlalchemy.orm import Session

from api.access.authentication import Admin
from api.processors import repository
from api.processors.checks import definition_flaws
from api.routing import slice_router
from api.streams import service
from api.streams.endpoints import NameInPath, shown
from api.streams.schemas import StreamDocument, StreamView
from api.transactions import Write
from api.web.preconditions import TAGGED, IfMatch
from api.web.problems import Flaw, documented, invalid
from cep.expression import Schema

router = slice_router("/v1/streams", "streams")

_SHOWN = 20


@router.put("/{name}", responses={200: TAGGED, **documented(404, 412, 428)})
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
    if flaws := _misfits(write.session, stream.name, schema):
        raise invalid("new definition does not fit what is published: it", flaws)
    return shown(write.session, service.redefine(write, stream, document, if_match), response)


def _misfits(session: Session, stream: str, schema: Schema) -> list[Flaw]:
    """Return what a new schema would break in published versions, twenty places at most."""
    found: list[Flaw] = []
    for version in repository.live_versions(session, stream):
        for flaw in definition_flaws(json.loads(version.definition), schema):
            who = f"Processor '{version.processor_id}', version {version.version}, {flaw.pointer}"
            found.append(
                flaw.model_copy(update={"pointer": "/schema", "detail": f"{who}: {flaw.detail}"})
            )
        if len(found) >= _SHOWN:
            break
    return found[:_SHOWN]
