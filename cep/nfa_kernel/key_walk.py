"""Compiled: the events of many keys through the partial matches of one machine, key after key.

Keys know nothing of each other, and windows close each at its own time, so that a key can be taken
to the end of the call in one go. What is found is put in order of time afterwards.

Source: `cep.nfa.machine.Machine.process` and `advance`, whose meaning it has.
"""

from typing import Final

from cep.compiling import Ints, in_place, inlined
from cep.condition_code.arrays import Columns
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel import counting, residuals
from cep.nfa_kernel.arrays import KeyArrays, KeyEvents, Room, Tables, WrittenCounts
from cep.nfa_kernel.emitting import emit
from cep.nfa_kernel.queues import copy_row, copy_run
from cep.nfa_kernel.residuals import remember_cells, split_by_tests

_AFTER_ALL: Final = 2**62


@in_place
def walk_keys(  # noqa: C901, PLR0911, PLR0912, PLR0913, PLR0915, PLR0917 - one call for all events, so that nothing is passed on
    tables: Tables,
    events: KeyEvents,
    columns: Columns,
    keys: KeyArrays,
    stopped: int,
    counted: int,
    span_ms: tuple[int, int],
    room: Room,
) -> WrittenCounts:
    """Move the keys by their events and close their windows up to a time.

    Args:
        tables: the machine.
        events: what comes.
        columns: what conditions read of the events, in the order of `events`, and after them of
            those that keys have held.
        keys: what the keys hold.
        stopped: the rules that start nothing any more, as bits.
        counted: the rules whose timeouts are counted, and not among what is found.
        span_ms: the time up to which windows are closed already, which no event is before, and how
            far time goes after the last event.
        room: what is written to; the status is `NO_ROOM` if it takes more.
    """
    from_ms, until_ms = span_ms
    branch_begin, branches, successors = tables.branch_begin, tables.branches, tables.successors
    finishes, concerned, starts = tables.finished, tables.concerned, tables.starts
    states, start_state, window_ms = tables.states, tables.start_state, tables.window_ms
    skip_kind, skip_step, throws = tables.skip
    most_held, most_events = tables.most_held, tables.most_events
    step_count = tables.step_count
    uncertain, conditions, choices, outcomes, numbers, tests = tables.residual
    (row_items, folds), values, begins_of_code, code, int_constants, float_constants = tests
    ints, int_nulls, floats, float_nulls = columns
    begins, order, times_ms, kinds = events.begin, events.order, events.times_ms, events.kinds
    sequences_before, event_counts_before = keys.sequences, keys.event_counts
    run_begin, runs_before = keys.run_begin, keys.runs
    queue_begin, queues_before = keys.queue_begin, keys.queues
    held_back_before = keys.held_back
    after, found, counts, pending, memory, reals, current = room
    out_sequences, out_event_counts, out_run_begin, out_runs = after[:4]
    out_queue_begin, out_queues, out_held, cells = after[4:]
    runs, moved, finished, late = current[:4]
    queues, held_back, parts, split, items = current[4:9]
    agreeing, int_stack, float_stack, null_stack = current[9:]
    most_runs = len(runs)
    state_count = len(states)
    has_previous_windows = False
    for state in range(state_count):
        has_previous_windows |= states[state, 0] != at.NO_WINDOW
    key_count = len(begins) - 1
    cell_count, found_count = len(keys.cells), 0
    out_run_count, out_queue_count, out_held_count = 0, 0, 0
    remembers = len(row_items) + len(folds) > 0
    if remembers and not remember_cells(
        row_items, folds, ints, int_nulls, floats, float_nulls, memory, reals, cells, 0, cell_count,
        events.first_held - len(order),
    ):  # fmt: skip
        return _ended(at.GAVE_UP)

    for key in range(key_count):
        # What the key holds.
        sequence, event_count = sequences_before[key], event_counts_before[key]
        begin, end = run_begin[key], run_begin[key + 1]
        run_count = end - begin
        queue_count, held_count = 0, 0
        for number in range(queue_begin[key], queue_begin[key + 1]):
            first, last = queues_before[number, 1], queues_before[number, 2]
            if queue_count == len(queues) or held_count + last - first > most_runs:
                return _ended(at.GAVE_UP)
            queues[queue_count, 0], queues[queue_count, 1] = queues_before[number, 0], held_count
            queues[queue_count, 2] = last - first
            for held in range(first, last):
                copy_row(held_back_before, held, held_back, held_count + held - first)
            held_count += last - first
            queue_count += 1
        if run_count > most_runs:
            return _ended(at.GAVE_UP)
        for place in range(run_count):
            copy_run(runs_before, begin + place, runs, place)

        before_ms = from_ms
        for turn in range(begins[key], begins[key + 1] + 1):
            is_end = turn == begins[key + 1]
            time_ms = until_ms if is_end else times_ms[turn]

            # Close windows up to the time, once it has moved on.
            has_moved_on = time_ms > before_ms
            while run_count and has_moved_on:
                due_ms = _AFTER_ALL
                if has_previous_windows:
                    for place in range(run_count):
                        due_ms = min(due_ms, _deadline_ms(runs, place, states, window_ms))
                elif window_ms:
                    due_ms = runs[0, at.RUN_START_MS] + window_ms
                if due_ms > time_ms:
                    break
                kept, finished_count, late_count, first_found = 0, 0, 0, found_count
                for place in range(run_count):
                    state = runs[place, at.RUN_STATE]
                    if _deadline_ms(runs, place, states, window_ms) > due_ms:
                        if kept != place:
                            copy_run(runs, place, runs, kept)
                        kept += 1
                    elif states[state, 1]:
                        finished[finished_count, 0] = runs[place, at.RUN_RULES]
                        finished[finished_count, 1] = runs[place, at.RUN_START]
                        finished[finished_count, 2] = runs[place, at.RUN_CELL]
                        finished_count += 1
                    else:
                        late[late_count, 0] = runs[place, at.RUN_RULES]
                        late[late_count, 1] = runs[place, at.RUN_CELL]
                        late[late_count, 2] = runs[place, at.RUN_START_MS] + window_ms
                        previous_ms = runs[place, at.RUN_PREVIOUS_MS] + states[state, 0]
                        if states[state, 0] != at.NO_WINDOW and previous_ms <= due_ms:
                            late[late_count, 2] = previous_ms
                        late_count += 1
                run_count = kept
                if finished_count or queue_count:
                    run_count, queue_count, found_count, status = emit(
                        skip_kind, skip_step, throws, runs, run_count, queues, queue_count,
                        held_back, parts, split, items, finished, finished_count, cells, found,
                        found_count, key, due_ms, at.NO_EVENT, pending, counts, step_count,
                    )  # fmt: skip
                    if status != at.DONE:
                        return _ended(status)
                if found_count + late_count > len(found):
                    return _ended(at.NO_ROOM)
                for place in range(late_count):
                    counting.count(
                        pending, counts, step_count, counting.TIMED_OUT,
                        cells[late[place, 1], at.CELL_STEP], late[place, 0], counting.NO_TIME,
                    )  # fmt: skip
                    told = late[place, 0] & ~counted
                    if not told:
                        continue
                    found[found_count, at.FOUND_KEY] = key
                    found[found_count, at.FOUND_RULES] = told
                    found[found_count, at.FOUND_CELL] = late[place, 1]
                    found[found_count, at.FOUND_TIME_MS] = late[place, 2]
                    found[found_count, at.FOUND_IS_TIMEOUT] = 1
                    found[found_count, at.FOUND_EVENT] = at.NO_EVENT
                    found_count += 1
                # What is over at the time of an event itself is emitted once time moves on.
                for number in range(first_found, found_count):
                    found[number, at.FOUND_ORDER_MS] = max(due_ms, before_ms + 1)
                if not run_count and not queue_count:
                    sequence, event_count = 0, 0
            if is_end:
                break

            # Which partial matches the event moves.
            before_ms = time_ms
            event, kind = order[turn], kinds[turn]
            unmoved = 0
            while unmoved < run_count:
                state = runs[unmoved, at.RUN_STATE]
                if concerned[kind * state_count + state] & runs[unmoved, at.RUN_RULES]:
                    break
                unmoved += 1
            if not starts[kind, 0] and unmoved == run_count:
                continue
            event_count += 1
            if event_count > most_events:
                return _ended(at.GAVE_UP)
            moved_count, finished_count, known_count = 0, 0, cell_count
            starting = starts[kind, 1] & ~stopped
            for place in range(unmoved, run_count + 1):
                if place < run_count:
                    state, rules = runs[place, at.RUN_STATE], runs[place, at.RUN_RULES]
                    start, start_ms = runs[place, at.RUN_START], runs[place, at.RUN_START_MS]
                    previous_ms, cell = runs[place, at.RUN_PREVIOUS_MS], runs[place, at.RUN_CELL]
                else:
                    state, rules, start, start_ms = start_state, starting, sequence, time_ms
                    previous_ms, cell = time_ms, at.NO_CELL
                    if not rules:
                        break
                entry = kind * state_count + state
                for branch in range(branch_begin[entry], branch_begin[entry + 1]):
                    goes = rules & branches[branch, 0]
                    if not goes:
                        continue
                    rules ^= goes
                    first, last = branches[branch, 1], branches[branch, 2]
                    first_end, last_end = branches[branch, 3], branches[branch, 4]
                    outcome_count = 1
                    if branches[branch, 5] != at.NO_RESIDUAL:
                        outcome_count = split_by_tests(
                            uncertain, conditions, choices, numbers, begins_of_code, code,
                            int_constants, float_constants, values, row_items, folds, ints,
                            int_nulls, floats, float_nulls, memory, reals, int_stack, float_stack,
                            null_stack, branches[branch, 5], goes, turn, cell, agreeing,
                        )  # fmt: skip
                        if outcome_count == residuals.GAVE_UP:
                            return _ended(at.GAVE_UP)
                    for number_of_outcome in range(outcome_count):
                        if branches[branch, 5] != at.NO_RESIDUAL:
                            outcome = agreeing[number_of_outcome, 0]
                            goes = agreeing[number_of_outcome, 1]
                            first, last = outcomes[outcome, 0], outcomes[outcome, 1]
                            first_end, last_end = outcomes[outcome, 2], outcomes[outcome, 3]
                        taken = at.NO_CELL
                        if (
                            moved_count + last - first >= most_runs
                            or finished_count + last_end - first_end > most_runs
                        ):
                            return _ended(at.GAVE_UP)
                        if cell_count + last - first + last_end - first_end > len(cells):
                            return _ended(at.NO_ROOM)
                        if first == last and first_end == last_end and cell != at.NO_CELL:
                            counting.count(
                                pending, counts, step_count, counting.BROKEN,
                                cells[cell, at.CELL_STEP], goes, counting.NO_TIME,
                            )  # fmt: skip
                        for number in range(first, last):
                            step = successors[number, 1]
                            if step == at.NO_STEP and cell == at.NO_CELL:
                                continue
                            if step != at.NO_STEP:
                                taken, cell_count = _taken(
                                    cells, cell_count, taken, cell, step, sequence, event,
                                    pending, counts, step_count, goes, time_ms,
                                )  # fmt: skip
                            moved[moved_count, at.RUN_STATE] = successors[number, 0]
                            moved[moved_count, at.RUN_RULES] = goes
                            moved[moved_count, at.RUN_START] = start
                            moved[moved_count, at.RUN_START_MS] = start_ms
                            if step == at.NO_STEP:
                                moved[moved_count, at.RUN_PREVIOUS_MS] = previous_ms
                                moved[moved_count, at.RUN_CELL] = cell
                            else:
                                moved[moved_count, at.RUN_PREVIOUS_MS] = time_ms
                                moved[moved_count, at.RUN_CELL] = taken
                            moved_count += 1
                        for number in range(first_end, last_end):
                            step = finishes[number]
                            if step == at.NO_STEP and cell == at.NO_CELL:
                                continue
                            if step != at.NO_STEP:
                                taken, cell_count = _taken(
                                    cells, cell_count, taken, cell, step, sequence, event,
                                    pending, counts, step_count, goes, time_ms,
                                )  # fmt: skip
                            finished[finished_count, 0], finished[finished_count, 1] = goes, start
                            finished[finished_count, 2] = cell if step == at.NO_STEP else taken
                            finished_count += 1
                if rules and cell != at.NO_CELL:
                    if moved_count == most_runs:
                        return _ended(at.GAVE_UP)
                    moved[moved_count, at.RUN_STATE], moved[moved_count, at.RUN_RULES] = (
                        state,
                        rules,
                    )
                    moved[moved_count, at.RUN_START] = start
                    moved[moved_count, at.RUN_START_MS] = start_ms
                    moved[moved_count, at.RUN_PREVIOUS_MS] = previous_ms
                    moved[moved_count, at.RUN_CELL] = cell
                    moved_count += 1
            if remembers and not remember_cells(
                row_items, folds, ints, int_nulls, floats, float_nulls, memory, reals, cells,
                known_count, cell_count, event - turn,
            ):  # fmt: skip
                return _ended(at.GAVE_UP)
            held = unmoved + moved_count
            for number in range(queue_count):
                held += queues[number, 2]
            if held > most_held or held > most_runs:
                return _ended(at.GAVE_UP)
            for place in range(moved_count):
                copy_run(moved, place, runs, unmoved + place)
            run_count = unmoved + moved_count
            sequence += 1
            if finished_count or queue_count:
                run_count, queue_count, found_count, status = emit(
                    skip_kind, skip_step, throws, runs, run_count, queues, queue_count, held_back,
                    parts, split, items, finished, finished_count, cells, found, found_count, key,
                    time_ms, event, pending, counts, step_count,
                )  # fmt: skip
                if status != at.DONE:
                    return _ended(status)
            if not run_count and not queue_count:
                sequence, event_count = 0, 0

        # What it holds now.
        out_sequences[key], out_event_counts[key] = sequence, event_count
        if out_run_count + run_count > len(out_runs) or (
            out_queue_count + queue_count > len(out_queues)
        ):
            return _ended(at.NO_ROOM)
        for place in range(run_count):
            copy_run(runs, place, out_runs, out_run_count + place)
        out_run_count += run_count
        out_run_begin[key + 1] = out_run_count
        for number in range(queue_count):
            first, count = queues[number, 1], queues[number, 2]
            if out_held_count + count > len(out_held):
                return _ended(at.NO_ROOM)
            for held in range(count):
                copy_row(held_back, first + held, out_held, out_held_count + held)
            out_queues[out_queue_count, 0] = queues[number, 0]
            out_queues[out_queue_count, 1] = out_held_count
            out_queues[out_queue_count, 2] = out_held_count + count
            out_held_count += count
            out_queue_count += 1
        out_queue_begin[key + 1] = out_queue_count
    counting.spread_all(pending, counts, step_count)
    return WrittenCounts(
        at.DONE, cell_count, found_count, out_run_count, out_queue_count, out_held_count
    )


