"""Defines, reads and redefines streams; a new definition must fit the running rules."""

import hashlib
import json
import secrets
from http import HTTPStatus
from typing import Any

from sqlalchemy.orm import Session

from api.audit.actions import Action
from api.audit.log import record
from api.store.views import view_of
from api.streams import repository
from api.streams.checking import check_stream
from api.streams.epochs import record_epoch
from api.streams.tables import Stream, StreamVersion
from api.transactions import Writing
from api.web.preconditions import require_match
from api.web.problems import Refusal, document_flaws, invalid, not_found
from cep.events.order import EventTime
from cep.expression import Schema
from contract.canonical import canonical_json
from contract.service.streams import ApprovalsDocument, StreamDocument, StreamView


def existing_stream(session: Session, name: str) -> Stream:
    """Return a stream.

    Raises:
        Refusal: there is none of this name (404).
    """
    stream = repository.stream_of(session, name)
    if stream is None:
        raise not_found("stream", name, "Register it with POST /v1/streams.")
    return stream


def locked_stream(writing: Writing, name: str) -> Stream:
    """Return a stream, locked: the first step of every change of it.

    Raises:
        Refusal: there is none of this name (404).
    """
    stream = repository.locked_stream(writing.session, name)
    if stream is None:
        raise not_found("stream", name, "Register it with POST /v1/streams.")
    return stream


def ddl_of(session: Session, stream: Stream) -> str:
    """Return the columns of a stream's events as they were written."""
    ddl: str = _definition(session, stream)["schema"]
    return ddl


def event_time(session: Session, stream: Stream) -> EventTime:
    """Return what orders a stream's events."""
    definition = _definition(session, stream)
    return EventTime(definition["event_time_column"], tuple(definition["order_by"]))


def view(session: Session, stream: Stream) -> StreamView:
    """Return a stream as it is shown."""
    definition = _definition(session, stream)
    told = definition | {"version": stream.version, "description": stream.description}
    return view_of(StreamView, stream, **told)


def register(writing: Writing, document: StreamDocument) -> Stream:
    """Add a stream; its first epoch has no processor.

    Raises:
        Refusal: the name is taken (409), or the document is wrong (422).
    """
    check_definition(document)
    if repository.stream_of(writing.session, document.name):
        raise Refusal(HTTPStatus.CONFLICT, f"A stream named '{document.name}' already exists.")
    stream = Stream(
        name=document.name,
        uid=secrets.token_hex(8),
        epoch=0,
        version=0,
        description=document.description,
        required_approvals=0,
        lists_need_approvals=True,
        created_at_ms=writing.now_ms,
        created_by=writing.actor,
    )
    writing.session.add(stream)
    writing.session.flush()
    _add_version(writing, stream, document, "stream.create")
    return stream


def redefine(
    writing: Writing, stream: Stream, document: StreamDocument, if_match: str | None
) -> Stream:
    """Replace the definition of a stream; an equal one creates no version.

    The caller has checked that the processors of the stream fit the new definition.

    Raises:
        Refusal: changed since (412), or the document is wrong (422).
    """
    require_match(if_match, etag(stream))
    if document.description != stream.description:
        stream.description = document.description
        record(writing, "stream.describe", stream=stream.name)
    wanted = _canonical(document, stream.version)
    if canonical_json(_definition(writing.session, stream)) != wanted:
        _add_version(writing, stream, document, "stream.redefine")
    return stream


def require_approvals(
    writing: Writing, stream: Stream, wanted: ApprovalsDocument, if_match: str | None
) -> Stream:
    """Set how many people must approve a change of what runs on a stream, from now on.

    Raises:
        Refusal: changed since (412, 428).
    """
    require_match(if_match, etag(stream))
    before = ApprovalsDocument(
        required=stream.required_approvals, lists=stream.lists_need_approvals
    )
    if wanted != before:
        message = f"{_in_words(wanted)}, before {_in_words(before)}"
        record(writing, "stream.approvals", stream=stream.name, subject=message)
        stream.required_approvals = wanted.required
        stream.lists_need_approvals = wanted.lists
        writing.session.flush()
    return stream


def _in_words(setting: ApprovalsDocument) -> str:
    return f"{setting.required}{'' if setting.lists else ' (not for lists)'}"


def etag(stream: Stream) -> str:
    """Return the tag of a stream's definition, description and setting; not of what runs on it."""
    described = hashlib.sha256(stream.description.encode()).hexdigest()[:8]
    lists = "" if stream.lists_need_approvals else ".lists-free"
    return f"{stream.uid}.{stream.version}.{described}.{stream.required_approvals}{lists}"


def check_definition(document: StreamDocument) -> Schema:
    """Return the columns a stream document names.

    Raises:
        Refusal: the schema does not parse, or a column is missing or of the wrong type (422).
    """
    written = document.model_dump(by_alias=True)
    checked = check_stream(written)
    if checked.schema is None or checked.problems:
        raise invalid("stream document", document_flaws(checked.problems, written))
    return checked.schema


def _add_version(
    writing: Writing, stream: Stream, document: StreamDocument, action: Action
) -> None:
    old_version = stream.version or None
    stream.version += 1
    writing.session.flush()
    epoch = record_epoch(
        writing,
        action,
        stream=stream.name,
        old_version=old_version,
        new_version=stream.version,
    )
    writing.session.add(
        StreamVersion(
            stream=stream.name,
            version=stream.version,
            epoch=epoch,
            definition=_canonical(document, stream.version),
            created_at_ms=writing.now_ms,
            created_by=writing.actor,
        )
    )
    writing.session.flush()
    writing.session.refresh(stream)


def _canonical(document: StreamDocument, version: int) -> str:
    content = document.model_dump(by_alias=True, exclude={"description"})
    return canonical_json(content | {"version": version})


def _definition(session: Session, stream: Stream) -> dict[str, Any]:
    text = repository.definition_at(session, stream.name, stream.epoch)
    definition: dict[str, Any] = json.loads(text or "{}")
    return definition
