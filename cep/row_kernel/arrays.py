"""What the compiled search is given: plain arrays in named tuples, which compiled code can take.

Numbers are `int64`. Arrays of several columns are `[row, column]`, so that what is read together
stands together.
"""

from typing import NamedTuple

from cep.compiling import Ints
from cep.condition_code.arrays import CodeTables, Columns, Flags, Memory, Stack


class Program(NamedTuple):
    """A clause as the search runs it.

    Args:
        states: where the steps of a state begin, whether it accepts; one more at the end.
        steps: variable, code, next state; preferred ones first.
        initial: the first state.
        initial_of_first_row: that at the first row of a partition.
        tests: by variable, what conditions ask of candidates.
        are_of_row: by variable, whether its condition reads rows by their place only.
        within_ms: the longest time of a match, -1 = no limit.
        skip: -1 past the last row, -2 to the next row, else the variables of FIRST or LAST.
        skip_is_first: whether it is FIRST.
        fewest_rows: those of the shortest match.
        output_ahead: how many rows after a match its output reads.
        has_memory: whether conditions look at candidates. Without, what failed once at a row fails
            always, unless time is short.
    """

    states: Ints
    steps: Ints
    initial: int
    initial_of_first_row: int
    tests: CodeTables
    are_of_row: Flags
    within_ms: int
    skip: int
    skip_is_first: bool
    fewest_rows: int
    output_ahead: int
    has_memory: bool


class Rows(NamedTuple):
    """The rows of a call: time, what is known of each variable, what conditions read."""

    times_ms: Ints
    known: Ints
    true: Ints
    columns: Columns


class Room(NamedTuple):
    """Room for one candidate.

    Args:
        path: by depth: state, next step, code.
        memory: what it remembers, by depth.
        stack: for its conditions.
        dead: by row and state, the mark of what came to nothing; no rows = that is not noted.
    """

    path: Ints
    memory: Memory
    stack: Stack
    dead: Ints


class Partitions(NamedTuple):
    """The partitions of a call: the rows of each, and how far it has come before.

    `start` is where the next match may begin, `matches` how many have been found; `has_first_row`:
    its first row is the first of all; `is_ended`: no row comes after.
    """

    begin: Ints
    end: Ints
    start: Ints
    matches: Ints
    has_first_row: Flags
    is_ended: Flags


class Matches(NamedTuple):
    """What has been found, and where each partition stands: parallel arrays.

    `codes` holds the codes of all rows of all matches, one match after the other. `status`, `start`
    and `matches` are by partition.
    """

    partition: Ints
    first_row: Ints
    length: Ints
    number: Ints
    codes: Ints
    status: Ints
    start: Ints
    matches: Ints