@inlined
def _ended(status: int) -> WrittenCounts:
    return WrittenCounts(status, 0, 0, 0, 0, 0)


@in_place
def _taken(  # noqa: PLR0913, PLR0917 - what a cell holds; compiled code takes arguments by place
    cells: Ints,
    cell_count: int,
    taken: int,
    previous: int,
    step: int,
    sequence: int,
    event: int,
    pending: Ints,
    counts: Ints,
    step_count: int,
    rules: int,
    time_ms: int,
) -> tuple[int, int]:
    """Return a cell for the event, the last one taken if it is of this step, and their count."""
    if taken == at.NO_CELL or cells[taken, at.CELL_STEP] != step:
        taken = cell_count
        cells[taken, at.CELL_PREVIOUS] = previous
        cells[taken, at.CELL_STEP] = step
        cells[taken, at.CELL_SEQUENCE] = sequence
        cells[taken, at.CELL_EVENT] = event
        cell_count += 1
        is_first = previous == at.NO_CELL or cells[previous, at.CELL_STEP] != step
        kind = counting.REACHED if is_first else counting.AGAIN
        counting.count(pending, counts, step_count, kind, step, rules, time_ms)
    return taken, cell_count


@in_place
def _deadline_ms(runs: Ints, place: int, states: Ints, window_ms: int) -> int:
    deadline_ms = _AFTER_ALL
    if window_ms:
        deadline_ms = runs[place, at.RUN_START_MS] + window_ms
    previous_window_ms = states[runs[place, at.RUN_STATE], 0]
    if previous_window_ms != at.NO_WINDOW:
        deadline_ms = min(deadline_ms, runs[place, at.RUN_PREVIOUS_MS] + previous_window_ms)
    return deadline_ms
