"""What is open for one key: how far its partial matches have come, and what they wait for.

    KeyedMatcher, key ──open_matches──► OpenMatches by rule

Works on what the matcher holds between two events; nothing is changed by asking.
"""

import heapq
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cep.keyed.matcher import KeyedMatcher
from cep.keyed.shapes import Member, Shape
from cep.nfa.machine import Machine
from cep.nfa.runs import (
    CELL_EVENT,
    CELL_PREVIOUS,
    CELL_STEP,
    RUN_CELL,
    RUN_PREVIOUS_MS,
    RUN_RULES,
    RUN_START_MS,
    RUN_STATE,
    Cell,
    KeyRuns,
    Run,
    accepted_events,
    cells_without_number,
)
from cep.nfa.waiting import deadline_ms, next_steps
from cep.row_search.machine import RowPatternKey, RowPatternMachine
from cep.row_search.partition import Partition, codes_of


@dataclass(frozen=True, slots=True)
class StepTaken:
    """The events a partial match has taken for one step, or variable; times of the events."""

    name: str
    count: int
    first_ms: int
    last_ms: int


@dataclass(frozen=True, slots=True)
class OpenMatch:
    """One partial match.

    `steps` are in order of their first events. `expires_ms` is when its first window closes, `None`
    without one. `awaited` are the steps that it can take next, `forbidden` those whose events end
    it; with nothing awaited it is a match when its window closes.
    """

    steps: tuple[StepTaken, ...]
    started_ms: int
    last_ms: int
    expires_ms: int | None
    awaited: tuple[str, ...]
    forbidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpenMatches:
    """What one rule holds for a key: how many in all, and those that have come farthest.

    `held_back` are complete, and wait for a partial match that began before them.
    """

    count: int
    held_back: int
    farthest: tuple[OpenMatch, ...]


def open_matches(
    matcher: KeyedMatcher, key: Hashable, most: int, time_of: Callable[[Any], int]
) -> dict[str, OpenMatches]:
    """Return what is open for a key, by rule; rules that hold nothing for it are left out.

    At most `most` partial matches of a rule are described; those that took the most events, the
    older one of equals. `time_of` gives the time of an event in milliseconds.
    """
    found: dict[str, OpenMatches] = {}
    for shape in matcher.shapes:
        held = shape.keys.get(key)
        if isinstance(held, RowPatternKey):
            if (searched := _searched(shape, held, most)) is not None:
                found[shape.members[0].rule] = searched
        elif isinstance(held, KeyRuns):
            found |= _of_runs(shape, held, most, time_of)
    return found


# --- partial matches of steps


def _of_runs(
    shape: Shape, held: KeyRuns, most: int, time_of: Callable[[Any], int]
) -> Iterator[tuple[str, OpenMatches]]:
    taken = _events_taken(run[RUN_CELL] for run in held.runs)
    for bit, member in enumerate(shape.members):
        runs = [run for run in held.runs if run[RUN_RULES] >> bit & 1]
        held_back = sum(len(queue) for rules, queue in held.waiting if rules >> bit & 1)
        if not runs and not held_back:
            continue
        farthest = heapq.nlargest(most, runs, key=lambda run: taken[id(run[RUN_CELL])])
        described = tuple(_described(shape, member, run, time_of) for run in farthest)
        yield member.rule, OpenMatches(len(runs), held_back, described)


def _events_taken(tips: Iterable[Cell]) -> dict[int, int]:
    """Return how many events lead to each cell, by `id`; each cell is looked at once."""
    taken: dict[int, int] = {}
    for tip in tips:
        for cell in reversed(cells_without_number(tip, taken)):
            before = cell[CELL_PREVIOUS]
            taken[id(cell)] = 1 if before is None else taken[id(before)] + 1
    return taken


def _described(shape: Shape, member: Member, run: Run, time_of: Callable[[Any], int]) -> OpenMatch:
    if not isinstance(shape.machine, Machine):
        raise TypeError("runs of steps are held by a machine of steps")
    program = shape.machine.program
    coming = next_steps(program, run[RUN_STATE])
    return OpenMatch(
        steps=_steps(
            (_name(member, cell[CELL_STEP]), time_of(cell[CELL_EVENT]))
            for cell in accepted_events(run[RUN_CELL])
        ),
        started_ms=run[RUN_START_MS],
        last_ms=run[RUN_PREVIOUS_MS],
        expires_ms=deadline_ms(program, run),
        awaited=_distinct(_name(member, step) for step in coming.awaited),
        forbidden=_distinct(_name(member, step) for step in coming.forbidden),
    )


def _name(member: Member, step: int) -> str:
    """Return the name of a step as matches have it; after ":" stands the number of a copy."""
    number = step if member.clause is None else member.clause.variables[step]
    return member.step_names[number].partition(":")[0]


# --- candidates of a clause that is searched for


def _searched(shape: Shape, held: RowPatternKey, most: int) -> OpenMatches | None:
    partition, machine = held.partition, shape.machine
    if not isinstance(machine, RowPatternMachine):
        raise TypeError("a partition is held by the search of a clause")
    held_back = held.held_back_count() + partition.has_found
    is_open = partition.has_begun and partition.has_start
    candidates = [each for each in partition.candidates if each[1] is not None] if is_open else []
    if not candidates and not held_back:
        return None
    names = shape.members[0].step_names
    expires_ms = machine.next_deadline_ms(held)
    described = []
    # All candidates are of one start and end at the same row; preferred ones come first.
    for state, path, _ in candidates[:most]:
        taken = _rows_taken(partition, codes_of(path), names)
        described.append(
            OpenMatch(
                steps=_steps(taken),
                started_ms=taken[0][1],
                last_ms=taken[-1][1],
                expires_ms=expires_ms,
                awaited=_distinct(names[step.variable] for step in state.steps),
            )
        )
    return OpenMatches(len(candidates), held_back, tuple(described))


def _rows_taken(
    partition: Partition, codes: tuple[int, ...], names: tuple[str, ...]
) -> list[tuple[str, int]]:
    first = partition.start - partition.base
    return [
        (names[code >> 1], time_ms)
        for code, time_ms in zip(codes, partition.times[first:], strict=False)
    ]


# --- both


def _steps(taken: Iterable[tuple[str, int]]) -> tuple[StepTaken, ...]:
    """Return the steps of events, given the step and the time of each in order."""
    times: dict[str, list[int]] = {}
    for name, time_ms in taken:
        times.setdefault(name, []).append(time_ms)
    return tuple(StepTaken(name, len(of), of[0], of[-1]) for name, of in times.items())


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
