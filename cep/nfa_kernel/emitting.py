"""Compiled: which finished matches come out, in which order, and what they prune.

Source: `cep.nfa.skip`, whose meaning it has.
"""

from typing import Final

from cep.compiling import Ints, in_caller, in_place, inlined
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel import counting
from cep.nfa_kernel.arrays import Current, Held, Room, Tables
from cep.nfa_kernel.queues import copy_row, copy_run, keep_after, offer, poll

_TOO_MANY: Final = -1
_NOTHING_PRUNED: Final = -1


@in_caller
def emit(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    tables: Tables,
    room: Room,
    held: Held,
    finished_count: int,
    key: int,
    order_ms: int,
    event: int,
) -> Held:
    """Let come out what can; return what is held then, and the status.

    Args:
        tables: the machine.
        room: `runs`, `queues` and `held_back` of the key are rewritten, finds are added.
        held: how much of it is used.
        finished_count: how many matches are finished.
        key: whose.
        order_ms: when.
        event: the event that finished them, `NO_EVENT` for a window.
    """
    current, items, found = room.current, room.current.items, room.found
    run_count, found_count = held.runs, held.found
    part_count, match_count = _divide(current, held.queues, finished_count)
    if part_count == _TOO_MANY:
        return _ended(at.GAVE_UP)
    if found_count + match_count > len(found):
        return _ended(at.NO_ROOM)
    queue_count, held_count = 0, 0
    for number in range(part_count):
        rules, begin, count = (
            current.parts[number, 0],
            current.parts[number, 1],
            current.parts[number, 2],
        )
        while count > 0:
            waits = _waiting(tables, current.runs, run_count, items[begin, 0], rules)
            if waits:
                if held_count + count > len(current.held_back) or (
                    queue_count == len(current.queues)
                ):
                    return _ended(at.GAVE_UP)
                _hold_back(current, begin, count, waits, queue_count, held_count)
                queue_count += 1
                held_count += count
                rules &= ~waits
                if not rules:
                    break
            cell = items[begin, 1]
            poll(items, begin, count)
            count -= 1
            pruned, could = _last_pruned(tables.skip, room.after.cells, cell)
            if not could:
                return _ended(at.GAVE_UP)
            found[found_count, at.FOUND_KEY], found[found_count, at.FOUND_RULES] = key, rules
            found[found_count, at.FOUND_CELL] = cell
            found[found_count, at.FOUND_TIME_MS] = order_ms
            found[found_count, at.FOUND_IS_TIMEOUT] = 0
            found[found_count, at.FOUND_ORDER_MS] = order_ms
            found[found_count, at.FOUND_EVENT] = event
            found_count += 1
            if pruned != _NOTHING_PRUNED:
                run_count, count = _prune(room, run_count, begin, count, rules, pruned)
    return Held(at.DONE, run_count, queue_count, found_count)


@inlined
def _ended(status: int) -> Held:
    return Held(status, 0, 0, 0)


@in_caller
def _waiting(tables: Tables, runs: Ints, run_count: int, start: int, rules: int) -> int:
    """Return those rules of which a partial match that began before may still bring a match."""
    waits = 0
    if tables.skip[0] != at.NO_SKIP:
        for place in range(run_count):
            if runs[place, at.RUN_START] >= start:
                break
            waits |= runs[place, at.RUN_RULES] & rules
    return waits


@in_caller
def _hold_back(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    current: Current, begin: int, count: int, rules: int, queue_count: int, held_count: int
) -> None:
    """Keep matches for some rules in a queue that is the last one."""
    for number in range(count):
        copy_row(current.items, begin + number, current.held_back, held_count + number)
    queues = current.queues
    queues[queue_count, 0], queues[queue_count, 1] = rules, held_count
    queues[queue_count, 2] = count


