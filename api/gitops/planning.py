"""Wanted and current state → a plan: every change that apply would make, with its diff.

Wanted ──┐
         ├──► Plan, and everything that the service would refuse
service ─┘
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from api.client import Client, Invalid, NotFound, Stream
from api.gitops.changes import (
    Action,
    Change,
    Deletion,
    Plan,
    PlannedRequest,
    ProcessorChange,
    StreamChange,
)
from api.gitops.checking import (
    Wanted,
    WantedProcessor,
    WantedStream,
    check_documents,
    stream_names,
)
from api.gitops.comparison import Published, processor_diff, steps_between, text_diff
from api.gitops.list_planning import KnownLists, list_change, list_deletion
from api.gitops.refusals import Checker, misfits
from cep.definition.rule_files import FileDocument, FileProblem
from cep.expression import Schema
from contract.service.streams import StreamDocument

REQUESTS_AT_ONCE: Final = 8

Found = TypeVar("Found")


def make_plan(
    client: Client, documents: Sequence[FileDocument], stream: str | None, *, prune: bool
) -> tuple[Plan, list[FileProblem]]:
    """Return the plan, and everything that is wrong with any document: then it is none.

    Args:
        client: the service; nothing is changed there.
        documents: from all files.
        stream: the only stream to look at.
        prune: delete processors that no file mentions, of all streams that the files name, and
            lists, of the streams that files have lists of.

    Raises:
        ServiceError: the service does not answer, or refuses this role.
    """
    named = stream_names(documents)
    streams = {name: _found(client.stream, name) for name in sorted({stream} if stream else named)}
    columns = {name: Schema.from_ddl(found.ddl) for name, found in streams.items() if found}
    not_looked_at = dict.fromkeys(named - streams.keys())
    known = KnownLists.of(client, streams)
    unmentioned = known.not_mentioned(documents) if prune else []
    wanted, problems = check_documents(
        documents, {**not_looked_at, **columns}, stream, known.types(unmentioned)
    )
    stream_changes = [
        change for each in wanted.streams if (change := _stream_change(each, streams[each.stream]))
    ]
    listed = [list_change(client, each, known) for each in wanted.lists]
    list_changes = [change for change, _ in listed if change is not None]
    problems += (problem for _, found in listed for problem in found)
    checker = Checker(
        client,
        {each.name: each.wanted for each in stream_changes},
        wanted.faulty_streams,
        streams,
        {(each.stream, each.wanted.name): each.wanted for each in list_changes},
    )
    with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
        compared = pool.map(lambda each: _processor_change(client, each), wanted.processors)
        checked = list(pool.map(checker.checked, (change for change in compared if change)))
        faults = list(pool.map(lambda file: checker.check(file, file.data)[1], wanted.faulty))
        faults += (found for _, found in checked)
        faults += (list(misfits(client, change, pool)) for change in stream_changes)
    problems += (problem for found in faults for problem in found)
    deletions: list[Change] = []
    if prune and not problems:
        deletions += _deletions(client, wanted, streams)
        deletions += map(list_deletion, unmentioned)
    changes: tuple[Change, ...] = (
        *stream_changes,
        *list_changes,
        *(change for change, _ in checked),
        *deletions,
    )
    total = len(wanted.streams) + len(wanted.lists) + len(wanted.processors) + len(deletions)
    return Plan(changes, total - len(changes)), list(dict.fromkeys(problems))


def problems_without_service(documents: Sequence[FileDocument]) -> list[FileProblem]:
    """Return what is wrong with documents whatever the service holds."""
    return check_documents(documents, dict.fromkeys(stream_names(documents)), None)[1]


def _found(read: Callable[[str], Found], name: str) -> Found | None:
    try:
        return read(name)
    except (NotFound, Invalid):  # not there, or no name that could be there
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
        steps = [PlannedRequest(*step) for step in zip(actions, wanted.versions, strict=True)]
        return ProcessorChange(wanted, None, tuple(steps))
    there = Published.of(client, current)
    if steps := list(steps_between(wanted, current, there)):
        return ProcessorChange(wanted, current, tuple(steps), processor_diff(there, wanted))
    return None
