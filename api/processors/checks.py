"""Checks a processor document before anything is written: types, pattern, expressions, examples.

    document ─► check_document ─► CheckedDocument ─► service

Everything that is wrong is reported at once, each with its place in the document.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from api.code.verification import code_flaws
from api.problems import Flaw, escaped, invalid, pattern_flaws
from api.processors.examples import example_flaws
from api.processors.lint import condition_flaws
from cep.expression import Expression, ExpressionError, Problem, Schema, check
from cep.pattern import Pattern, PatternError
from cep.processor_document import ProcessorContent, ProcessorDocument
from cep.signing_keys import SigningKeys
from discoverers.canonical import canonical_json, content_hash


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
    flaws += _key_flaws(document, stream.schema)
    flaws += code_flaws(document, pattern, keys)
    if pattern is not None:
        steps = [step.name for step in pattern.tree.steps() if not step.is_negative]
        flaws += _select_flaws(document, stream.schema, steps)
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
    steps = [step.name for step in pattern.tree.steps() if not step.is_negative]
    return [*_key_flaws(content, schema), *_select_flaws(content, schema, steps)]


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


def _key_flaws(content: ProcessorContent, schema: Schema) -> Iterator[Flaw]:
    for index, text in enumerate(content.key_by or ()):
        pointer = f"/key_by/{index}"
        try:
            expression = Expression.parse(text)
        except ExpressionError as error:
            yield expression_flaw(error.problem, pointer)
            continue
        for problem in check(expression, schema=schema, steps=()):
            yield expression_flaw(problem, pointer)


def _select_flaws(content: ProcessorContent, schema: Schema, steps: list[str]) -> Iterator[Flaw]:
    for name, text in (content.select or {}).items():
        pointer = f"/select/{escaped(name)}"
        try:
            expression = Expression.parse(text)
        except ExpressionError as error:
            yield expression_flaw(error.problem, pointer)
            continue
        # There is no event under test; only once that is clear do the types of columns matter.
        problems = check(expression, schema=schema, steps=steps, allow_columns=False) or check(
            expression, schema=schema, steps=steps
        )
        for problem in problems:
            yield expression_flaw(problem, pointer)


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
