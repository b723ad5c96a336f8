"""Documents → what is wrong with each: checks as `percept apply` makes them, then the examples.

Examples run in a worker of `api.trials`, one rule after the other: what takes all time or memory is
ended there, and the rules behind it are tested all the same.
"""

import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from api.code.verification import code_problems, holds_code, place_of
from api.gitops.checking import CheckedFile, Wanted, check_documents, stream_names
from api.offline.outcomes import ExampleOutcome, Outcome
from api.offline.streams import StreamAtHand
from api.trials.processes import BeyondLimit, TrialFailed, TrialProcesses
from cep.bounded_cache import BoundedCache
from cep.definition.given_lists import GivenList, UnknownLists
from cep.definition.list_documents import checked_list, given_in, is_list, lists_at_hand
from cep.definition.rule_files import FileDocument, FileProblem
from cep.expression.lists import DATA_TYPES, ValueList
from cep.matching.examples import WrittenExamples, examples_to_run
from cep.pattern import Problem
from cep.signing.keys import SigningKeys
from cep.trials.lists import written_list

_EXAMPLE: Final = re.compile(r"examples\[(\d+)\]")
_NO_STREAM: Final = "Add its document beside the rule, or name its file with --streams."
_BYTES_KEPT: Final = 100_000_000
"""So many bytes of values of lists stay in memory, for the rules that name them."""
_SMALLER: Final = "Keep examples small; use a backtest for more."


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What documents are tested with.

    `keys` are those that Python code may be signed with, `None` if there are none here. `lists` are
    there for the rules of all streams, by name; `neighbours` are documents of lists beside those
    that are tested, and `read` is how they are read.
    """

    streams: dict[str, StreamAtHand]
    keys: SigningKeys | None
    processes: TrialProcesses
    lists: Mapping[str, GivenList] = field(default_factory=dict)
    neighbours: Sequence[FileDocument] = ()
    read: Callable[[FileDocument], GivenList | None] = given_in


def outcomes_of(
    documents: Sequence[FileDocument],
    unreadable: Iterable[FileProblem],
    around: Surroundings,
    is_selected: Callable[[FileDocument], bool],
) -> Iterator[Outcome]:
    """Yield how each document went, once it is tested; files that hold none come first.

    Args:
        documents: from all files; they are checked beside each other.
        unreadable: what was found in reading them.
        around: streams, keys and workers.
        is_selected: whether a document is to be told of.
    """
    columns = {name: stream.schema for name, stream in around.streams.items()}
    known = dict.fromkeys(stream_names(documents)) | columns
    wanted, problems = check_documents(documents, known, None, _others(documents, known, around))
    neighbours = [*documents, *around.neighbours]
    around = replace(around, neighbours=neighbours, read=_read_once(neighbours))
    checked = {id(file.place): file for file in _files(wanted)}
    by_document: dict[int, list[FileProblem]] = defaultdict(list)
    for problem in problems:
        by_document[id(problem.document)].append(problem)
    yield from _without_documents(unreadable)
    yield from _faulty_streams(documents, around.streams)
    for place in filter(is_selected, documents):
        found = by_document[id(place)]
        file = checked.get(id(place))
        yield (
            Outcome(place.file, _name(place), tuple(found))
            if file is None
            else _tested_rule(file, found, around)
        )


def _read_once(documents: Iterable[FileDocument]) -> Callable[[FileDocument], GivenList | None]:
    """Return a function that reads the lists of documents, and keeps as many as memory allows."""
    places = {id(place): place for place in documents}
    kept = BoundedCache[int, GivenList | None](
        lambda key: given_in(places[key]),
        capacity=_BYTES_KEPT,
        size_of=lambda _key, given: 1 if given is None else len(given.content),
    )
    return lambda place: kept[id(place)]


def _others(
    documents: Sequence[FileDocument], streams: Iterable[str], around: Surroundings
) -> dict[str, tuple[ValueList, ...]]:
    """Return the lists of streams that no document among those that are tested has."""
    given = tuple(each.value_list() for each in around.lists.values())
    beside = [found for each in around.neighbours if (found := checked_list(each).found)]
    own = {place.data.get("stream") for place in documents if is_list(place.data)}
    others: dict[str, tuple[ValueList, ...]] = {}
    for stream in streams:
        more = [each for each in beside if each.stream == stream]
        typed = (ValueList(each.name, DATA_TYPES[each.data_type]) for each in more)
        # Where none is at hand a rule is told how to give them, rather than that there are none.
        if given or more or stream in own:
            others[stream] = (*given, *typed)
    return others


def _files(wanted: Wanted) -> Iterator[CheckedFile]:
    yield from wanted.faulty
    for processor in wanted.processors:
        yield from (version.file for version in processor.versions)


def _without_documents(unreadable: Iterable[FileProblem]) -> Iterator[Outcome]:
    by_file: dict[Path, list[FileProblem]] = defaultdict(list)
    for problem in unreadable:
        by_file[problem.file].append(problem)
    for file, problems in by_file.items():
        yield Outcome(file, "the file", tuple(problems))


def _faulty_streams(
    documents: Sequence[FileDocument], streams: dict[str, StreamAtHand]
) -> Iterator[Outcome]:
    """Yield streams that are not tested themselves, if rules cannot be tested with them."""
    own = set(map(id, documents))
    for stream in streams.values():
        if stream.problems and id(stream.place) not in own:
            yield Outcome(stream.place.file, _name(stream.place), stream.problems)


def _name(place: FileDocument) -> str:
    data = place.data
    if is_list(data):
        return f"list {data['list']}"
    if "pattern" not in data and "id" not in data:
        return f"stream {data.get('name', '')}" if "schema" in data else "a document"
    begin = data.get("effective_from")
    return f"{data.get('id', 'a rule')}" + (f" from {begin}" if begin is not None else "")


def _tested_rule(file: CheckedFile, found: list[FileProblem], around: Surroundings) -> Outcome:
    place, checked = file.place, file.checked
    problems, not_tested = list(found), []
    stream = around.streams.get(file.stream) if isinstance(file.stream, str) else None
    if stream is None and isinstance(file.stream, str):
        message = f"there is no definition of stream '{file.stream}' here: columns were not checked"
        message += " and examples not run" if place.data.get("examples") else ""
        problems.append(place.problem("stream", message, _NO_STREAM))
    elif stream is not None and stream.schema is None:
        not_tested.append(f"columns: the definition in {stream.place.file} is faulty")
    names = () if checked.pattern is None else checked.pattern.list_names
    lists: dict[str, GivenList] = {}
    with suppress(ValueError):  # told with the document of the list
        lists = lists_at_hand(names, str(file.stream), around.neighbours, around.lists, around.read)
    unknown = [name for name in names if name not in lists]
    if unknown and (place.data.get("examples") or not _are_declared(unknown, file, around)):
        problems.append(place.problem("pattern", f"{UnknownLists(unknown)}"))
    if holds_code(place.data):
        problems += map(place.in_file, _code_problems(place.data, around.keys))
        is_known = "its signature was checked" if around.keys else "without PERCEPT_SIGNING_KEYS"
        not_tested.append(f"Python code: {is_known}, it was not run")
    begun = time.perf_counter()
    examples: tuple[ExampleOutcome, ...] = ()
    if stream is not None and stream.schema is not None and not unknown:
        written, unfit = examples_to_run(place.data, checked, stream.time)
        if written is not None:
            given = list(lists.values())
            unfit = _example_problems(written, stream.place.data["schema"], given, around.processes)
            examples = tuple(_examples(place, written, unfit))
        problems += (place.in_file(each) for each in unfit if not _EXAMPLE.match(each.path))
    if place.data.get("examples") and not examples and problems:
        not_tested.append("examples: they run once the rest is right")
    return Outcome(
        place.file,
        _name(place),
        tuple(dict.fromkeys(problems)),
        tuple(map(place.in_file, checked.warnings)),
        examples,
        tuple(not_tested),
        time.perf_counter() - begun,
    )


def _are_declared(names: Iterable[str], file: CheckedFile, around: Surroundings) -> bool:
    """Return whether there are documents of lists, though they may not say which values."""
    documents = [each.data for each in around.neighbours if is_list(each.data)]
    declared = {str(each["list"]) for each in documents if each.get("stream") == file.stream}
    return declared.issuperset(names)


def _code_problems(document: dict[str, Any], keys: SigningKeys | None) -> list[Problem]:
    return [] if keys is None else code_problems(document, keys, place_of(document))


def _example_problems(
    written: WrittenExamples, ddl: str, lists: Sequence[GivenList], processes: TrialProcesses
) -> list[Problem]:
    arguments = {
        "written": asdict(written),
        "schema": ddl,
        "lists": [asdict(written_list(each)) for each in lists],
    }
    try:
        json.dumps(arguments)
    except (TypeError, ValueError, RecursionError) as error:
        return [Problem("examples", f"they hold what JSON cannot: {error}.", "Write it as text.")]
    try:
        answer = processes.run("examples", arguments)
    except BeyondLimit as beyond:
        return [Problem("examples", f"{beyond}", _SMALLER)]
    except TrialFailed as failure:
        message = str(failure).strip().rpartition("\n")[2]
        return [Problem("examples", f"running them failed: {message}", "")]
    return [Problem(**each) for each in json.loads(answer)]


def _examples(
    place: FileDocument, written: WrittenExamples, problems: Sequence[Problem]
) -> Iterator[ExampleOutcome]:
    by_example: dict[int, list[FileProblem]] = defaultdict(list)
    for problem in problems:
        if found := _EXAMPLE.match(problem.path):
            by_example[int(found[1])].append(place.in_file(problem))
        else:
            return  # none has run to its end
    for index, example in enumerate(written.examples):
        name = example.get("name") or f"example {index + 1}"
        yield ExampleOutcome(name, tuple(by_example[index]))
