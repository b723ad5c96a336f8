"""From the body of a request to a checked document, before any transaction for writing begins.

Checks take milliseconds; done here they do not keep other writers waiting.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Path
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from api.access.authentication import Author, Principal, Publisher
from api.code.verification import code_problems, holds_code
from api.list_store.schemas import TooManyToTry, schema_of, tried_lists
from api.processors import repository
from api.processors.checks import (
    CheckedDocument,
    ExaminedDocument,
    StreamFacts,
    examine_document,
)
from api.runtime import CurrentRuntime, Runtime
from api.streams.service import ddl_of, event_time, existing_stream
from api.trials.processes import BeyondLimit
from api.web.problems import Refusal, document_flaws, invalid
from cep.definition.document import ProcessorId
from cep.matching.examples import WrittenExamples
from cep.pattern import Problem
from cep.signing.code import CodePlace
from contract.service.problems import Flaw
from contract.service.processors import ProcessorBody, Rollback
from contract.service.tokens import Role

Checked = CheckedDocument


async def checked_document(
    document: ProcessorBody, principal: Author, runtime: CurrentRuntime
) -> CheckedDocument:
    """Return the body, checked against its stream.

    Raises:
        Refusal: no such stream (404), a wrong document (422), or code not allowed (403).
        Overloaded: it has examples, and there was no turn to run them.
    """
    return await check_and_test(document, principal, runtime)


async def checked_replacement(
    processor_id: Annotated[ProcessorId, Path()],
    document: ProcessorBody,
    principal: Author,
    runtime: CurrentRuntime,
) -> CheckedDocument:
    """Return the body, checked also to be of the processor in the path.

    Raises:
        Refusal: no such stream (404), a wrong document (422), or code not allowed (403).
        Overloaded: it has examples, and there was no turn to run them.
    """
    name = document.get("id")
    flaw = Flaw(
        pointer="/id",
        detail=f"The id is '{name}', but this is the rule '{processor_id}'.",
        remedy="Ids cannot change. Create a new rule instead.",
    )
    is_another = isinstance(name, str) and name != processor_id
    return await check_and_test(document, principal, runtime, [flaw] if is_another else [])


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
    verify_version(processor_id, target.version, runtime)
    return target


def verify_version(processor_id: str, version: int, runtime: Runtime) -> None:
    """Let a version pass whose code is still signed with a key of the service.

    Raises:
        Refusal: the key of its code has been taken out since (422).
    """
    with runtime.database.reading() as session:
        found = repository.version_of(session, processor_id, version)
        processor = repository.processor_of(session, processor_id)
    if found is None or processor is None:
        return  # which is found out again, with the right answer
    definition = json.loads(found.definition)
    place = CodePlace(stream=processor.stream, processor=processor.id)
    if problems := code_problems(definition, runtime.settings.signing_keys, place):
        raise invalid("version to roll back to", document_flaws(problems, definition))


def may_publish(principal: Principal, *, paused: bool) -> None:
    """Let publishers pass, and authors if nothing starts to run by it.

    Raises:
        Refusal: an author would change what runs (403).
    """
    if not paused and not principal.has(Role.PUBLISHER):
        raise Refusal(
            HTTPStatus.FORBIDDEN,
            f"Your role ({principal.role}) can only save paused rules. Save it paused "
            "(?paused=true) and ask a publisher to resume it.",
        )


def _may_send_code(principal: Principal, document: Mapping[str, Any]) -> None:
    if holds_code(document) and not principal.has(Role.PUBLISHER):
        raise Refusal(
            HTTPStatus.FORBIDDEN,
            f"The rule holds Python code, which your role ({principal.role}) is not allowed to "
            "send; publisher is required.",
        )


async def check_and_test(
    document: Mapping[str, Any], principal: Principal, runtime: Runtime, more: Sequence[Flaw] = ()
) -> CheckedDocument:
    """Return a document checked against its stream, its examples run; `more` is wrong beside.

    Raises:
        Refusal: no such stream (404), a wrong document (422), or code not allowed (403).
        Overloaded: it has examples, and there was no turn to run them.
    """
    checked = await check_alone(document, principal, runtime, more)
    return await run_in_threadpool(_compared, checked, runtime)


async def check_alone(
    document: Mapping[str, Any], principal: Principal, runtime: Runtime, more: Sequence[Flaw] = ()
) -> CheckedDocument:
    """Return a document as `check_and_test` does, not warned yet of others that say the same.

    Raises:
        Refusal: see there.
        Overloaded: see there.
    """
    # Turns for its examples are waited for here, on the event loop: threads that wait would be
    # missing for whoever only reads.
    examined, unknown = await run_in_threadpool(_examined, document, principal, runtime, more)
    problems = await _example_problems(examined, principal, runtime)
    return await run_in_threadpool(_accepted, examined, problems, unknown)


def _examined(
    document: Mapping[str, Any], principal: Principal, runtime: Runtime, more: Sequence[Flaw]
) -> tuple[ExaminedDocument, Refusal | None]:
    """Return a document with what is wrong with it, and the refusal of its stream, if any."""
    _may_send_code(principal, document)
    stream, unknown = None, None
    try:
        stream = _stream_facts(document.get("stream"), runtime)
    except Refusal as refusal:
        unknown = refusal
        more = [*more, Flaw(pointer="/stream", detail=refusal.detail)]
    return examine_document(document, stream, runtime.settings.signing_keys, more), unknown


async def _example_problems(
    examined: ExaminedDocument, principal: Principal, runtime: Runtime
) -> list[Problem]:
    if examined.examples is None:
        return []
    try:
        task = await run_in_threadpool(_examples_task, examined, examined.examples, runtime)
        found = await runtime.trials.run(principal.token_id, "examples", **task)
    except TooManyToTry as too_many:
        return [Problem("examples", f"{too_many}", "Take the examples out.")]
    except BeyondLimit as beyond:
        return [Problem("examples", f"{beyond}", "Keep examples small; use a backtest for more.")]
    return [Problem(**each) for each in json.loads(found)]


def _examples_task(
    examined: ExaminedDocument, written: WrittenExamples, runtime: Runtime
) -> dict[str, Any]:
    """Return what a worker is given to run examples.

    Raises:
        TooManyToTry: the lists that the rule names are too long.
    """
    stream, pattern = examined.stream, examined.checked.pattern
    if stream is None or pattern is None:
        raise ValueError("examples are run of valid rules of known streams alone")
    with runtime.database.reading() as session:
        ddl = ddl_of(session, existing_stream(session, stream.name))
        lists = tried_lists(session, stream.name, pattern.list_names, runtime.now_ms())
    return {"written": asdict(written), "schema": ddl, "lists": [asdict(each) for each in lists]}


def _accepted(
    examined: ExaminedDocument, problems: Sequence[Problem], unknown: Refusal | None
) -> CheckedDocument:
    try:
        return examined.accepted(problems)
    except Refusal as refusal:
        # An unknown stream alone has a status of its own; with other problems all are reported.
        if unknown is not None and len(refusal.flaws) == 1:
            raise unknown from None
        raise


def _compared(checked: CheckedDocument, runtime: Runtime) -> CheckedDocument:
    with runtime.database.reading() as session:
        return warned_of_same(session, checked)


def warned_of_same(session: Session, checked: CheckedDocument) -> CheckedDocument:
    """Return a checked document with a warning for each rule that says the same, or has its id."""
    own_id = checked.document.id
    warnings = [
        Flaw(
            pointer="/pattern",
            detail=f"Rule '{other}' has the same pattern and keys.",
            remedy="Every match will be reported twice; keep one.",
        )
        for other in repository.others_with_rule(session, checked.rule_hash, own_id)
    ]
    if repository.processor_of(session, own_id) is None:
        warnings += [
            Flaw(
                pointer="/id",
                detail=f"The id differs from that of rule '{other}' in capital letters alone.",
                remedy="Choose another: people, and some file systems, take both for one.",
            )
            for other in repository.ids_in_other_case(session, own_id)
        ]
    return checked.with_warnings(warnings)


def _stream_facts(name: Any, runtime: Runtime) -> StreamFacts | None:
    """Return what documents of a stream are checked against; `None` if the name is none.

    Raises:
        Refusal: there is no such stream (404).
    """
    if not isinstance(name, str):
        return None
    with runtime.database.reading() as session:
        stream = existing_stream(session, name)
        return StreamFacts(
            stream.name,
            stream.version,
            schema_of(session, stream),
            event_time(session, stream),
        )
