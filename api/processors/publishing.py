"""From the body of a request to a checked document, before any transaction for writing begins.

Checks take milliseconds; done here they do not keep other writers waiting.
"""

from http import HTTPStatus
from typing import Annotated

from fastapi import Path

from api.access.authentication import Author, Principal, Publisher, Role
from api.code.verification import code_flaws, holds_code
from api.processors import repository
from api.processors.checks import CheckedDocument, StreamFacts, check_document
from api.processors.schemas import Rollback
from api.runtime import CurrentRuntime, Runtime
from api.streams.service import event_time_column, existing_stream, schema_of
from api.web.problems import Flaw, Refusal, invalid
from cep.definition.document import ProcessorContent, ProcessorDocument, ProcessorId
from cep.pattern import Pattern

Checked = CheckedDocument


def checked_document(
    document: ProcessorDocument, principal: Author, runtime: CurrentRuntime
) -> CheckedDocument:
    """Return the body, checked against its stream.

    Raises:
        Refusal: no such stream (404), a wrong document (422), or code not allowed (403).
    """
    return _checked(document, principal, runtime)


def checked_replacement(
    processor_id: Annotated[ProcessorId, Path()],
    document: ProcessorDocument,
    principal: Author,
    runtime: CurrentRuntime,
) -> CheckedDocument:
    """Return the body, checked also to be of the processor in the path.

    Raises:
        Refusal: no such stream (404), a wrong document (422), or code not allowed (403).
    """
    if document.id != processor_id:
        flaw = Flaw(
            pointer="/id",
            detail=f"It is '{document.id}', the path says '{processor_id}'.",
            remedy="An id stays; create another processor instead.",
        )
        raise invalid("processor document", [flaw])
    return _checked(document, principal, runtime)


def verified_target(
    processor_id: Annotated[ProcessorId, Path()],
    target: Rollback,
    _principal: Publisher,
    runtime: CurrentRuntime,
) -> Rollback:
    """Return the version to roll back to, whose code is still signed with a key of the service.

    Raises:
        Refusal: the key of its code has been taken out since (422).
    """
    with runtime.database.reading() as session:
        version = repository.version_of(session, processor_id, target.version)
    content = ProcessorContent.model_validate_json(version.definition) if version else None
    if content is not None and holds_code(content):
        pattern = Pattern.from_document(content.pattern)
        if flaws := code_flaws(content, pattern, runtime.settings.signing_keys):
            raise invalid("version to roll back to", flaws)
    return target


def may_publish(principal: Principal, *, paused: bool) -> None:
    """Let publishers pass, and authors if nothing starts to run by it.

    Raises:
        Refusal: an author would change what runs (403).
    """
    if not paused and not principal.has(Role.PUBLISHER):
        raise Refusal(
            HTTPStatus.FORBIDDEN,
            f"The role {principal.role} may write paused processors only: create it with "
            "?paused=true and let a publisher resume it.",
        )


def _may_send_code(principal: Principal, document: ProcessorDocument) -> None:
    if holds_code(document) and not principal.has(Role.PUBLISHER):
        raise Refusal(
            HTTPStatus.FORBIDDEN,
            f"The document holds Python code, which the role {principal.role} may not send; it "
            "takes publisher.",
        )


def _checked(
    document: ProcessorDocument, principal: Principal, runtime: Runtime
) -> CheckedDocument:
    _may_send_code(principal, document)
    with runtime.database.reading() as session:
        stream = existing_stream(session, document.stream)
        facts = StreamFacts(
            stream.name,
            stream.version,
            schema_of(session, stream),
            event_time_column(session, stream),
        )
    checked = check_document(document, facts, runtime.settings.signing_keys)
    with runtime.database.reading() as session:
        same = repository.others_with_rule(session, checked.rule_hash, document.id)
    return checked.with_warnings(
        [
            Flaw(
                pointer="/pattern",
                detail=f"Processor '{other}' has the same pattern and keys.",
                remedy="Every match will be reported twice; keep one.",
            )
            for other in same
        ]
    )
