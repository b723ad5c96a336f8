"""Documents → what is wanted: everything that is wrong with every file, not only the first.

documents ──┐
            ├──► check_documents ──► Wanted, problems
columns ────┘      (of streams in the files, else of those the service knows)
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from api.gitops.claims import Claim, claim_of, claim_problems
from api.streams.checking import check_stream
from cep.definition.checking import CheckedDefinition, check_definition
from cep.definition.document import ProcessorDocument, ProcessorFile, ProcessorLabels
from cep.definition.keys import without_implied_key
from cep.definition.list_documents import ListDocument, checked_list, is_list
from cep.definition.rule_files import FileDocument, FileProblem
from cep.definition.text import in_usual_order
from cep.expression import Schema
from cep.expression.lists import DATA_TYPES, ValueList
from cep.pattern import Pattern
from contract.service.streams import StreamDocument

LABELS: Final = frozenset(ProcessorLabels.model_fields)


@dataclass(frozen=True, slots=True)
class WantedStream:
    """A stream from its file."""

    place: FileDocument
    document: StreamDocument
    schema: Schema

    @property
    def stream(self) -> str:
        """Its name."""
        return self.document.name


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A document of a processor, and the result of checking it here."""

    place: FileDocument
    checked: CheckedDefinition[ProcessorFile]

    @property
    def stream(self) -> Any:
        """The value of its key `stream`, not checked."""
        return self.place.data.get("stream")

    @property
    def data(self) -> dict[str, Any]:
        """The document in the form that the service accepts."""
        return {key: value for key, value in self.place.data.items() if key != "paused"}


@dataclass(frozen=True, slots=True)
class WantedVersion:
    """One version of a processor from one document."""

    file: CheckedFile
    document: ProcessorFile
    pattern: Pattern

    @property
    def place(self) -> FileDocument:
        """The file and position of its document."""
        return self.file.place

    @property
    def begin(self) -> tuple[bool, int]:
        """What versions are ordered by: the one for now, then those for later by time."""
        begin_ms = self.document.effective_from
        return begin_ms is not None, begin_ms or 0

    @property
    def content(self) -> dict[str, Any]:
        """The content of the version, normalised."""
        return content_of(self.document, self.pattern)


@dataclass(frozen=True, slots=True)
class WantedProcessor:
    """A processor from its documents: at most one effective at once, then scheduled ones, by time.

    Labels, and whether it is paused, may be in any of them.
    """

    versions: tuple[WantedVersion, ...]

    @property
    def id(self) -> str:
        """Its id."""
        return self.versions[0].document.id

    @property
    def stream(self) -> str:
        """The stream it watches."""
        return self.versions[0].document.stream

    @property
    def paused(self) -> bool | None:
        """Whether it should be paused; `None` = unchanged."""
        given = (version.document.paused for version in self.versions)
        said = [paused for paused in given if paused is not None]
        return any(said) if said else None

    @property
    def labels(self) -> dict[str, Any]:
        """The labels."""
        given: dict[str, Any] = {}
        for version in reversed(self.versions):
            given |= labels_of(version.document, version.document.model_fields_set)
        return labels_of(ProcessorLabels()) | given

    def body(self, version: WantedVersion) -> dict[str, Any]:
        """Return a version as it is sent: unchanged, with all labels."""
        content = {key: value for key, value in version.file.data.items() if key not in LABELS}
        return content | self.labels


@dataclass(frozen=True, slots=True)
class Wanted:
    """The content of all files.

    `faulty` are the documents of processors with problems, `faulty_streams` the names in documents
    of streams with problems.
    """

    streams: tuple[WantedStream, ...]
    lists: tuple[ListDocument, ...]
    processors: tuple[WantedProcessor, ...]
    faulty: tuple[CheckedFile, ...]
    faulty_streams: frozenset[str]


def stream_names(documents: Sequence[FileDocument]) -> set[str]:
    """Return the streams that documents name."""
    keys = (
        "stream" if _is_processor(place.data) or is_list(place.data) else "name"
        for place in documents
    )
    named = (place.data.get(key) for place, key in zip(documents, keys, strict=True))
    return {name for name in named if isinstance(name, str)}


def check_documents(
    documents: Sequence[FileDocument],
    published: Mapping[str, Schema | None],
    stream: str | None,
    lists: Mapping[str, tuple[ValueList, ...]] = MappingProxyType({}),
) -> tuple[Wanted, list[FileProblem]]:
    """Return the wanted state in documents, and all their problems.

    Args:
        documents: from all files.
        published: the columns of the streams that the service knows.
        stream: leave out what belongs to another stream.
        lists: what else there is on the streams whose lists are known; names of others are not
            checked.
    """
    files = _Files()
    processors, listed = [], []
    for place in documents:
        if _is_processor(place.data):
            processors.append(place)
        elif is_list(place.data):
            listed.append(place)
        elif "schema" in place.data or "name" in place.data:
            files.add_stream(place)
        else:
            message = "neither a rule (id, stream, pattern), a stream (name, schema) nor a list."
            is_pattern = "steps" in place.data or "match_recognize" in place.data
            remedy = "Put the pattern under `pattern:`, with id and stream." if is_pattern else ""
            files.problems.append(place.problem("", message, remedy))
    known = {**published, **files.columns}
    for place in listed:
        files.add_list(place, known)
    columns = {
        name: schema and replace(schema, lists=files.lists_of(name, lists.get(name)))
        for name, schema in known.items()
    }
    for place in processors:
        files.add_processor(place, columns)
    wanted = files.wanted(stream)
    if not files.problems and not (wanted.streams or wanted.lists or wanted.processors):
        message = f"there is no document of stream '{stream}' in it."
        files.problems += [FileProblem(file, message) for file in _files_of(documents)]
    return wanted, files.problems


