"""What a source holds at one moment, perhaps not numbered, and what is wrong with it.

source ──► FoundProcessors ──► assembly ──► Snapshot

A document becomes a version if its shape is right. Everything else that may be wrong takes the
columns of its stream, so `assembly` asks for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, ValidationError

from cep.definition.checking import check_definition, read_definition
from cep.definition.document import ProcessorContent, ProcessorFile, ProcessorId
from cep.definition.parameters import as_written
from cep.expression import Schema
from cep.pattern.document.text import SourceDocument
from contract.problem_text import placed, problem_text
from contract.snapshot import SnapshotList, SnapshotRollout, SnapshotSnooze, StreamDefinition

# The years 1 to 9999.
_InstantMs = Annotated[int, Field(ge=-62_135_596_800_000, le=253_402_300_799_999)]
_SHOWN_OF_ID: Final = 200


@dataclass(frozen=True, slots=True)
class ProcessorProblem:
    """A processor, or something that ought to be one, that cannot run as its source has it.

    `origin` says where it was found (a file, a row), `processor_id` which one it is, if that could
    be read. `kept_versions` are the versions that go on running in its stead, if any. `document` is
    the document of a processor that is refused: what else is wrong with it shows once the columns
    of its stream are known.
    """

    origin: str
    message: str
    processor_id: str | None = None
    kept_versions: tuple[int, ...] = ()
    document: SourceDocument | None = None

    def __str__(self) -> str:
        name = "" if self.processor_id is None else f"rule {self.processor_id[:_SHOWN_OF_ID]}: "
        return f"{self.origin}: {name}{self.message}"


def of_rollout(problem: ProcessorProblem) -> ProcessorProblem:
    """Return a problem of a rollout: what is published of its processor is not concerned."""
    return replace(problem, processor_id=f"{problem.processor_id or '?'} (rollout)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundVersion:
    """One version of a processor; `version` is `None` where the source does not number them.

    `definition` is as in `contract.snapshot.SnapshotVersion`. What comes from one `origin` stays
    if that origin cannot be read the next time. `text` gives the places of a definition that was
    found in a file, whose keys are those of the document.
    """

    processor_id: str
    definition: Mapping[str, Any]
    origin: str
    version: int | None = None
    paused: bool = False
    effective_from_ms: int | None = None
    effective_until_ms: int | None = None
    text: SourceDocument | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProcessors:
    """The full set of processors in a source.

    `rollouts` are versions that run beside them, `lists` those of the stream, and `snoozes` say
    whose finds do not go out, where a source knows of such. `problems` are what was found and could
    not even be read. `epoch` is the number the source gives this set, `None` if it gives none.
    """

    stream: StreamDefinition
    versions: tuple[FoundVersion, ...]
    problems: tuple[ProcessorProblem, ...] = ()
    epoch: int | None = None
    rollouts: tuple[SnapshotRollout, ...] = ()
    lists: tuple[SnapshotList, ...] = ()
    snoozes: tuple[SnapshotSnooze, ...] = ()


class DocumentRefused(ValueError):
    """Something is no processor document; the message says why and how to mend it.

    `document` is what was refused, if it is a document at all.
    """

    def __init__(self, message: str, document: SourceDocument | None = None) -> None:
        super().__init__(message)
        self.document = document


def found_version(
    document: Mapping[str, Any],
    origin: str,
    *,
    version: int | None = None,
    paused: bool = False,
    text: SourceDocument | None = None,
) -> FoundVersion:
    """Return the version that a processor document describes.

    Args:
        document: a parsed processor document (`cep.definition.document.ProcessorFile`).
        origin: where it was found.
        version: its number, if the source numbers versions.
        paused: whether its processor is paused; the document may say so, too.
        text: the places of the document's keys, if it came from a file.

    Raises:
        DocumentRefused: it is not of the shape of a processor document.
    """
    read, wrong = read_definition(document, ProcessorFile)
    if read is None or wrong:
        refused = SourceDocument(document, text.marks if text is not None else {})
        raise DocumentRefused(document_problems(refused, None), refused)
    definition = read.model_dump(
        mode="json", include=set(ProcessorContent.model_fields), exclude_defaults=True
    )
    return FoundVersion(
        processor_id=read.id,
        definition=definition | {"pattern": read.pattern},
        origin=origin,
        version=version,
        paused=paused or bool(read.paused),
        effective_from_ms=read.effective_from,
        effective_until_ms=read.effective_until,
        text=text,
    )


def document_problems(document: SourceDocument, schema: Schema | None) -> str:
    """Return everything that is wrong with a processor document, one problem a line.

    Args:
        document: the document, with the places of its keys if it came from a file.
        schema: the columns of its stream; `None` if unknown.
    """
    problems = check_definition(document.data, schema, ProcessorFile).problems
    return "\n".join(placed(problems, document))


class _Labels(BaseModel):
    """What is said of a version beside its definition, as far as a job can carry it."""

    id: ProcessorId
    version: Annotated[int, Field(ge=1, lt=2**31)] | None
    effective_from_ms: _InstantMs | None
    effective_until_ms: _InstantMs | None


def label_problems(found: FoundVersion) -> str:
    """Return what is wrong with the id, the number or the times of a version; empty if nothing."""
    given = {
        "id": found.processor_id,
        "version": found.version,
        "effective_from_ms": found.effective_from_ms,
        "effective_until_ms": found.effective_until_ms,
    }
    try:
        _Labels.model_validate(given)
    except ValidationError as error:
        return problem_text(error, _Labels)
    return ""


def definition_problems(found: FoundVersion, schema: Schema) -> str:
    """Return everything that is wrong with a definition, one problem a line; empty if it can run.

    Args:
        found: the version that holds the definition.
        schema: the columns of its stream.
    """
    problems = check_definition(found.definition, schema, ProcessorContent).problems
    written = None if found.text is None else found.text.data
    return "\n".join(placed((as_written(each, written) for each in problems), found.text))
