"""What the compiled machine is given and returns: plain arrays in named tuples.

Numbers are `int64`; arrays of several columns are `[row, column]`. The places of columns are named
here, those of runs and cells as in `cep.nfa.runs`: constants become a part of compiled code, which
is kept for as long as the sources of this package are the same.
"""

from typing import Final, NamedTuple

from cep.compiling import Ints
from cep.condition_code.arrays import CodeTables, Memory, Stack

RUN_STATE: Final = 0
RUN_RULES: Final = 1
RUN_START: Final = 2
RUN_START_MS: Final = 3
RUN_PREVIOUS_MS: Final = 4
RUN_CELL: Final = 5
RUN_WIDTH: Final = 6

CELL_PREVIOUS: Final = 0
CELL_STEP: Final = 1
CELL_SEQUENCE: Final = 2
CELL_EVENT: Final = 3
"""Its event: the place among those of the call; those that keys have held come after them."""
CELL_WIDTH: Final = 4

NO_CELL: Final = -1
NO_STEP: Final = -1
NO_WINDOW: Final = -1
NO_EVENT: Final = -1
NO_RESIDUAL: Final = -1

FOUND_KEY: Final = 0
FOUND_RULES: Final = 1
FOUND_CELL: Final = 2
FOUND_TIME_MS: Final = 3
FOUND_IS_TIMEOUT: Final = 4
FOUND_ORDER_MS: Final = 5
"""When it was emitted, in ms; of a window that closed, at least 1 ms after the event before."""
FOUND_EVENT: Final = 6
"""The event it came out with, or `NO_EVENT` for a window that closed."""
FOUND_WIDTH: Final = 7

NO_SKIP: Final = 0
PAST_LAST_EVENT: Final = 1
TO_NEXT: Final = 2
TO_FIRST: Final = 3
TO_LAST: Final = 4

DONE: Final = 0
GAVE_UP: Final = 1
"""The machine in Python has to do it all: a limit was met, a skip failed, or there is too much."""
NO_ROOM: Final = 2
"""It has to be done again from the beginning, in larger arrays."""


class ResidualBranches(NamedTuple):
    """The branches whose outcome depends on earlier events, and the conditions that decide.

    Args:
        branches: where their conditions begin and end, where their choices begin.
        conditions: numbers of conditions.
        choices: by which of the conditions of a branch are true, as bits, the outcome.
        outcomes: where the successors begin and end, where the finished begin and end.
        numbers: by rule and condition, its code.
        tests: the code.
    """

    branches: Ints
    conditions: Ints
    choices: Ints
    outcomes: Ints
    numbers: Ints
    tests: CodeTables


class Tables(NamedTuple):
    """What kinds of events do to a machine, and what else it knows.

    Args:
        branch_begin: by kind and state, where their branches begin; one more at the end.
        branches: rules, where the successors begin and end, where the finished begin and end, which
            of the uncertain it is or `NO_RESIDUAL`.
        successors: state, step or `NO_STEP`.
        finished: step or `NO_STEP`.
        concerned: by kind and state, the rules for which anything changes.
        starts: by kind, whether it begins partial matches, and for which rules.
        states: the window since the event before or `NO_WINDOW`, whether a match is complete when
            the window closes.
        start_state: the state of a partial match without events.
        has_previous_windows: whether any state has a window since the event before.
        window_ms: since the first event; 0 = none.
        skip: what follows a match, a target step, whether a missing target is an error.
        most_held: how many partial matches and held-back matches a key may have.
        most_events: how many events a key may have kept, counted roughly.
        rule_count: how many rules the machine has.
        step_count: how many steps.
        residual: what depends on earlier events.
    """

    branch_begin: Ints
    branches: Ints
    successors: Ints
    finished: Ints
    concerned: Ints
    starts: Ints
    states: Ints
    start_state: int
    has_previous_windows: bool
    window_ms: int
    skip: tuple[int, int, bool]
    most_held: int
    most_events: int
    rule_count: int
    step_count: int
    residual: ResidualBranches


