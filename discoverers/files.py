"""Files as a source (GitOps): processor documents in one file or in a directory, YAML or JSON.

    files ── read twice alike ──► documents ──► FoundProcessors

Files are read, not watched: that works the same on network file systems and with the symbolic links
that Kubernetes swaps when a config map changes. A set of files is taken once two readings, a moment
apart, have found the same; so neither a half-written file is taken nor half of a checkout. What
cannot be read or is malformed keeps the processors that it held before.

A directory is read with its sub-directories. Names that begin with a dot are passed over, and
documents of other streams. A document with a `schema` and no `pattern` is a stream's definition;
one with `paused: true` is a paused processor. Documents with `list` are lists of the stream.
"""

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field, ValidationError

from cep.definition.list_documents import ListFile, is_list
from cep.file_trouble import file_trouble
from cep.pattern.document.files import SUFFIXES, FileRefused, read_documents
from cep.pattern.document.text import SourceDocument
from contract.problem_text import problem_text
from contract.snapshot import StreamDefinition
from discoverers.discoverer import DiscovererSurroundings, PatternProcessorDiscovererFactory
from discoverers.found import (
    DocumentRefused,
    FoundProcessors,
    FoundVersion,
    ProcessorProblem,
    found_version,
)
from discoverers.health import HealthStatus
from discoverers.list_contents import KeptContents
from discoverers.list_files import FoundList, ListFiles, ReadLists, Signature, signatures
from discoverers.periodic import PeriodicPatternProcessorDiscoverer
from discoverers.stream_options import StreamOptions

_LARGEST_FILE_BYTES = 10_000_000
_READINGS = 20


class FilesUnusable(Exception):
    """There is nothing in the files that could be run, or they do not stand still."""


class _FilesFactory(PatternProcessorDiscovererFactory):
    interval_seconds: float = Field(default=2, gt=0, description="How often to read.")
    settle_seconds: float = Field(
        default=0.2, ge=0, description="How long changed files must have stayed as they are."
    )
    stream: StreamOptions | None = Field(
        default=None, description="The stream's definition, if no document holds it."
    )


class FileDiscovererFactory(_FilesFactory):
    """Options of `type: file`: all documents in one file."""

    path: Path = Field(description="The file.")

    def create_discoverer(self, surroundings: DiscovererSurroundings) -> "FilesDiscoverer":
        """Return a discoverer of the file."""
        return FilesDiscoverer(self, surroundings, self.path, is_directory=False)


class DirectoryDiscovererFactory(_FilesFactory):
    """Options of `type: directory`: documents in the files of a directory and what is below it."""

    path: Path = Field(description="The directory.")

    def create_discoverer(self, surroundings: DiscovererSurroundings) -> "FilesDiscoverer":
        """Return a discoverer of the directory."""
        return FilesDiscoverer(self, surroundings, self.path, is_directory=True)


@dataclass(frozen=True, slots=True)
class _Content:
    """What a file held, or why it could not be read."""

    data: bytes = b""
    trouble: str = ""


@dataclass(slots=True)
class _FileReading:
    """What the documents of one file say about a stream."""

    content: _Content
    versions: list[FoundVersion] = field(default_factory=list)
    problems: list[ProcessorProblem] = field(default_factory=list)
    stream: StreamOptions | None = None
    lists: list[FoundList] = field(default_factory=list)


