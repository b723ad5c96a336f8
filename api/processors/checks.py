"""Checks a processor document before anything is written: its content, code and examples.

    document ─► examine_document ─► examples run by a worker ─► accepted ─► CheckedDocument

Everything that is wrong is reported at once, each with its place in the document.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from api.code.verification import code_problems, place_of
from api.processors.placeholders import placeholder_problems
from api.web.problems import document_flaws, invalid
from cep.definition.checking import CheckedDefinition, check_definition
from cep.definition.document import ProcessorContent, ProcessorDocument
from cep.definition.keys import with_key
from cep.events.order import EventTime
from cep.expression import Schema
from cep.instants import instant_ms
from cep.matching.examples import WrittenExamples, examples_to_run
from cep.pattern import Pattern, Problem
from cep.signing.keys import SigningKeys
from contract.canonical import canonical_json, content_hash
from contract.service.problems import Flaw


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """What a document is checked against: name and definition version of the stream, and more."""

    name: str
    version: int
    schema: Schema
    time: EventTime


@dataclass(frozen=True, slots=True)
class CheckedDocument:
    """A document that may be published, in the forms that are stored.

    `definition` and `examples` are canonical JSON as written; `content_hash` is of the normalised
    content, so that another spelling of the same is the same; `rule_hash` of what decides matches.
    `lists` are names and types of the lists that it names.
    """

    document: ProcessorDocument
    stream_version: int
    lists: tuple[tuple[str, str], ...]
    definition: str
    examples: str
    content_hash: str
    rule_hash: str
    warnings: tuple[Flaw, ...]

    def with_warnings(self, more: list[Flaw]) -> "CheckedDocument":
        """Return it with further warnings."""
        return replace(self, warnings=(*self.warnings, *more))


@dataclass(frozen=True, slots=True)
class ExaminedDocument:
    """What a document says and what is wrong with it, beside its examples, which may be to run."""

    document: Mapping[str, Any]
    stream: StreamFacts | None
    checked: CheckedDefinition[ProcessorDocument]
    problems: tuple[Problem, ...]
    more: tuple[Flaw, ...]
    examples: WrittenExamples | None

    def accepted(self, examples: Iterable[Problem]) -> CheckedDocument:
        """Return the document in the forms that are stored.

        Args:
            examples: what is wrong with its examples.

        Raises:
            Refusal: with everything that is wrong (422).
        """
        flaws = [*document_flaws([*self.problems, *examples], self.document), *self.more]
        content, pattern = self.checked.content, self.checked.pattern
        if flaws or self.stream is None or content is None or pattern is None:
            raise invalid("rule", flaws)
        warnings = tuple(document_flaws(self.checked.warnings, self.document))
        return _stored(content, pattern, self.stream, warnings)


def examine_document(
    document: Mapping[str, Any],
    stream: StreamFacts | None,
    keys: SigningKeys | None,
    more: Iterable[Flaw] = (),
) -> ExaminedDocument:
    """Return what a document says and what is wrong with it; its examples are not run.

    Args:
        document: what was sent.
        stream: what it is checked against; `None` if its stream is not known, which `more` says.
        keys: those its Python code may be signed with.
        more: what is wrong with it beside.
    """
    schema = None if stream is None else stream.schema
    checked = check_definition(document, schema, ProcessorDocument)
    problems = [
        *checked.problems,
        *code_problems(document, keys, place_of(document)),
        *placeholder_problems(document),
    ]
    examples = None
    if stream is not None:
        examples, unfit = examples_to_run(document, checked, stream.time)
        problems += unfit
    return ExaminedDocument(document, stream, checked, tuple(problems), tuple(more), examples)


def definition_flaws(definition: dict[str, Any], schema: Schema) -> list[Flaw]:
    """Return what is wrong with a stored definition under another schema of its stream."""
    problems = check_definition(definition, schema, ProcessorContent).problems
    return document_flaws(problems, definition)


def normalised(definition: dict[str, Any]) -> dict[str, Any]:
    """Return a stored definition with its pattern in the one normal spelling."""
    return definition | {"pattern": Pattern.from_document(definition["pattern"]).to_document()}


def hash_of_content(content: Mapping[str, Any]) -> str:
    """Return the `content_hash` of a checked document of which content and schedule are shown.

    Args:
        content: as `api.processors.views.content_document` returns it.
    """
    told = dict(content)
    examples = told.pop("examples", [])
    schedule = [told.pop(name, None) for name in ("effective_from", "effective_until")]
    times = [None if time is None else instant_ms(time) for time in schedule]
    return content_hash([normalised(told), times, examples])


def _stored(
    document: ProcessorDocument, pattern: Pattern, stream: StreamFacts, warnings: tuple[Flaw, ...]
) -> CheckedDocument:
    content_fields = set(ProcessorContent.model_fields)
    definition = document.model_dump(mode="json", include=content_fields, exclude_defaults=True)
    definition["pattern"] = document.pattern
    examples = [example.model_dump(exclude_defaults=True) for example in document.examples]
    definition = with_key(definition, pattern)
    normal = definition | {"pattern": pattern.to_document()}
    schedule = [document.effective_from, document.effective_until]
    rule = {"stream": stream.name, "pattern": normal["pattern"], "key_by": definition.get("key_by")}
    types = {each.name: str(each.data_type) for each in stream.schema.lists or ()}
    return CheckedDocument(
        document=document,
        stream_version=stream.version,
        lists=tuple((name, types[name]) for name in pattern.list_names),
        definition=canonical_json(definition),
        examples=canonical_json(examples),
        content_hash=content_hash([normal, schedule, examples]),
        rule_hash=content_hash(rule),
        warnings=warnings,
    )