class KeyEvents(NamedTuple):
    """The events of a call, key by key in the order of their first events.

    Args:
        begin: by key, where its events begin in the next three; one more at the end.
        order: their numbers.
        times_ms: their times.
        kinds: their kinds.
        first_held: the number of the first event that keys have held; no event here has it.
    """

    begin: Ints
    order: Ints
    times_ms: Ints
    kinds: Ints
    first_held: int


class KeyArrays(NamedTuple):
    """What keys hold. Key by key, `run_begin` and `queue_begin` have one more at the end.

    Args:
        sequences: the number of the next event.
        event_counts: how many events are kept, roughly.
        run_begin: where the runs of a key begin.
        runs: see the columns above.
        queue_begin: where the queues of held-back matches of a key begin.
        queues: rules, where its matches begin and end.
        held_back: start, last cell.
        cells: see the columns above; those before come first.
    """

    sequences: Ints
    event_counts: Ints
    run_begin: Ints
    runs: Ints
    queue_begin: Ints
    queues: Ints
    held_back: Ints
    cells: Ints


class Current(NamedTuple):
    """Room for what the key holds whose turn it is, and for what an event does to it.

    Args:
        runs: its partial matches.
        moved: those that an event has moved.
        finished: matches that are complete: rules, start, last cell.
        late: partial matches whose window has closed: rules, last cell, time.
        queues: rules, begin and count of the queues in `held_back`.
        held_back: start, last cell.
        parts: room for queues, as `split`.
        split: room.
        items: room for held-back matches.
        agreeing: room; see `cep.nfa_kernel.residuals.split_by_tests`.
        stack: for conditions.
    """

    runs: Ints
    moved: Ints
    finished: Ints
    late: Ints
    queues: Ints
    held_back: Ints
    parts: Ints
    split: Ints
    items: Ints
    agreeing: Ints
    stack: Stack


class Counters(NamedTuple):
    """How far partial matches get; see `cep.nfa_kernel.counting` for the columns.

    Args:
        pending: by step and kind: rules, how often, newest time.
        counts: by rule and step.
        step_count: how many steps there are.
    """

    pending: Ints
    counts: Ints
    step_count: int


class Room(NamedTuple):
    """Arrays for what a call brings, of which the first places are written.

    Args:
        after: what keys hold at the end.
        found: what is found.
        counters: how far partial matches get.
        memory: what cells remember; without conditions that ask for it, it has one place.
        current: room for one key.
    """

    after: KeyArrays
    found: Ints
    counters: Counters
    memory: Memory
    current: Current


class Event(NamedTuple):
    """The event whose turn it is.

    Args:
        row: where it stands among those of the call.
        number: its own.
        kind: what it does to the machine.
        time_ms: when it was.
        sequence: which of its key it is.
    """

    row: int
    number: int
    kind: int
    time_ms: int
    sequence: int


class Run(NamedTuple):
    """A partial match; see the columns above."""

    state: int
    rules: int
    start: int
    start_ms: int
    previous_ms: int
    cell: int


class Moves(NamedTuple):
    """How many partial matches an event has moved and finished, and how many cells there are."""

    status: int
    moved: int
    finished: int
    cells: int


class Held(NamedTuple):
    """How many partial matches and queues the key holds, and how many finds there are in all."""

    status: int
    runs: int
    queues: int
    found: int


class WrittenCounts(NamedTuple):
    """How a call went, and how many places of its room have been written."""

    status: int
    cells: int
    found: int
    runs: int
    queues: int
    held_back: int


class WalkResult(NamedTuple):
    """How a call went: `status`, what the keys hold now, what was found, key by key.

    `counts` has a row for each step of each rule; its columns are in `counting`.
    """

    status: int
    keys: KeyArrays
    found: Ints
    counts: Ints
