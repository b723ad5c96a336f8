"""What is wanted and what there is → a plan: every change that apply would make, with its diff.

Wanted ──┐
         ├──► Plan (and what the service says is wrong with the documents)
service ─┘
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from api.client import Client, Flaw, Invalid, NotFound, Processor, Stream
from api.gitops.changes import (
    Action,
    Change,
    Deletion,
    Plan,
    ProcessorChange,
    Step,
    StreamChange,
)
from api.gitops.checking import (
    Wanted,
    WantedProcessor,
    WantedStream,
    content_of,
    expression_problems,
    labels_of,
)
from api.gitops.documents import FileDocument, FileProblem, Inside
from api.gitops.published import published_documents
from api.gitops.text_diff import text_diff
from api.streams.schemas import StreamDocument
from cep.definition.document import ProcessorDocument
from cep.pattern import Pattern

REQUESTS_AT_ONCE: Final = 8

Found = TypeVar("Found")


def make_plan(
    client: Client, wanted: Wanted, stream: str | None, *, prune: bool
) -> tuple[Plan, list[FileProblem]]:
    """Return the plan, and what is wrong with documents that are to be published.

    Args:
        client: the service; nothing is changed there.
        wanted: what the files say.
        stream: the only stream to look at.
        prune: delete processors that no file mentions, of all streams that the files name.

    Raises:
        ServiceError: the service does not answer, or not to this role.
    """
    named = {each.stream for each in wanted.processors} | {each.stream for each in wanted.streams}
    named |= {stream} if stream else set()
    streams = {name: _found(client.stream, name) for name in sorted(named)}
    stream_changes = [
        change for each in wanted.streams if (change := _stream_change(each, streams[each.stream]))
    ]
    checker = _Checker(client, {each.name: each.wanted for each in stream_changes}, streams)
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        compared = pool.map(lambda each: _processor_change(client, each), wanted.processors)
        checked = list(pool.map(checker.checked, (change for change in compared if change)))
    deletions = list(_deletions(client, wanted, streams)) if prune else []
    changes: tuple[Change, ...] = (
        *stream_changes,
        *(change for change, _ in checked),
        *deletions,
    )
    total = len(wanted.streams) + len(wanted.processors) + len(deletions)
    problems = [problem for _, problems in checked for problem in problems]
    return Plan(changes, total - len(changes)), problems


def _found(read: Callable[[str], Found], name: str) -> Found | None:
    try:
        return read(name)
    except NotFound:
        return None


def _deletions(
    client: Client, wanted: Wanted, streams: Mapping[str, Stream | None]
) -> Iterator[Deletion]:
    mentioned = {each.id for each in wanted.processors}
    for name in (name for name, found in streams.items() if found):
        for line in client.processors(name):
            if line.id not in mentioned:
                yield Deletion(line)


def _stream_change(wanted: WantedStream, current: Stream | None) -> StreamChange | None:
    after = wanted.document.model_dump(by_alias=True, exclude_defaults=True)
    if current is None:
        return StreamChange(wanted, None, text_diff([], [after]))
    known = StreamDocument.model_validate(current.document)
    before = known.model_dump(by_alias=True, exclude_defaults=True)
    return None if before == after else StreamChange(wanted, current, text_diff([before], [after]))


def _processor_change(client: Client, wanted: WantedProcessor) -> ProcessorChange | None:
    current = _found(client.get, wanted.id)
    if current is None:
        first = Action.CREATE_PAUSED if wanted.paused else Action.CREATE
        actions = [first, *(Action.VERSION for _ in wanted.versions[1:])]
        steps = [Step(*step) for step in zip(actions, wanted.versions, strict=True)]
        return ProcessorChange(wanted, None, tuple(steps))
    there = _Published.of(client, current)
    if steps := list(_steps(wanted, current, there)):
        before = _shown(there.labels, there.contents)
        after = _shown(wanted.labels, [version.content for version in wanted.versions])
        return ProcessorChange(wanted, current, tuple(steps), text_diff(before, after))
    return None


@dataclass(frozen=True, slots=True)
class _Published:
    """What jobs are given of a processor, in one spelling; numbers are those of the versions."""

    numbers: list[int]
    contents: list[dict[str, Any]]
    labels: dict[str, Any]

    @classmethod
    def of(cls, client: Client, processor: Processor) -> "_Published":
        read = [ProcessorDocument.model_validate(d) for d in published_documents(client, processor)]
        return cls(
            [published.version for published in processor.published],
            [content_of(each, Pattern.from_document(each.pattern)) for each in read],
            labels_of(read[0]),
        )


def _steps(wanted: WantedProcessor, current: Processor, there: _Published) -> Iterator[Step]:
    """Yield what is to be done: pausing first and resuming last, so that nothing runs in between.

    A version that stays keeps its number; what is new gets higher ones, since of the versions whose
    time has come the highest runs. Where documents speak of later versions only, what runs until
    then is left alone.
    """
    if wanted.paused is True and not current.is_paused:
        yield Step(Action.PAUSE)
    waiting = list(wanted.versions)
    only_later = "effective_from" in waiting[0].content
    stale = []
    for number, content in zip(there.numbers, there.contents, strict=True):
        if waiting and content == waiting[0].content:
            waiting.pop(0)
        elif "effective_from" in content or not only_later:
            stale.append(number)
    yield from (Step(Action.VERSION, version) for version in waiting)
    # A version for now has ended all others.
    if not waiting or "effective_from" in waiting[0].content:
        yield from (Step(Action.CANCEL, number=number) for number in stale)
    if not waiting and there.labels != wanted.labels:
        yield Step(Action.LABELS)
    if wanted.paused is False and current.is_paused:
        yield Step(Action.RESUME)


def _shown(labels: dict[str, Any], contents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    given = {key: value for key, value in labels.items() if value}
    return [given | contents[0], *contents[1:]]


@dataclass(frozen=True, slots=True)
class _Checker:
    """Has documents checked: by the service, or here if their stream is new there."""

    client: Client
    new_streams: Mapping[str, WantedStream]
    streams: Mapping[str, Stream | None]

    def checked(self, change: ProcessorChange) -> tuple[ProcessorChange, list[FileProblem]]:
        """Return a change with the service's warnings, and what is wrong with its documents."""
        wanted, name = change.wanted, change.wanted.stream
        versions = [step.version for step in change.steps if step.version is not None]
        if name in self.new_streams:
            schema = self.new_streams[name].schema
            found = (expression_problems(version, schema) for version in versions)
            return change, [problem for problems in found for problem in problems]
        place = wanted.versions[0].place
        if self.streams[name] is None:
            told = f"there is no stream '{name}'"
            return change, [
                place.problem("stream", told, "Add its document, or register it first.")
            ]
        if change.current is not None and change.current.stream != name:
            told = f"'{change.name}' stays on stream '{change.current.stream}'"
            return change, [place.problem("stream", told, "Choose another id.")]
        warnings: list[Flaw] = []
        problems: list[FileProblem] = []
        for version in versions:
            try:
                warnings += self.client.validate(wanted.body(version))
            except Invalid as error:
                flaws = error.flaws or (Flaw(pointer="", detail=error.detail),)
                problems += _flaw_problems(version.place, flaws)
        return replace(change, warnings=tuple(warnings)), problems


def _flaw_problems(place: FileDocument, flaws: Iterable[Flaw]) -> Iterator[FileProblem]:
    for flaw in flaws:
        path = place.path_of_pointer(flaw.pointer)
        inside = Inside(flaw.line, flaw.column, flaw.snippet)
        yield place.problem(path, flaw.detail, flaw.remedy, inside)
