"""A draft is checked as a publish would check it; all problems are reported with their line.

It is tried by a worker (`api.trials`).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Any, Final

from starlette.concurrency import run_in_threadpool

from api.access.authentication import Principal
from api.code.verification import holds_code
from api.drafts.reading import ReadDraft, Unreadable, read_draft
from api.list_store.schemas import TooManyToTry, schema_of, tried_lists
from api.processors.publishing import checked_document
from api.runtime import Runtime
from api.streams.service import ddl_of, event_time, existing_stream
from api.trials.processes import BeyondLimit
from api.web.problems import Refusal, document_flaws, escaped, invalid
from cep.definition.checking import check_definition
from cep.definition.document import ProcessorContent
from cep.explain.drawing import row_drawing
from cep.expression import ExpressionError
from cep.row_pattern.parsing.clauses import read_query
from cep.trials.misfits import Unfit
from cep.trials.rule import WrittenRule
from contract.service.drafts import MAXIMUM_CHARACTERS, Draft, DraftReport, RowPatternDrawing
from contract.service.problems import Flaw

_CHEAPER: Final = "Try it on fewer or shorter events, or narrow the conditions."
_RULE_KEYS: Final = ("pattern", "key_by", "select")


async def check(draft: Draft, principal: Principal, runtime: Runtime) -> DraftReport:
    """Return what a draft says and everything that is wrong with it.

    Raises:
        Overloaded: it has examples, and there was no turn to run them.
    """
    try:
        read = await run_in_threadpool(read_draft, draft)
    except Unreadable as unreadable:
        return DraftReport(document=None, problems=unreadable.problems)
    try:
        checked = await checked_document(read.data, principal, runtime)
    except Refusal as refusal:
        return DraftReport(document=read.data, problems=read.problems(_flaws(refusal), ()))
    return DraftReport(document=read.data, problems=read.problems((), checked.warnings))


def rule_of(draft: Draft, runtime: Runtime) -> WrittenRule:
    """Return the rule in a draft, checked; what else stands there may still be unfinished.

    Raises:
        Refusal: its pattern, keys or output columns are wrong (422).
    """
    try:
        read = read_draft(draft)
    except Unreadable as unreadable:
        raise invalid("draft", unreadable.problems) from None
    try:
        return _rule(read, runtime)
    except Refusal as refusal:
        raise invalid("draft", read.placed(_flaws(refusal))) from None


def require_draft_size(document: Mapping[str, Any]) -> None:
    """Accept a document that may be a draft once it is written as text.

    Raises:
        Refusal: it is too long (422).
    """
    length = len(json.dumps(document))
    if length > MAXIMUM_CHARACTERS:
        detail = f"{length} characters of JSON; the limit of a draft is {MAXIMUM_CHARACTERS}."
        flaw = Flaw(pointer="/document", detail=detail, remedy="Leave examples out.")
        raise invalid("draft", [flaw])


def drawing(clause: str) -> RowPatternDrawing:
    """Return what is drawn of a clause.

    Raises:
        Refusal: it is not well formed, with line and column.
    """
    try:
        query = read_query(clause)
    except ExpressionError as error:
        flaw = Flaw(
            pointer="/match_recognize",
            detail=f"{error.message}.",
            remedy=error.hint,
            line=error.line,
            column=error.column,
            snippet=error.snippet,
        )
        raise invalid("clause", [flaw]) from None
    return RowPatternDrawing.model_validate(row_drawing(query.clause))


async def tried(
    runtime: Runtime, principal: Principal, task: str, rule: WrittenRule, **more: Any
) -> bytes:
    """Return what a worker answers about a rule, as JSON.

    Args:
        runtime: the service, whose worker it is.
        principal: who asks.
        task: one of `api.trials.tasks`.
        rule: what it is about.
        more: the other arguments of the task.

    Raises:
        Refusal: it cannot be tried, or takes more than it may (422).
        Overloaded: there was no turn for it.
    """
    try:
        return await runtime.trials.run(principal.token_id, task, rule=asdict(rule), **more)
    except Unfit as unfit:
        flaws = (
            Flaw(
                pointer="".join(f"/{escaped(str(part))}" for part in each.place), detail=each.detail
            )
            for each in unfit.misfits
        )
        raise invalid(unfit.what, flaws) from None
    except BeyondLimit as beyond:
        flaw = Flaw(
            pointer="/events" if "events" in more else "", detail=f"{beyond}", remedy=_CHEAPER
        )
        raise invalid(task, [flaw]) from None


def _rule(read: ReadDraft, runtime: Runtime) -> WrittenRule:
    stream = read.data.get("stream")
    if not isinstance(stream, str):
        raise invalid("draft", [Flaw(pointer="/stream", detail="stream is missing.")])
    with runtime.database.reading() as session:
        found = existing_stream(session, stream)
        ddl, time = ddl_of(session, found), event_time(session, found)
        schema = schema_of(session, found)
    given = {key: value for key, value in read.data.items() if key in _RULE_KEYS}
    checked = check_definition(given, schema, ProcessorContent)
    if checked.content is None or checked.pattern is None or checked.problems:
        raise invalid("draft", document_flaws(checked.problems, given))
    if holds_code(given):
        detail = "The pattern has Python conditions, which the service does not run."
        remedy = "Try it out where the code is: `find_matches`."
        raise invalid("draft", [Flaw(pointer="/pattern", detail=detail, remedy=remedy)])
    try:
        with runtime.database.reading() as session:
            lists = tried_lists(session, stream, checked.pattern.list_names, runtime.now_ms())
    except TooManyToTry as too_many:
        raise invalid("draft", [Flaw(pointer="/pattern", detail=f"{too_many}")]) from None
    return WrittenRule(given, ddl, time, lists)


def _flaws(refusal: Refusal) -> list[Flaw]:
    if refusal.flaws:
        return list(refusal.flaws)
    pointer = "/stream" if refusal.status_code == HTTPStatus.NOT_FOUND else ""
    return [Flaw(pointer=pointer, detail=refusal.detail)]
