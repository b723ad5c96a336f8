"""Compiled: the search of many partitions in one call, backtracking, preferred ways first.

    Program + Rows + Partitions ──► Matches

It tries what `cep.row_search.search` would, in the order of preferment, one candidate after the
other, as all rows are there. What has failed at a row is not tried again where conditions look at
no candidate; where they do, what a partition may try is bounded, and the other search decides.

Source: ISO/IEC 19075-5, 7.2 (preferment) and 4.12 (AFTER MATCH SKIP).
"""

from typing import Final

import numpy as np

from cep.compiling import Ints, compiled, in_caller, in_place
from cep.compiling.growing import with_places, with_room
from cep.condition_code.arrays import Candidate, Stack
from cep.condition_code.memory import new_memory, remember
from cep.condition_code.stack_machine import LATER, NOT_TRUE, holds
from cep.row_kernel import outcomes
from cep.row_kernel.arrays import Matches, Partitions, Program, Room, Rows

_TRIED_PER_ROW: Final = 1_000
_TRIED_FREE: Final = 1_000_000


@in_place
def _next_start(
    skip: int,
    is_first: bool,  # noqa: FBT001 - compiled code takes arguments by place
    path: Ints,
    start: int,
    length: int,
) -> int:
    """Return where the search goes on after a match; -1 if the clause fails on it."""
    if length == 0 or skip == -2:  # noqa: PLR2004 - see `Program`
        return start + 1
    if skip == -1:
        return start + length
    target = -1
    for place in range(length):
        if (np.int64(1) << (path[place, 2] >> 1)) & skip:
            target = place
            if is_first:
                break
    return start + target if target > 0 else -1


@compiled
def search(  # noqa: C901 - how a search ends decides where the next one begins
    program: Program, rows: Rows, partitions: Partitions, dead_cells: int
) -> Matches:
    """Search partitions as far as their rows allow.

    What is found out of the rows is noted in them; `dead_cells` is how many cells may be used for
    what has failed.
    """
    begins, ends, starts = partitions.begin, partitions.end, partitions.start
    count = len(begins)
    longest = 1
    for partition in range(count):
        longest = max(longest, ends[partition] - begins[partition])
    room = _room(program, longest, dead_cells)
    path, mark = room.path, 0
    found, matches = np.empty((64, 4), np.int64), 0
    codes, coded = np.empty(256, np.int64), 0
    status = np.empty(count, np.int64)
    next_starts, last_numbers = starts.copy(), partitions.matches.copy()

    for partition in range(count):
        begin, end, is_ended = begins[partition], ends[partition], partitions.is_ended[partition]
        start, number = starts[partition], partitions.matches[partition]
        budget = _TRIED_FREE + _TRIED_PER_ROW * (end - begin)
        mark += 1
        outcome = outcomes.FAILED
        while start < end:
            if is_ended and end - start < program.fewest_rows:
                start = end
                break
            if program.within_ms >= 0:
                mark += 1  # what failed for want of time may not fail here
            state = program.initial
            if start == begin and partitions.has_first_row[partition]:
                state = program.initial_of_first_row
            outcome, depth, budget = _try_from(
                program, rows, room, begin, end, is_ended, state, start, number + 1, mark, budget
            )
            if outcome == outcomes.FAILED:
                start += 1
                continue
            if outcome != outcomes.MATCHED:
                break
            if not is_ended and start + depth + program.output_ahead > end:
                outcome = outcomes.UNDECIDED  # its output reads rows that are not there yet
                break
            following = _next_start(program.skip, program.skip_is_first, path, start, depth)
            if following < 0:
                outcome = outcomes.GAVE_UP
                break
            number += 1
            found = with_room(found, matches + 1)
            found[matches, 0], found[matches, 1] = partition, start
            found[matches, 2], found[matches, 3] = depth, number
            matches += 1
            codes = with_places(codes, coded + depth)
            for place in range(depth):
                codes[coded + place] = path[place, 2]
            coded += depth
            start = following
        status[partition] = outcome
        next_starts[partition], last_numbers[partition] = start, number
    return Matches(
        found[:matches, 0].copy(),
        found[:matches, 1].copy(),
        found[:matches, 2].copy(),
        found[:matches, 3].copy(),
        codes[:coded],
        status,
        next_starts,
        last_numbers,
    )


@compiled
def _room(program: Program, longest: int, dead_cells: int) -> Room:
    """Return room for a candidate of so many rows."""
    deepest, states = len(program.tests.code) + 1, len(program.states)
    memoizes = not program.has_memory and (longest + 1) * states <= dead_cells
    items = program.tests.items
    return Room(
        np.empty((longest + 1, 3), np.int64),
        new_memory(longest + 1, len(items.rows), len(items.folds)),
        Stack(np.zeros(deepest, np.int64), np.zeros(deepest), np.zeros(deepest, np.bool_)),
        np.zeros((longest + 1 if memoizes else 0, states), np.int64),
    )


@in_caller
def _try_from(  # noqa: C901, PLR0911, PLR0912, PLR0913, PLR0917 - the inner loop; compiled code takes arguments by place
    program: Program,
    rows: Rows,
    room: Room,
    begin: int,
    end: int,
    is_ended: bool,  # noqa: FBT001 - by place
    state: int,
    start: int,
    number: int,
    mark: int,
    budget: int,
) -> tuple[int, int, int]:
    """Go back and forth from one start until it is decided: outcome, rows, what may be tried."""
    path, dead, states, steps = room.path, room.dead, program.states, program.steps
    within_ms, memoizes = program.within_ms, len(dead) > 0
    depth = 0
    path[0, 0], path[0, 1] = state, states[state, 0]
    while True:
        state, step = path[depth, 0], path[depth, 1]
        row = start + depth
        if step == states[state + 1, 0]:
            if states[state, 1]:
                return outcomes.MATCHED, depth, budget
            if memoizes:
                dead[row - begin, state] = mark
            if depth == 0:
                return outcomes.FAILED, depth, budget
            depth -= 1
            continue
        if row >= end and not is_ended:
            return outcomes.UNDECIDED, depth, budget
        if row >= end or (
            within_ms >= 0 and rows.times_ms[row] - rows.times_ms[start] >= within_ms
        ):
            path[depth, 1] = states[state + 1, 0]
            continue
        path[depth, 1] = step + 1
        budget -= 1
        if budget < 0:
            return outcomes.GAVE_UP, depth, budget
        variable, target = steps[step, 0], steps[step, 2]
        if memoizes and dead[row + 1 - begin, target] == mark:
            continue
        bit = np.int64(1) << variable
        is_known = rows.known[row] & bit != 0
        if is_known and rows.true[row] & bit == 0:
            continue
        if not remember(
            program.tests.items, rows.columns, room.memory, depth, depth + 1, variable, row
        ):
            return outcomes.GAVE_UP, depth, budget
        if not is_known:
            candidate = Candidate(start, depth + 1, begin, end, is_ended, number)
            holding = holds(
                program.tests, rows.columns, room.memory, room.stack, variable, row, candidate
            )
            if holding == LATER:
                return outcomes.UNDECIDED, depth, budget
            if holding < NOT_TRUE:
                return outcomes.GAVE_UP, depth, budget
            if program.are_of_row[variable]:
                rows.known[row] |= bit
                rows.true[row] |= bit * holding
            if holding == NOT_TRUE:
                continue
        path[depth, 2] = steps[step, 1]
        depth += 1
        path[depth, 0], path[depth, 1] = target, states[target, 0]
