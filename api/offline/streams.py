"""The columns that rules are tested against: of streams among the documents, else beside them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from api.streams.checking import check_stream
from cep.definition.rule_files import FileDocument, FileProblem, read_documents
from cep.events.order import EventTime
from cep.expression import Schema


@dataclass(frozen=True, slots=True)
class StreamAtHand:
    """A stream from its document; `schema` is `None` if something is wrong with the document."""

    place: FileDocument
    schema: Schema | None
    time: EventTime
    problems: tuple[FileProblem, ...]


def streams_at_hand(
    documents: Sequence[FileDocument], paths: Iterable[Path], more: Iterable[Path]
) -> tuple[dict[str, StreamAtHand], list[FileProblem]]:
    """Return the definitions of streams by name, and what cannot be read of `more`.

    Args:
        documents: those that are tested; their streams count first.
        paths: where they come from: next to a file that was named alone there may be its stream.
        more: files and folders to look for streams in, given for that.
    """
    found = _streams(documents)
    others, problems = read_documents(more)
    found = _streams(others) | found
    if any(stream not in found for stream in _watched(documents)):
        beside = (file for path in paths if path.is_file() for file in path.parent.iterdir())
        neighbours, _ = read_documents(sorted(file for file in beside if file.is_file()))
        found = _streams(neighbours) | found
    return found, problems


def _watched(documents: Iterable[FileDocument]) -> set[str]:
    names = (place.data.get("stream") for place in documents)
    return {name for name in names if isinstance(name, str)}


def _streams(documents: Iterable[FileDocument]) -> dict[str, StreamAtHand]:
    found: dict[str, StreamAtHand] = {}
    for place in documents:
        name = place.data.get("name")
        if "schema" not in place.data or not isinstance(name, str) or name in found:
            continue
        checked = check_stream(place.data)
        problems = tuple(map(place.in_file, checked.problems))
        schema = None if problems else checked.schema
        known = checked.document
        time = EventTime(known.event_time_column, tuple(known.order_by)) if known else EventTime("")
        found[name] = StreamAtHand(place, schema, time, problems)
    return found
