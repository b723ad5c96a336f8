"""A draft is checked as a publish would check it; all problems are reported with their line."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from api.access.authentication import Principal
from api.code.verification import holds_code
from api.drafts.reading import ReadDraft, Unreadable, read_draft
from api.drafts.schemas import Draft, DraftReport
from api.processors.publishing import checked_document
from api.runtime import Runtime
from api.streams.service import event_time_column, existing_stream, schema_of
from api.web.problems import Flaw, Refusal, document_flaws, invalid
from cep.definition.checking import check_definition
from cep.definition.document import ProcessorContent
from cep.expression import Schema
from cep.pattern import Pattern

_RULE_KEYS: Final = ("pattern", "key_by", "select")


@dataclass(frozen=True, slots=True)
class Rule:
    """The part of a draft that decides what is found, checked against its stream."""

    content: ProcessorContent
    pattern: Pattern
    schema: Schema
    event_time_column: str


def check(draft: Draft, principal: Principal, runtime: Runtime) -> DraftReport:
    """Return what a draft says and everything that is wrong with it."""
    try:
        read = read_draft(draft)
    except Unreadable as unreadable:
        return DraftReport(document=None, problems=unreadable.problems)
    try:
        checked = checked_document(read.data, principal, runtime)
    except Refusal as refusal:
        return DraftReport(document=read.data, problems=read.problems(_flaws(refusal), ()))
    return DraftReport(document=read.data, problems=read.problems((), checked.warnings))


def rule_of(draft: Draft, runtime: Runtime) -> Rule:
    """Return the rule in a draft; what else stands there may still be unfinished.

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


def _rule(read: ReadDraft, runtime: Runtime) -> Rule:
    stream = read.data.get("stream")
    if not isinstance(stream, str):
        raise invalid("draft", [Flaw(pointer="/stream", detail="stream is missing.")])
    with runtime.database.reading() as session:
        found = existing_stream(session, stream)
        schema, column = schema_of(session, found), event_time_column(session, found)
    given = {key: value for key, value in read.data.items() if key in _RULE_KEYS}
    checked = check_definition(given, schema, ProcessorContent)
    if checked.content is None or checked.pattern is None or checked.problems:
        raise invalid("draft", document_flaws(checked.problems, given))
    if holds_code(given):
        detail = "The pattern has Python conditions, which the service does not run."
        remedy = "Try it out where the code is: `find_matches`."
        raise invalid("draft", [Flaw(pointer="/pattern", detail=detail, remedy=remedy)])
    return Rule(checked.content, checked.pattern, schema, column)


def _flaws(refusal: Refusal) -> list[Flaw]:
    if refusal.flaws:
        return list(refusal.flaws)
    pointer = "/stream" if refusal.status_code == HTTPStatus.NOT_FOUND else ""
    return [Flaw(pointer=pointer, detail=refusal.detail)]
