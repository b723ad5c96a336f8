"""What the service would refuse of a plan, found out before anything is changed.

    documents ──► Checker ──► the service, as a publish would check them
    new columns ──► misfits ──► what is published on the stream

Where a stream is new or is to have other columns, the service cannot know yet whether rules fit it.
They are then checked here, by the same function.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from api.client import Client, Flaw, Invalid, NotFound, ProcessorLine, Stream
from api.gitops.changes import ProcessorChange, StreamChange
from api.gitops.checking import CheckedFile, WantedStream
from api.gitops.comparison import published_documents
from cep.definition.checking import check_definition
from cep.definition.document import ProcessorContent
from cep.definition.list_documents import ListDocument
from cep.definition.rule_files import FileDocument, FileProblem, Inside
from cep.events.order import EventTime
from cep.expression import Schema
from cep.matching.examples import example_problems


def misfits(
    client: Client, change: StreamChange, pool: ThreadPoolExecutor
) -> Iterator[FileProblem]:
    """Yield which published versions would not fit the new columns of a stream."""
    wanted, current = change.wanted, change.current
    if current is None or current.ddl == wanted.document.ddl:
        return

    def published(line: ProcessorLine) -> Iterator[tuple[str, dict[str, Any]]]:
        processor = client.get(line.id)
        for version, document in zip(
            processor.published, published_documents(client, processor), strict=True
        ):
            yield f"'{line.id}', version {version.version}", document

    for versions in pool.map(lambda line: list(published(line)), client.processors(current.name)):
        for who, document in versions:
            content = {
                key: value
                for key, value in document.items()
                if key in ProcessorContent.model_fields
            }
            for problem in check_definition(content, wanted.schema, ProcessorContent).problems:
                message = (
                    f"what is published does not fit: {who}, {problem.path}: {problem.message}"
                )
                remedy = "Publish a version that fits both definitions first, or delete it."
                yield wanted.place.problem("schema", message, remedy)


@dataclass(frozen=True, slots=True)
class Checker:
    """Has documents checked as a publish would check them, by the service as far as it can.

    A stream of `changed` is new there or is to have other columns, one of `faulty` has a faulty
    document: what the service says about columns is then not about the right ones. Of `lists`, by
    stream and name, the service has other values, or none yet.
    """

    client: Client
    changed: Mapping[str, WantedStream]
    faulty: frozenset[str]
    streams: Mapping[str, Stream | None]
    lists: Mapping[tuple[str, str], ListDocument]

    def checked(self, change: ProcessorChange) -> tuple[ProcessorChange, list[FileProblem]]:
        """Return a change with its warnings, and what is wrong with its documents."""
        wanted, current = change.wanted, change.current
        if current is not None and current.stream != wanted.stream:
            message = f"'{change.name}' stays on stream '{current.stream}'"
            place = wanted.versions[0].place
            return change, [place.problem("stream", message, "Choose another id.")]
        warnings: list[FileProblem] = []
        problems: list[FileProblem] = []
        for version in (step.version for step in change.steps if step.version is not None):
            warned, refused = self.check(version.file, wanted.body(version))
            warnings += warned
            problems += refused
        return replace(change, warnings=tuple(warnings)), problems

    def check(
        self, file: CheckedFile, body: Mapping[str, Any]
    ) -> tuple[list[FileProblem], list[FileProblem]]:
        """Return warnings of and problems with one document, those found in reading it aside.

        Args:
            file: the document, checked here.
            body: the document as it would be sent.
        """
        place, stream = file.place, str(body.get("stream"))
        warned, refused = self._asked(body)
        warnings = [place.in_file(each) for each in file.checked.warnings]
        warnings += _flaw_problems(place, warned)
        names = () if file.checked.pattern is None else file.checked.pattern.list_names
        has_other_lists = any((stream, name) in self.lists for name in names)
        is_known = stream not in self.changed and bool(self.streams.get(stream))
        if has_other_lists or stream in self.faulty or not is_known:
            refused = [flaw for flaw in refused if _is_about_code(flaw)]
        problems = list(_flaw_problems(place, refused))
        if has_other_lists or stream in self.changed:
            problems += self._example_problems(file, stream, names)
        return list(dict.fromkeys(warnings)), problems

    def _example_problems(
        self, file: CheckedFile, stream: str, names: Sequence[str]
    ) -> Iterator[FileProblem]:
        """Yield what examples find with what files say of their stream and its lists."""
        listed = [self.lists.get((stream, name)) for name in names]
        given = [each.given() for each in listed if each is not None]
        values = tuple(each.value_list() for each in given if each is not None)
        found = self._columns(stream)
        # The service runs the others when it publishes: the values of their lists are with it.
        if found is not None and len(values) == len(names):
            time, schema = found
            known = replace(schema, lists=values)
            found_problems = example_problems(file.place.data, file.checked, time, known)
            yield from map(file.place.in_file, found_problems)

    def _columns(self, stream: str) -> tuple[EventTime, Schema] | None:
        """Return what orders the events and their columns, as they are to be."""
        if (wanted := self.changed.get(stream)) is not None:
            document = wanted.document
            return EventTime(document.event_time_column, tuple(document.order_by)), wanted.schema
        if (known := self.streams.get(stream)) is None:
            return None
        time = EventTime(known.event_time_column, tuple(known.order_by))
        return time, Schema.from_ddl(known.ddl)

    def _asked(self, body: Mapping[str, Any]) -> tuple[list[Flaw], list[Flaw]]:
        """Return what the service warns of, and what it refuses."""
        try:
            return self.client.validate(body), []
        except NotFound:  # nothing is wrong, beside that there is no such stream
            return [], []
        except Invalid as error:
            return [], list(error.flaws) or [Flaw(pointer="", detail=error.detail)]


def _is_about_code(flaw: Flaw) -> bool:
    return flaw.pointer == "/function" or flaw.pointer.endswith("/python")


def _flaw_problems(place: FileDocument, flaws: Iterable[Flaw]) -> Iterator[FileProblem]:
    for flaw in flaws:
        path = place.path_of_pointer(flaw.pointer)
        inside = Inside(flaw.line, flaw.column, flaw.snippet)
        yield place.problem(path, flaw.detail, flaw.remedy, inside)
