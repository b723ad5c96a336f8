"""A draft is checked as a publish would check it; all that is wrong is told, with its line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from pydantic import ValidationError

from api.access.authentication import Principal
from api.drafts.reading import ReadDraft, Unreadable, read_draft, shape_flaws
from api.drafts.schemas import Draft, DraftReport
from api.processors.checks import expression_flaw
from api.processors.publishing import checked_document
from api.runtime import Runtime
from api.streams.service import event_time_column, existing_stream, schema_of
from api.web.problems import Flaw, Refusal, invalid, pattern_flaws
from cep.definition.checking import expression_problems
from cep.definition.document import ProcessorContent, ProcessorDocument
from cep.expression import Schema
from cep.pattern import Pattern, PatternError
from cep.pattern.code import signed_codes

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
        document = ProcessorDocument.model_validate(read.data)
        checked = checked_document(document, principal, runtime)
    except ValidationError as error:
        flaws = [*shape_flaws(error, ProcessorDocument), *_flaws_in_pattern(read, runtime)]
        return DraftReport(document=read.data, problems=read.problems(flaws, ()))
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
        raise invalid("draft", read.problems(_flaws(refusal), ())) from None


def _rule(read: ReadDraft, runtime: Runtime) -> Rule:
    stream = read.data.get("stream")
    if not isinstance(stream, str):
        raise invalid("draft", [Flaw(pointer="/stream", detail="stream is missing.")])
    with runtime.database.reading() as session:
        found = existing_stream(session, stream)
        schema, column = schema_of(session, found), event_time_column(session, found)
    given = {key: read.data[key] for key in _RULE_KEYS if key in read.data}
    try:
        content = ProcessorContent.model_validate(given)
    except ValidationError as error:
        raise invalid("draft", shape_flaws(error, ProcessorContent)) from None
    pattern, flaws = _checked_pattern(content.pattern, schema)
    flaws += [
        expression_flaw(problem, f"/{key}/{part}")
        for (key, part), problem in expression_problems(content, schema, pattern)
    ]
    if pattern is None or flaws:
        raise invalid("draft", flaws)
    if any(signed_codes(pattern.tree)):
        detail = "The pattern has Python conditions, which the service does not run."
        remedy = "Try it out where the code is: `find_matches`."
        raise invalid("draft", [Flaw(pointer="/pattern", detail=detail, remedy=remedy)])
    return Rule(content, pattern, schema, column)


def _checked_pattern(
    document: Mapping[str, Any], schema: Schema | None
) -> tuple[Pattern | None, list[Flaw]]:
    try:
        return Pattern.from_document(document).validate(schema), []
    except PatternError as error:
        return None, pattern_flaws(error.problems, "/pattern", document)


def _flaws_in_pattern(read: ReadDraft, runtime: Runtime) -> Iterator[Flaw]:
    """Yield what is wrong with the pattern while the rest of the draft is unfinished."""
    document, stream = read.data.get("pattern"), read.data.get("stream")
    if not isinstance(document, Mapping):
        return
    schema = None
    if isinstance(stream, str):
        with runtime.database.reading() as session:
            try:
                schema = schema_of(session, existing_stream(session, stream))
            except Refusal as refusal:
                yield from _flaws(refusal)
    yield from _checked_pattern(document, schema)[1]


def _flaws(refusal: Refusal) -> list[Flaw]:
    if refusal.flaws:
        return list(refusal.flaws)
    pointer = "/stream" if refusal.status_code == HTTPStatus.NOT_FOUND else ""
    return [Flaw(pointer=pointer, detail=refusal.detail)]