class FilesDiscoverer(PeriodicPatternProcessorDiscoverer):
    """Discovers the processors of one stream in files."""

    failures = (OSError, FilesUnusable)

    def __init__(
        self,
        options: _FilesFactory,
        surroundings: DiscovererSurroundings,
        path: Path,
        *,
        is_directory: bool,
    ) -> None:
        super().__init__(
            interval_seconds=options.interval_seconds,
            initial=surroundings.initial,
            clock=surroundings.clock,
        )
        self._settle_seconds = options.settle_seconds
        self._stream_options = options.stream
        self._stream = surroundings.stream
        self._path = path
        self._is_directory = is_directory
        self._files: Mapping[str, _FileReading] = {}
        self._last_stream = surroundings.initial.stream if surroundings.initial else None
        self._signatures: Mapping[str, Signature] = {}
        kept = surroundings.initial.lists if surroundings.initial else []
        self._lists = ListFiles({each.name: each for each in kept})
        self._list_contents = KeptContents()

    def get_processors(self) -> FoundProcessors | None:
        """Return the processors in the files once these stand still; `None` if they are as before.

        Raises:
            OSError: the file or the directory is not there or cannot be read.
            FilesUnusable: no files, no definition of the stream, or files that keep changing.
        """
        contents = self._settled()
        before = {path: reading.content for path, reading in self._files.items()}
        is_same = contents == before and self._signatures == signatures(self._found_lists())
        if is_same and self.health.status is HealthStatus.OK:
            return None
        self._files = {
            path: reading
            if (reading := self._files.get(path)) is not None and reading.content == content
            else _read_file(path, content, self._stream)
            for path, content in contents.items()
        }
        readings = self._files.values()
        lists = self._read_lists()
        problems = tuple(problem for reading in readings for problem in reading.problems)
        problems += lists.problems
        versions = tuple(version for reading in readings for version in reading.versions)
        if problems and not versions:
            raise FilesUnusable(str(problems[0]))
        self._last_stream = self._found_stream()
        self._list_contents.take(lists.contents)
        return FoundProcessors(
            stream=self._last_stream, versions=versions, problems=problems, lists=lists.lists
        )

    def list_content(self, digest: str) -> bytes:
        """Return the content of a list that one of the last snapshots names.

        Raises:
            LookupError: none of them does.
        """
        content = self._list_contents.content(digest)
        return super().list_content(digest) if content is None else content

    def _found_lists(self) -> list[FoundList]:
        return [each for reading in self._files.values() for each in reading.lists]

    def _read_lists(self) -> ReadLists:
        """Return the lists once their files stand still, as they were before and after reading."""
        found = self._found_lists()
        troubled = {path for path, reading in self._files.items() if reading.problems}
        signed = signatures(found)
        for _ in range(_READINGS):
            if signed != self._signatures:
                self._clock.wait(self._closed, self._settle_seconds)
            self._signatures = signatures(found)
            read = self._lists.read(found, self._signatures, troubled, self._list_contents.newest)
            if self._signatures == signed == signatures(found):
                return read
            signed = signatures(found)
        raise FilesUnusable(f"values of lists in {self._path} keep changing")

    def _settled(self) -> dict[str, _Content]:
        """Return the contents of all files as two readings in a row have found them."""
        contents = self._contents()
        if contents == {path: reading.content for path, reading in self._files.items()}:
            return contents
        for _ in range(_READINGS):
            self._clock.wait(self._closed, self._settle_seconds)
            again = self._contents()
            if again == contents:
                return contents
            contents = again
        raise FilesUnusable(f"{self._path} keeps changing; it is read once it stands still")

    def _contents(self) -> dict[str, _Content]:
        if not self._is_directory:
            return {str(self._path): _Content(_read_bytes(self._path))}
        contents = {}
        for path in _document_paths(self._path):
            try:
                contents[str(path)] = _Content(_read_bytes(path))
            except OSError as error:
                # Gone since it was listed: deleted. A link to nothing is still there.
                if os.path.lexists(path):
                    contents[str(path)] = _Content(trouble=f"cannot be read: {file_trouble(error)}")
        if not contents:
            # An unmounted volume looks just so.
            raise FilesUnusable(
                f"{self._path} holds no {', '.join(SUFFIXES)} file; to run no rules, "
                "keep a file with an empty list in it: []"
            )
        return contents

    def _found_stream(self) -> StreamDefinition:
        """Return the stream's definition: from the options, the files, or the reading before."""
        given = {path: reading.stream for path, reading in self._files.items() if reading.stream}
        if self._stream_options is not None:
            return self._stream_options.definition(self._stream)
        if len(given) > 1:
            raise FilesUnusable(f"stream {self._stream} is defined in {' and in '.join(given)}")
        for options in given.values():
            return options.definition(self._stream)
        problems = [problem for each in self._files.values() for problem in each.problems]
        if self._last_stream is not None and problems:
            return self._last_stream
        lacking = f"{self._path} does not define the stream {self._stream}"
        if problems:
            # Where its definition should be there may be one that is malformed.
            raise FilesUnusable(f"{lacking}; {'; '.join(map(str, problems))}")
        raise FilesUnusable(
            f"{lacking}; add a document with name, schema and event_time_column, or the option "
            "stream"
        )


def _document_paths(directory: Path) -> Iterator[Path]:
    """Yield the files of a directory that may hold documents, by path.

    Raises:
        OSError: the directory cannot be read.
    """
    with os.scandir(directory) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _document_paths(Path(entry))
        elif Path(entry).suffix.lower() in SUFFIXES:
            yield Path(entry)


def _read_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(_LARGEST_FILE_BYTES + 1)
    if len(data) > _LARGEST_FILE_BYTES:
        message = f"It is larger than {_LARGEST_FILE_BYTES:,} bytes. Divide it"
        raise OSError(errno.EFBIG, message, str(path))
    return data


def _read_file(path: str, content: _Content, stream: str) -> _FileReading:
    """Return what a file says about a stream."""
    reading = _FileReading(content)
    if content.trouble:
        reading.problems.append(ProcessorProblem(path, content.trouble))
        return reading
    try:
        documents = read_documents(content.data.decode(), Path(path).suffix.lower())
    except (FileRefused, UnicodeDecodeError) as error:
        told = str(error) if isinstance(error, FileRefused) else file_trouble(error)
        reading.problems.append(ProcessorProblem(path, told))
        return reading
    for document in documents:
        try:
            _read_document(document, path, stream, reading)
        except DocumentRefused as error:
            name = document.data.get("id")
            known = name if isinstance(name, str) else None
            problem = ProcessorProblem(path, str(error), known, document=error.document)
            reading.problems.append(problem)
    return reading


def _read_document(document: SourceDocument, path: str, stream: str, reading: _FileReading) -> None:
    data = document.data
    if is_list(data):
        _read_list_document(document, path, stream, reading)
        return
    is_stream = "schema" in data and "pattern" not in data
    if data.get("name" if is_stream else "stream", stream) != stream:
        return
    if not is_stream:
        whole = {"stream": stream} | data
        reading.versions.append(found_version(whole, path, text=document))
        return
    try:
        reading.stream = StreamOptions.model_validate(
            {key: value for key, value in data.items() if key != "name"}
        )
    except ValidationError as error:
        raise DocumentRefused(problem_text(error, StreamOptions, document)) from None


def _read_list_document(
    document: SourceDocument, path: str, stream: str, reading: _FileReading
) -> None:
    if document.data.get("stream", stream) != stream:
        return
    try:
        found = ListFile.model_validate({"stream": stream} | document.data)
    except ValidationError as error:
        raise DocumentRefused(problem_text(error, ListFile, document)) from None
    reading.lists.append(FoundList(found, path))