def content_of(document: ProcessorDocument, pattern: Pattern) -> dict[str, Any]:
    """Return what makes a version, in one spelling, in the order in which people write it."""
    written = document.model_dump(mode="json", exclude_defaults=True, exclude={*LABELS, "paused"})
    written = without_implied_key(written, pattern)
    return in_usual_order(written | {"pattern": pattern.to_document()})


def labels_of(document: ProcessorLabels, keys: AbstractSet[str] = LABELS) -> dict[str, Any]:
    """Return those of these keys that make no version; tags in order, each once."""
    labels = document.model_dump(mode="json", include=set(LABELS & keys))
    return labels | ({"tags": sorted(set(document.tags))} if "tags" in labels else {})


def _files_of(documents: Iterable[FileDocument]) -> Iterable[Path]:
    return dict.fromkeys(place.file for place in documents)


def _is_processor(data: Mapping[str, Any]) -> bool:
    return "pattern" in data or "id" in data


@dataclass(slots=True)
class _Files:
    """Sorts documents into what is wanted and what is wrong.

    `columns` are those of the streams in the files, `None` where they cannot be read.
    """

    problems: list[FileProblem] = field(default_factory=list)
    columns: dict[str, Schema | None] = field(default_factory=dict)
    _streams: dict[str, WantedStream] = field(default_factory=dict)
    _lists: dict[tuple[str, str], ListDocument] = field(default_factory=dict)
    _has_faulty_list: bool = False
    _versions: dict[str, list[WantedVersion]] = field(default_factory=dict)
    _faulty: list[CheckedFile] = field(default_factory=list)
    _claims: dict[str, list[Claim]] = field(default_factory=dict)

    def add_stream(self, place: FileDocument) -> None:
        checked = check_stream(place.data)
        self.problems += map(place.in_file, checked.problems)
        name = place.data.get("name")
        if isinstance(name, str):
            self.columns.setdefault(name, checked.schema)
        if checked.problems or checked.document is None or checked.schema is None:
            return
        wanted = WantedStream(place, checked.document, checked.schema)
        if self._streams.setdefault(wanted.stream, wanted) is not wanted:
            other = self._streams[wanted.stream].place.file
            self.problems.append(place.problem("name", f"'{wanted.stream}' is also in {other}"))

    def add_list(self, place: FileDocument, columns: Mapping[str, Schema | None]) -> None:
        checked = checked_list(place)
        self.problems += checked.problems
        found = checked.found
        if found is None:
            self._has_faulty_list = True
            return
        if found.stream not in columns:
            self.problems.append(_without_stream(place, found.stream))
        elif self._lists.setdefault((found.stream, found.name), found) is not found:
            other = self._lists[found.stream, found.name].place.file
            self.problems.append(place.problem("list", f"'{found.name}' is also in {other}"))

    def lists_of(
        self, stream: str, others: tuple[ValueList, ...] | None
    ) -> tuple[ValueList, ...] | None:
        """Return the lists of a stream with their types, `None` if not all of them are known."""
        # A faulty document of a list is told once, and not again with each rule that names it.
        if others is None or self._has_faulty_list:
            return None
        own = {name: each for (of, name), each in self._lists.items() if of == stream}
        typed = tuple(ValueList(each.name, DATA_TYPES[each.data_type]) for each in own.values())
        return (*typed, *(each for each in others if each.name not in own))

    def add_processor(self, place: FileDocument, columns: Mapping[str, Schema | None]) -> None:
        stream = place.data.get("stream")
        schema = columns.get(stream) if isinstance(stream, str) else None
        checked = check_definition(place.data, schema, ProcessorFile)
        self.problems += map(place.in_file, checked.problems)
        file = CheckedFile(place, checked)
        if (claim := claim_of(place)) is not None:
            self._claims.setdefault(place.data["id"], []).append(claim)
        wrong = {problem.path for problem in checked.problems}
        if isinstance(stream, str) and stream not in columns and "stream" not in wrong:
            self.problems.append(_without_stream(place, stream))
            self._faulty.append(file)
        elif checked.problems or checked.content is None or checked.pattern is None:
            self._faulty.append(file)
        else:
            version = WantedVersion(file, checked.content, checked.pattern)
            self._versions.setdefault(version.document.id, []).append(version)

    def wanted(self, stream: str | None) -> Wanted:
        """Return what is wanted; documents that exclude each other are problems, too."""
        for name, claims in self._claims.items():
            self.problems += claim_problems(name, sorted(claims, key=lambda each: each.begin))
        processors = [
            WantedProcessor(tuple(sorted(versions, key=lambda each: each.begin)))
            for versions in self._versions.values()
        ]
        return Wanted(
            tuple(each for each in self._streams.values() if stream in (None, each.stream)),
            tuple(each for each in self._lists.values() if stream in (None, each.stream)),
            tuple(each for each in processors if stream in (None, each.stream)),
            tuple(each for each in self._faulty if stream in (None, each.stream)),
            frozenset(self.columns.keys() - self._streams.keys()),
        )


def _without_stream(place: FileDocument, stream: str) -> FileProblem:
    remedy = "Add its document, or register it first."
    return place.problem("stream", f"there is no stream '{stream}'", remedy)
