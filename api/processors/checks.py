"""Checks a processor document before anything is written: its content, code and examples.

    document ─► check_document ─► CheckedDocument ─► service

Everything that is wrong is reported at once, each with its place in the document.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from api.code.verification import code_problems
from api.web.problems import Flaw, document_flaws, invalid
from cep.definition.checking import check_definition
from cep.definition.document import ProcessorContent, ProcessorDocument
from cep.expression import Schema
from cep.matching.examples import example_problems
from cep.pattern import Pattern
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
    document: Mapping[str, Any],
    stream: StreamFacts | None,
    keys: SigningKeys | None,
    more: Iterable[Flaw] = (),
) -> CheckedDocument:
    """Return a document in the forms that are stored.

    Args:
        document: what was sent.
        stream: what it is checked against; `None` if its stream is not known, which `more` says.
        keys: those its Python code may be signed with.
        more: what is wrong with it beside.

    Raises:
        Refusal: with everything that is wrong (422).
    """
    schema = None if stream is None else stream.schema
    checked = check_definition(document, schema, ProcessorDocument)
    problems = [*checked.problems, *code_problems(document, keys)]
    if stream is not None:
        problems += example_problems(document, checked, stream.event_time_column)
    flaws = [*document_flaws(problems, document), *more]
    if flaws or stream is None or checked.content is None or checked.pattern is None:
        raise invalid("processor document", flaws)
    warnings = tuple(document_flaws(checked.warnings, document))
    return _stored(checked.content, checked.pattern, stream, warnings)


def definition_flaws(definition: dict[str, Any], schema: Schema) -> list[Flaw]:
    """Return what is wrong with a stored definition under another schema of its stream."""
    problems = check_definition(definition, schema, ProcessorContent).problems
    return document_flaws(problems, definition)


def normalised(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a stored definition with its pattern in the one normal spelling."""
    return definition | {"pattern": Pattern.from_document(definition["pattern"]).to_document()}


def _stored(
    document: ProcessorDocument, pattern: Pattern, stream: StreamFacts, warnings: tuple[Flaw, ...]
) -> CheckedDocument:
    content_fields = set(ProcessorContent.model_fields)
    definition = document.model_dump(mode="json", include=content_fields, exclude_defaults=True)
    definition["pattern"] = document.pattern
    examples = [example.model_dump(exclude_defaults=True) for example in document.examples]
    normal = definition | {"pattern": pattern.to_document()}
    schedule = [document.effective_from, document.effective_until]
    rule = {"stream": stream.name, "pattern": normal["pattern"], "key_by": document.key_by}
    return CheckedDocument(
        document=document,
        stream_version=stream.version,
        definition=canonical_json(definition),
        examples=canonical_json(examples),
        content_hash=content_hash([normal, schedule, examples]),
        rule_hash=content_hash(rule),
        warnings=warnings,
    )
