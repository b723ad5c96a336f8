"""The lists in files and those of the service → what to do about them, with how many values differ.

ListDocument ──┐
               ├──► ListChange, with counts and a few of the values
service ───────┘     digests first: values are read only where these differ, one list at a time
"""

import csv
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final

from api.client import Client, ListVersionLine, Stream, ValueListLine
from api.gitops.changes import Action, ListChange, ListDeletion
from cep.definition.given_lists import UnreadableList
from cep.definition.list_documents import ListDocument, is_list
from cep.definition.rule_files import FileDocument, FileProblem
from cep.expression.lists import DATA_TYPES, ValueList
from cep.list_content import list_values, value_in_cell

_SHOWN: Final = 5
_LONGEST_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class KnownLists:
    """The lists that the service has, by stream and name."""

    by_stream: Mapping[str, Mapping[str, ValueListLine]]

    @classmethod
    def of(cls, client: Client, streams: Mapping[str, Stream | None]) -> "KnownLists":
        """Return the lists of streams; one that is not there has none.

        Raises:
            ServiceError: the service does not answer.
        """
        return cls(
            {
                name: {each.name: each for each in client.lists(name).all()} if found else {}
                for name, found in streams.items()
            }
        )

    def not_mentioned(self, documents: Iterable[FileDocument]) -> list[ValueListLine]:
        """Return what no file mentions, of the streams that files have lists of."""
        mentioned = {
            (str(place.data.get("stream")), str(place.data["list"]))
            for place in documents
            if is_list(place.data)
        }
        streams = {stream for stream, _ in mentioned}
        return [
            each
            for stream in sorted(streams & self.by_stream.keys())
            for each in self.by_stream[stream].values()
            if (stream, each.name) not in mentioned
        ]

    def types(self, without: Iterable[ValueListLine]) -> dict[str, tuple[ValueList, ...]]:
        """Return the lists of each stream with their types, but for some."""
        left_out = {(each.stream, each.name) for each in without}
        return {
            stream: tuple(
                ValueList(each.name, DATA_TYPES[each.data_type])
                for each in lists.values()
                if (stream, each.name) not in left_out
            )
            for stream, lists in self.by_stream.items()
        }


def list_change(
    client: Client, wanted: ListDocument, known: KnownLists
) -> tuple[ListChange | None, list[FileProblem]]:
    """Return what is to be done about a list, if anything, or why it cannot be.

    Raises:
        ServiceError: the service does not answer.
    """
    current = known.by_stream.get(wanted.stream, {}).get(wanted.name)
    if current is None:
        first = (Action.CREATE, Action.VALUES) if wanted.count else (Action.CREATE,)
        told = () if wanted.digest is None else (f"+ {_counted(wanted.count)}",)
        return ListChange(wanted, None, first, told), []
    if current.data_type != wanted.data_type:
        wrong = f"the list is of type {current.data_type}, which stays"
        remedy = "Choose another name, or delete it first."
        return None, [wanted.place.problem("type", wrong, remedy)]
    actions: list[Action] = []
    diff: list[str] = []
    if wanted.digest is not None and wanted.digest != in_effect(current).digest:
        try:
            diff += _difference(client, wanted, current)
        except UnreadableList as error:
            return None, [FileProblem(error.path, error.told, line=error.line)]
        actions.append(Action.VALUES)
    if wanted.document.description != current.description:
        actions.append(Action.DESCRIBE)
        diff += [f"- description: {current.description}"] if current.description else []
        diff.append(f"+ description: {wanted.document.description}")
    if not actions:
        return None, []
    return ListChange(wanted, current, tuple(actions), tuple(map(_cut, diff))), []


def list_deletion(current: ValueListLine) -> ListDeletion:
    """Return the deletion of a list."""
    return ListDeletion(current, (f"- {_counted(current.count)}",))


def in_effect(current: ValueListLine) -> ListVersionLine:
    """Return the version of a list that is in effect now, of those that jobs are given."""
    now_ms = time.time_ns() // 1_000_000
    begun = [each for each in current.published if (each.effective_from or 0) <= now_ms]
    return (begun or current.published)[-1]


def _difference(client: Client, wanted: ListDocument, current: ValueListLine) -> Iterator[str]:
    before = values_there(client, current)
    given = wanted.given()
    assert given is not None  # noqa: S101 - it has a digest
    after = set(map(str, list_values(given.data_type, given.content)))
    yield from _shown("+", after - before)
    yield from _shown("-", before - after)
    for version in current.published:
        if version.effective_from is not None and version != in_effect(current):
            yield f"- version {version.version}, which is scheduled"


def values_there(client: Client, current: ValueListLine) -> set[str]:
    """Return the values of a list that are in effect now, as texts.

    Raises:
        ServiceError: the service does not answer.
    """
    version = in_effect(current).version
    with client.lists(current.stream).csv(current.name, version=version) as pieces:
        return {value_in_cell(row[0]) for row in csv.reader(lines_of(pieces)) if row}


def lines_of(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines of a text that comes in pieces, each with its end."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).splitlines(keepends=True) or [b""]
        # The last line may go on in the next piece.
        yield from (line.decode() for line in lines)
    if rest:
        yield rest.decode()


def _shown(sign: str, values: set[str]) -> Sequence[str]:
    if not values:
        return []
    few = nsmallest(_SHOWN, values)
    more = ", …" if len(values) > len(few) else ""
    return [f"{sign} {_counted(len(values))}: {', '.join(map(repr, few))}{more}"]


def _counted(count: int) -> str:
    return f"{count:,} value{'' if count == 1 else 's'}"


def _cut(line: str) -> str:
    return line if len(line) <= _LONGEST_SHOWN else f"{line[: _LONGEST_SHOWN - 1]}…"
