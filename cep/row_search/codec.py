"""The state of a partition as plain values, and back, between any two rows.

    Partition ──partition_payload──► plain values ──cep.nfa.codec.pack_values──► bytes

The rows of candidates are written as a tree, each once. What a candidate remembers is not written:
it follows from its rows and is computed again, each common part once.
"""

from collections.abc import Callable
from typing import Any

from cep.nfa.errors import StateEncodingError
from cep.row_search.partition import Candidate, Due, Partition, Path
from cep.row_search.search import RowPatternSearch

_NO_PATH = -1


def partition_payload(partition: Partition) -> list[Any]:
    """Return the state of a partition as plain values, for `pack_values`."""
    numbers: dict[int, int] = {}
    paths: list[int] = []

    def number(path: Path | None) -> int:
        new: list[Path] = []
        while path is not None and id(path) not in numbers:
            new.append(path)
            path = path[0]
        before = _NO_PATH if path is None else numbers[id(path)]
        for link in reversed(new):
            paths.extend((before, link[1]))
            before = numbers[id(link)] = len(paths) // 2 - 1
        return before

    candidates = [
        [state.place[0], list(state.place[1]), number(path)]
        for state, path, _ in partition.candidates
    ]
    found = number(partition.found)
    are_tuples = all(type(row) is tuple for row in partition.rows)
    return [
        [list(row) for row in partition.rows] if are_tuples else partition.rows,
        are_tuples,
        partition.times,
        partition.known,
        partition.true,
        [partition.base, partition.start, partition.cursor, partition.starts_end],
        [partition.matches, partition.covered, partition.debt],
        [partition.has_begun, partition.has_found],
        paths,
        candidates,
        found,
        [[due.kind, due.start, list(due.codes), due.number, due.until] for due in partition.due],
    ]


def partition_of_payload(
    payload: list[Any], search: RowPatternSearch, translate: Callable[[Any], Any] | None = None
) -> Partition:
    """Return the partition that `partition_payload` described, for the search of the same clause.

    `translate` makes a row as it is read now of one as it was written.

    Raises:
        StateEncodingError: the payload is not well formed.
    """
    try:
        return _partition(payload, search, translate)
    except (ValueError, TypeError, IndexError) as error:
        raise StateEncodingError(f"the encoded state is not well formed: {error}") from error


def _partition(
    payload: list[Any], search: RowPatternSearch, translate: Callable[[Any], Any] | None
) -> Partition:
    rows, are_tuples, times, known, true, places, counts, flags, paths, candidates, found, due = (
        payload
    )
    partition = Partition()
    if are_tuples:
        rows = [tuple(row) for row in rows]
    partition.rows = rows if translate is None else [translate(row) for row in rows]
    partition.times, partition.known, partition.true = times, known, true
    partition.base, partition.start, partition.cursor, partition.starts_end = places
    partition.matches, partition.covered, partition.debt = counts
    partition.has_begun, partition.has_found = flags
    restored = _restored_paths(paths, partition, search)
    partition.candidates = [
        _candidate(number, (place, tuple(registers)), restored, partition, search)
        for place, registers, number in candidates
    ]
    partition.found = None if found == _NO_PATH else restored[found][0]
    partition.due.extend(
        Due(kind, start, tuple(codes), number, until) for kind, start, codes, number, until in due
    )
    return partition


def _restored_paths(
    paths: list[int], partition: Partition, search: RowPatternSearch
) -> list[tuple[Path, Any, int]]:
    """Return the paths with what is remembered behind each, and the index of the row behind."""
    restored: list[tuple[Path, Any, int]] = []
    for before, code in zip(paths[::2], paths[1::2], strict=True):
        path: Path | None = None
        memory, index = search.program.layout.initial, partition.start
        if before != _NO_PATH:
            path, memory, index = restored[before]
        if memory:
            row, number = partition.row(index), partition.matches + 1
            memory = search.program.layout.with_row(memory, code >> 1, index, row, number)
        restored.append(((path, code), memory, index + 1))
    return restored


def _candidate(
    number: int,
    place: tuple[int, tuple[int, ...]],
    restored: list[tuple[Path, Any, int]],
    partition: Partition,
    search: RowPatternSearch,
) -> Candidate:
    if number == _NO_PATH:
        initial = search.program.states.initial(is_first_row=partition.start == 0)
        return (initial, None, search.program.layout.initial)
    path, memory, _ = restored[number]
    return (search.program.states.at(place), path, memory)
