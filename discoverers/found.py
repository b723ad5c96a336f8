"""What a source holds at one moment, as it was found: not checked, perhaps not numbered.

source ──► FoundProcessors ──► assembly ──► Snapshot
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from cep.definition.document import ProcessorContent, ProcessorDocument
from cep.pattern.document.text import SourceDocument
from contract.problem_text import problem_text
from contract.snapshot import StreamDefinition


@dataclass(frozen=True, slots=True)
class ProcessorProblem:
    """A processor, or something that ought to be one, that cannot run as its source has it.

    `origin` says where it was found (a file, a row), `processor_id` which one it is, if that could
    be read. `kept_versions` are the versions that go on running in its stead, if any.
    """

    origin: str
    message: str
    processor_id: str | None = None
    kept_versions: tuple[int, ...] = ()

    def __str__(self) -> str:
        name = "" if self.processor_id is None else f"processor {self.processor_id}: "
        return f"{self.origin}: {name}{self.message}"


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

    `problems` are what was found and could not even be read. `epoch` is the number the source gives
    this set, `None` if it gives none.
    """

    stream: StreamDefinition
    versions: tuple[FoundVersion, ...]
    problems: tuple[ProcessorProblem, ...] = ()
    epoch: int | None = None


class DocumentRefused(ValueError):
    """Something is no processor document; the message says why and how to mend it."""


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
        document: a parsed processor document (`cep.definition.document.ProcessorDocument`).
        origin: where it was found.
        version: its number, if the source numbers versions.
        paused: whether its processor is paused.
        text: the places of the document's keys, if it came from a file.

    Raises:
        DocumentRefused: it is not of the shape of a processor document.
    """
    try:
        read = ProcessorDocument.model_validate(document)
    except ValidationError as error:
        raise DocumentRefused(problem_text(error, ProcessorDocument, text)) from None
    if (
        read.effective_from is not None
        and read.effective_until is not None
        and read.effective_until <= read.effective_from
    ):
        raise DocumentRefused("effective_until is not after effective_from; it would never run.")
    definition = read.model_dump(
        mode="json", include=set(ProcessorContent.model_fields), exclude_defaults=True
    )
    return FoundVersion(
        processor_id=read.id,
        definition=definition | {"pattern": read.pattern},
        origin=origin,
        version=version,
        paused=paused,
        effective_from_ms=read.effective_from,
        effective_until_ms=read.effective_until,
        text=text,
    )
