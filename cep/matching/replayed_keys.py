"""A key that the search of a clause has written, for the machine that runs the clause now.

    payload of cep.row_search.codec ──its open rows, one by one──► KeyRuns, merged with those there

A job may have begun when the clause was searched for, and goes on where it runs as a pattern. What
the search holds are the rows from the open start on, and all that begins there is still to be
found, so that nothing is lost or found twice.
"""

from collections.abc import Callable
from math import inf
from operator import itemgetter
from typing import Any

from cep.matching.shapes import Shape
from cep.nfa.machine import Machine
from cep.nfa.runs import (
    CELL_SEQUENCE,
    RUN_START,
    RUN_START_MS,
    Cell,
    Completed,
    KeyRuns,
    Run,
    accepted_events,
)


def replayed(
    shape: Shape, bit: int, payload: list[Any], translate: Callable[[Any], Any] | None = None
) -> KeyRuns:
    """Return the partial matches of a rule that is a clause, from the rows that its search held.

    Args:
        shape: where the rule is now.
        bit: which of its rules it is, as a bit set.
        payload: what `cep.row_search.codec.partition_payload` returned.
        translate: from a row as it was written to one as it is read now.

    Raises:
        ValueError: the payload is not well formed.
        LimitExceeded: the key would hold too much.
    """
    rows, are_tuples, times_ms, _, variables, (base, start, _, starts_end), *_ = payload
    machine, member = shape.machine, shape.members[bit.bit_length() - 1]
    runs = KeyRuns()
    if not isinstance(machine, Machine) or member.clause is None:
        raise ValueError("a row pattern was written for a rule that is none")
    for index in range(start, base + len(rows)):
        place = index - base
        row = tuple(rows[place]) if are_tuples else rows[place]
        event = row if translate is None else translate(row)
        may_begin = starts_end is None or index < starts_end
        holding = [
            test
            for variable, test in enumerate(member.clause.tests)
            if test is not None and variables[place] >> variable & 1
        ]
        transitions = machine.transitions(holding, bit if may_begin else 0, bit)
        deadline_ms = machine.next_deadline_ms(runs)
        if deadline_ms is not None and deadline_ms <= times_ms[place]:
            machine.advance(runs, times_ms[place])
        machine.process(runs, transitions, event, times_ms[place])
    return runs


def merged(one: KeyRuns, other: KeyRuns) -> KeyRuns:
    """Return the partial matches of two sets of rules, which have none in common, as one key.

    Their events are numbered anew, as those of each were numbered for themselves.
    """
    sides = (one, other)
    order = sorted(
        (since_ms, side, sequence)
        for side, runs in enumerate(sides)
        for sequence, since_ms in _times_ms(runs).items()
    )
    numbers: tuple[dict[int, int], ...] = ({}, {})
    for number, (_, side, sequence) in enumerate(order):
        numbers[side][sequence] = number
    runs = KeyRuns()
    parts = [_renumbered(side, new) for side, new in zip(sides, numbers, strict=True)]
    runs.runs = sorted((run for part, _ in parts for run in part), key=itemgetter(RUN_START))
    runs.waiting = [queue for _, waiting in parts for queue in waiting]
    runs.sequence = len(order)
    runs.events_bound = one.events_bound + other.events_bound
    runs.bound_rules()
    return runs


def _times_ms(runs: KeyRuns) -> dict[int, float]:
    """Return, by the number of each event in use, when the last open start up to it was."""
    begins = sorted((run[RUN_START], run[RUN_START_MS]) for run in runs.runs)
    in_use = {cell[CELL_SEQUENCE] for cell in runs.cells()}
    times: dict[int, float] = {}
    place, since_ms = 0, -inf
    for sequence in sorted(in_use):
        while place < len(begins) and begins[place][0] <= sequence:
            since_ms = begins[place][1]
            place += 1
        times[sequence] = since_ms
    return times


def _renumbered(
    runs: KeyRuns, numbers: dict[int, int]
) -> tuple[list[Run], list[tuple[int, list[Completed]]]]:
    """Return open and held-back matches with other numbers for their events, in the same order."""
    new: dict[int, Cell] = {}

    def renumbered(tip: Cell) -> Cell:
        for cell in accepted_events(tip):
            if id(cell) not in new:
                previous, step, sequence, event, aggregates = cell
                before = None if previous is None else new[id(previous)]
                new[id(cell)] = (before, step, numbers[sequence], event, aggregates)
        return new[id(tip)]

    open_runs = [
        (state, rules, numbers[start], start_ms, previous_ms, renumbered(cell))
        for state, rules, start, start_ms, previous_ms, cell in runs.runs
    ]
    waiting = [
        (rules, [(numbers[start], renumbered(cell)) for start, cell in queue])
        for rules, queue in runs.waiting
    ]
    return open_runs, waiting
