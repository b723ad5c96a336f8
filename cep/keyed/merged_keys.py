"""What a key holds for rules that were in machines of their own and are in one now.

    KeyRuns of some rules, KeyRuns of others ──merged──► KeyRuns of all, for one machine

Where rules of one shape share a machine depends on how many there are and on their limits, so a
change of either may bring together what was written apart.
"""

from math import inf
from operator import itemgetter

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
