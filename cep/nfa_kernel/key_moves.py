"""Compiled: what one event does to the partial matches of one key.

    runs, Event ──advance──► moved, finished, new cells

Source: `cep.nfa.machine.Machine.process`, whose meaning it has.
"""

from cep.compiling import Ints, in_caller, in_place, inlined
from cep.condition_code.arrays import Columns
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel import counting, residuals
from cep.nfa_kernel.arrays import Event, Moves, Room, Run, Tables
from cep.nfa_kernel.residuals import split_by_tests


@in_caller
def first_moved(tables: Tables, runs: Ints, run_count: int, kind: int) -> int:
    """Return the place of the first partial match that an event of a kind concerns."""
    place = 0
    while place < run_count:
        entry = kind * len(tables.states) + runs[place, at.RUN_STATE]
        if tables.concerned[entry] & runs[place, at.RUN_RULES]:
            break
        place += 1
    return place


@in_caller
def advance(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    tables: Tables,
    columns: Columns,
    room: Room,
    event: Event,
    first: int,
    run_count: int,
    cell_count: int,
    starting: int,
) -> Moves:
    """Write what an event makes of partial matches to `moved` and `finished`, in their order.

    Args:
        tables: the machine.
        columns: what conditions read of events.
        room: what the key holds.
        event: the event.
        first: the first partial match that it concerns.
        run_count: how many there are.
        cell_count: how many cells there are.
        starting: the rules for which it may begin a partial match.
    """
    runs, moved = room.current.runs, room.current.moved
    moves = Moves(at.DONE, 0, 0, cell_count)
    for place in range(first, run_count + 1):
        if place < run_count:
            run = Run(
                runs[place, at.RUN_STATE],
                runs[place, at.RUN_RULES],
                runs[place, at.RUN_START],
                runs[place, at.RUN_START_MS],
                runs[place, at.RUN_PREVIOUS_MS],
                runs[place, at.RUN_CELL],
            )
        elif starting:
            time_ms = event.time_ms
            run = Run(tables.start_state, starting, event.sequence, time_ms, time_ms, at.NO_CELL)
        else:
            break
        moves, rules = _branch(tables, columns, room, event, run, moves)
        if moves.status != at.DONE:
            break
        if rules and run.cell != at.NO_CELL:
            if moves.moved == len(runs):
                return _ended(at.GAVE_UP)
            _write_run(moved, moves.moved, run, run.state, rules, run.previous_ms, run.cell)
            moves = Moves(at.DONE, moves.moved + 1, moves.finished, moves.cells)
    return moves


@inlined
def _ended(status: int) -> Moves:
    return Moves(status, 0, 0, 0)


@in_caller
def _write_run(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    moved: Ints, place: int, run: Run, state: int, rules: int, previous_ms: int, cell: int
) -> None:
    moved[place, at.RUN_STATE], moved[place, at.RUN_RULES] = state, rules
    moved[place, at.RUN_START] = run.start
    moved[place, at.RUN_START_MS] = run.start_ms
    moved[place, at.RUN_PREVIOUS_MS] = previous_ms
    moved[place, at.RUN_CELL] = cell


@in_caller
def _branch(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    tables: Tables, columns: Columns, room: Room, event: Event, run: Run, moves: Moves
) -> tuple[Moves, int]:
    """Take the branches that hold of an event; return the rules for which none did, too."""
    branches, residual, agreeing = tables.branches, tables.residual, room.current.agreeing
    rules, entry = run.rules, event.kind * len(tables.states) + run.state
    for branch in range(tables.branch_begin[entry], tables.branch_begin[entry + 1]):
        goes = rules & branches[branch, 0]
        if not goes:
            continue
        rules ^= goes
        ways = branches[branch, 1], branches[branch, 2], branches[branch, 3], branches[branch, 4]
        uncertain, outcome_count = branches[branch, 5], 1
        if uncertain != at.NO_RESIDUAL:
            outcome_count = split_by_tests(
                residual, columns, room.memory, room.current.stack, uncertain, goes, event.row,
                run.cell, agreeing,
            )  # fmt: skip
            if outcome_count == residuals.GAVE_UP:
                return _ended(at.GAVE_UP), rules
        for number in range(outcome_count):
            if uncertain != at.NO_RESIDUAL:
                outcome, goes = agreeing[number, 0], agreeing[number, 1]
                of = residual.outcomes
                ways = of[outcome, 0], of[outcome, 1], of[outcome, 2], of[outcome, 3]
            moves = _follow(tables, room, event, run, goes, ways, moves)
            if moves.status != at.DONE:
                return moves, rules
    return moves, rules


@in_caller
def _follow(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    tables: Tables,
    room: Room,
    event: Event,
    run: Run,
    rules: int,
    ways: tuple[int, int, int, int],
    moves: Moves,
) -> Moves:
    """Write where a partial match goes: where its successors and its ends begin and end."""
    first, last, first_end, last_end = ways
    moved, finished, cells = room.current.moved, room.current.finished, room.after.cells
    _, moved_count, finished_count, cell_count = moves
    cell, own = run.cell, at.NO_CELL
    if moved_count + last - first >= len(moved) or (
        finished_count + last_end - first_end > len(moved)
    ):
        return _ended(at.GAVE_UP)
    if cell_count + last - first + last_end - first_end > len(cells):
        return _ended(at.NO_ROOM)
    if first == last and first_end == last_end and cell != at.NO_CELL:
        step = cells[cell, at.CELL_STEP]
        counting.count(room.counters, counting.BROKEN, step, rules, counting.NO_TIME)
    for number in range(first, last):
        state, step = tables.successors[number, 0], tables.successors[number, 1]
        if step != at.NO_STEP:
            own, cell_count = _cell_of(room, cell_count, own, cell, step, event, rules)
            _write_run(moved, moved_count, run, state, rules, event.time_ms, own)
        elif cell != at.NO_CELL:
            _write_run(moved, moved_count, run, state, rules, run.previous_ms, cell)
        else:
            continue
        moved_count += 1
    for number in range(first_end, last_end):
        step = tables.finished[number]
        if step != at.NO_STEP:
            own, cell_count = _cell_of(room, cell_count, own, cell, step, event, rules)
            finished[finished_count, 2] = own
        elif cell != at.NO_CELL:
            finished[finished_count, 2] = cell
        else:
            continue
        finished[finished_count, 0], finished[finished_count, 1] = rules, run.start
        finished_count += 1
    return Moves(at.DONE, moved_count, finished_count, cell_count)


@in_place
def _cell_of(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    room: Room, cell_count: int, own: int, previous: int, step: int, event: Event, rules: int
) -> tuple[int, int]:
    """Return a cell for the event, the last one written if it is of this step, and their count."""
    cells = room.after.cells
    if own == at.NO_CELL or cells[own, at.CELL_STEP] != step:
        own = cell_count
        cells[own, at.CELL_PREVIOUS] = previous
        cells[own, at.CELL_STEP] = step
        cells[own, at.CELL_SEQUENCE] = event.sequence
        cells[own, at.CELL_EVENT] = event.number
        cell_count += 1
        is_first = previous == at.NO_CELL or cells[previous, at.CELL_STEP] != step
        kind = counting.REACHED if is_first else counting.AGAIN
        counting.count(room.counters, kind, step, rules, event.time_ms)
    return own, cell_count
