"""Checks a processor document before anything is written: types, pattern, expressions, examples.

    document ─► check_document ─► CheckedDocument ─► service

Everything that is wrong is reported at once, each with its place in the document.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from api.code.verification import code_flaws
from api.processors.examples import example_flaws
from api.processors.lint import condition_flaws
from api.web.problems import Flaw, escaped, invalid, pattern_flaws
from cep.definition.checking import expression_problems
from cep.definition.document import ProcessorContent, ProcessorDocument
from cep.expression import Problem, Schema
from cep.pattern import Pattern, PatternError
from cep.signing.keys import SigningKeys
from contract.canonical import canonical_json, content_hash


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """What a document is checked against: the stream's name, definition version and columns."""

    name: str
    version: int
    schema: Schema
    event_time_column: str


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """A document that may be published, in the forms that are stored.

    `definition` and `examples` are canonical JSON as written; `content_hash` is of the normalised
    content, so that another spelling of the same is the same; `rule_hash` of what decides matches.
    """

    document: ProcessorDocument
    stream_version: int
    definition: str
    examples: str
    content_hash: str
    rule_hash: str
    warnings: tuple[Flaw, ...]

    def with_warnings(self, more: list[Flaw]) -> "CheckedDocument":
        """Return it with further warnings."""
        return replace(self, warnings=(*self.warnings, *more))


def check_document(
    document: ProcessorDocument, stream: StreamFacts, keys: SigningKeys | None
) -> CheckedDocument:
    """Return a document in the forms that are stored.

    Args:
        document: what was sent.
        stream: what it is checked against.
        keys: those its Python code may be signed with.

    Raises:
        Refusal: with everything that is wrong (422).
    """
    flaws = list(_schedule_flaws(document))
    pattern = None
    try:
        pattern = Pattern.from_document(document.pattern)
        pattern.validate(stream.schema)
    except PatternError as error:
        flaws += pattern_flaws(error.problems, "/pattern", document.pattern)
    flaws += _expression_flaws(document, stream.schema, pattern)
    flaws += code_flaws(document, pattern, keys)
    if pattern is None or flaws:
        raise invalid("processor document", flaws)
    if wrong := example_flaws(document, pattern, stream.event_time_column):
        raise invalid("processor document", wrong)
    return _checked(document, pattern, stream)


def definition_flaws(definition: dict[str, Any], schema: Schema) -> list[Flaw]:
    """Return what is wrong with a stored definition under another schema of its stream."""
    content = ProcessorContent.model_validate(definition)
    try:
        pattern = Pattern.from_document(content.pattern).validate(schema)
    except PatternError as error:
        return pattern_flaws(error.problems, "/pattern", content.pattern)
    return list(_expression_flaws(content, schema, pattern))


def normalised(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a stored definition with its pattern in the one normal spelling."""
    return definition | {"pattern": Pattern.from_document(definition["pattern"]).to_document()}


def _checked(document: ProcessorDocument, pattern: Pattern, stream: StreamFacts) -> CheckedDocument:
    content_fields = set(ProcessorContent.model_fields)
    definition = document.model_dump(mode="json", include=content_fields, exclude_defaults=True)
    definition["pattern"] = document.pattern
    examples = [example.model_dump(exclude_defaults=True) for example in document.examples]
    normal = definition | {"pattern": pattern.to_document()}
    schedule = [document.effective_from, document.effective_until]
    rule = {"stream": stream.name, "pattern": normal["pattern"], "key_by": document.key_by}
    warnings = pattern_flaws(pattern.warnings(), "/pattern", document.pattern)
    return CheckedDocument(
        document=document,
        stream_version=stream.version,
        definition=canonical_json(definition),
        examples=canonical_json(examples),
        content_hash=content_hash([normal, schedule, examples]),
        rule_hash=content_hash(rule),
        warnings=(*warnings, *condition_flaws(pattern)),
    )


def _schedule_flaws(document: ProcessorDocument) -> Iterator[Flaw]:
    begin_ms, end_ms = document.effective_from, document.effective_until
    if begin_ms is not None and end_ms is not None and end_ms <= begin_ms:
        yield Flaw(
            pointer="/effective_until",
            detail="It is not after effective_from; the version would never run.",
            remedy="Give a later time, or leave it out.",
        )
    if document.select is not None and document.function is not None:
        yield Flaw(
            pointer="/function",
            detail="select and function both say what is given out for a match.",
            remedy="Keep one.",
        )


def _expression_flaws(
    content: ProcessorContent, schema: Schema, pattern: Pattern | None
) -> Iterator[Flaw]:
    for (key, part), problem in expression_problems(content, schema, pattern):
        yield expression_flaw(problem, f"/{key}/{escaped(str(part))}")


def expression_flaw(problem: Problem, pointer: str) -> Flaw:
    """Return one mistake of the expression that stands at `pointer`."""
    return Flaw(
        pointer=pointer,
        detail=problem.message,
        remedy=problem.hint,
        line=problem.line,
        column=problem.column,
        snippet=problem.snippet,
    )