@in_caller
def _divide(  # noqa: C901, PLR0912 - each set of rules is split by each match
    current: Current, queue_count: int, finished_count: int
) -> tuple[int, int]:
    """Put finished matches in queues, one for each set of rules that holds back the same.

    Returns how many queues there are in `parts` (rules, begin and count in `items`), or
    `_TOO_MANY`, and how many matches are in them.
    """
    queues, finished = current.queues, current.finished
    parts, split, items = current.parts, current.split, current.items
    part_count, used = 0, 0
    unseen = 0
    for place in range(finished_count):
        unseen |= finished[place, 0]
    # Each queue is copied to a place with room for all that may be added.
    for number in range(queue_count):
        rules, begin, count = queues[number, 0], queues[number, 1], queues[number, 2]
        unseen &= ~rules
        if used + count + finished_count > len(items) or part_count == len(parts):
            return _TOO_MANY, 0
        for held in range(count):
            copy_row(current.held_back, begin + held, items, used + held)
        parts[part_count, 0], parts[part_count, 1], parts[part_count, 2] = rules, used, count
        part_count += 1
        used += count + finished_count
    if unseen:
        if used + finished_count > len(items) or part_count == len(parts):
            return _TOO_MANY, 0
        parts[part_count, 0], parts[part_count, 1], parts[part_count, 2] = unseen, used, 0
        part_count += 1
        used += finished_count
    for place in range(finished_count):
        rules, start, cell = finished[place, 0], finished[place, 1], finished[place, 2]
        split_count = 0
        for number in range(part_count):
            if split_count + 2 > len(split):
                return _TOO_MANY, 0
            begin, count = parts[number, 1], parts[number, 2]
            inside, outside = parts[number, 0] & rules, parts[number, 0] & ~rules
            if outside:
                split[split_count, 0], split[split_count, 2] = outside, count
                split[split_count, 1] = begin
                if inside:
                    if used + count + finished_count > len(items):
                        return _TOO_MANY, 0
                    for held in range(count):
                        copy_row(items, begin + held, items, used + held)
                    split[split_count, 1] = used
                    used += count + finished_count
                split_count += 1
            if inside:
                offer(items, begin, count, start, cell)
                split[split_count, 0], split[split_count, 1] = inside, begin
                split[split_count, 2] = count + 1
                split_count += 1
        for number in range(split_count):
            copy_row(split, number, parts, number)
        part_count = split_count
    match_count = 0
    for number in range(part_count):
        match_count += parts[number, 2]
    return part_count, match_count


@in_place
def _last_pruned(skip: tuple[int, int, bool], cells: Ints, last: int) -> tuple[int, bool]:
    """Return up to which start what has begun is dropped; not whether the skip is an error."""
    skip_kind, skip_step, throws = skip
    if skip_kind == at.NO_SKIP:
        return _NOTHING_PRUNED, True
    if skip_kind == at.PAST_LAST_EVENT:
        return cells[last, at.CELL_SEQUENCE], True
    first, target = last, _NOTHING_PRUNED
    cell = last
    while cell != at.NO_CELL:
        first = cell
        if cells[cell, at.CELL_STEP] == skip_step and (
            skip_kind == at.TO_FIRST or target == _NOTHING_PRUNED
        ):
            target = cells[cell, at.CELL_SEQUENCE]
        cell = cells[cell, at.CELL_PREVIOUS]
    if skip_kind == at.TO_NEXT:
        return cells[first, at.CELL_SEQUENCE], True
    if target == _NOTHING_PRUNED:
        return _NOTHING_PRUNED, not throws
    if throws and target == cells[first, at.CELL_SEQUENCE]:
        return _NOTHING_PRUNED, False
    return target - 1, True


@in_place
def _prune(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    room: Room, run_count: int, begin: int, count: int, rules: int, last: int
) -> tuple[int, int]:
    """Drop what began up to `last` for some rules; return how many runs and matches are left."""
    runs, items, cells = room.current.runs, room.current.items, room.after.cells
    for place in range(begin, begin + count):
        if items[place, 0] <= last:
            step = cells[items[place, 1], at.CELL_STEP]
            counting.count(room.counters, counting.PRUNED, step, rules, counting.NO_TIME)
    left = 0
    for place in range(run_count):
        if runs[place, at.RUN_START] <= last:
            dropped = runs[place, at.RUN_RULES] & rules
            if dropped:
                step = cells[runs[place, at.RUN_CELL], at.CELL_STEP]
                counting.count(room.counters, counting.PRUNED, step, dropped, counting.NO_TIME)
            runs[place, at.RUN_RULES] &= ~rules
            if not runs[place, at.RUN_RULES]:
                continue
        if left != place:
            copy_run(runs, place, runs, left)
        left += 1
    return left, keep_after(items, begin, count, last)
