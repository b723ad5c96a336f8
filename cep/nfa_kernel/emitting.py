"""Compiled: which finished matches come out, in which order, and what they prune.

Source: `cep.nfa.skip`, whose meaning it has.
"""

from typing import Final

from cep.compiling import Ints, in_caller, in_place
from cep.nfa_kernel import arrays as at
from cep.nfa_kernel import counting
from cep.nfa_kernel.queues import copy_row, copy_run, keep_after, offer, poll

_TOO_MANY: Final = -1
_NOTHING_PRUNED: Final = -1


@in_caller
def emit(  # noqa: C901, PLR0912, PLR0913, PLR0917 - compiled code takes arguments by place
    skip_kind: int,
    skip_step: int,
    throws: bool,  # noqa: FBT001 - by place
    runs: Ints,
    run_count: int,
    queues: Ints,
    queue_count: int,
    held_back: Ints,
    parts: Ints,
    split: Ints,
    items: Ints,
    finished: Ints,
    finished_count: int,
    cells: Ints,
    found: Ints,
    found_count: int,
    key: int,
    order_ms: int,
    event: int,
    pending: Ints,
    counts: Ints,
    step_count: int,
) -> tuple[int, int, int, int]:
    """Let come out what can; return how many runs, queues and finds there are, and the status.

    Args:
        skip_kind: see `Tables.skip`.
        skip_step: the target.
        throws: whether a missing target is an error.
        runs: the runs of the key; pruned.
        run_count: how many.
        queues: rules, begin, count of the queues in `held_back`; rewritten.
        queue_count: how many.
        held_back: start, last cell; rewritten.
        parts: room, as `split` and `items`; see `_divided`.
        split: room.
        items: room.
        finished: rules, start, last cell.
        finished_count: how many.
        cells: the cells.
        found: what has been found.
        found_count: how many.
        key: whose.
        order_ms: when.
        event: the event that finished them, `NO_EVENT` for a window.
        pending: see `counting.count`; what is pruned is counted.
        counts: see there.
        step_count: how many steps there are.
    """
    part_count, match_count = _divided(
        queues, queue_count, held_back, parts, split, items, finished, finished_count
    )
    if part_count == _TOO_MANY:
        return run_count, queue_count, found_count, at.GAVE_UP
    if found_count + match_count > len(found):
        return run_count, queue_count, found_count, at.NO_ROOM
    queue_count, held_count = 0, 0
    for number in range(part_count):
        rules, begin, count = parts[number, 0], parts[number, 1], parts[number, 2]
        while count > 0:
            if skip_kind != at.NO_SKIP:
                waits = 0
                for place in range(run_count):
                    if runs[place, at.RUN_START] >= items[begin, 0]:
                        break
                    waits |= runs[place, at.RUN_RULES] & rules
                if waits:
                    if held_count + count > len(held_back) or queue_count == len(queues):
                        return run_count, queue_count, found_count, at.GAVE_UP
                    for held in range(count):
                        copy_row(items, begin + held, held_back, held_count + held)
                    queues[queue_count, 0], queues[queue_count, 1] = waits, held_count
                    queues[queue_count, 2] = count
                    queue_count += 1
                    held_count += count
                    rules &= ~waits
                    if not rules:
                        break
            cell = items[begin, 1]
            poll(items, begin, count)
            count -= 1
            pruned, could = last_pruned(skip_kind, skip_step, throws, cells, cell)
            if not could:
                return run_count, queue_count, found_count, at.GAVE_UP
            found[found_count, at.FOUND_KEY], found[found_count, at.FOUND_RULES] = key, rules
            found[found_count, at.FOUND_CELL] = cell
            found[found_count, at.FOUND_TIME_MS] = order_ms
            found[found_count, at.FOUND_IS_TIMEOUT] = 0
            found[found_count, at.FOUND_ORDER_MS] = order_ms
            found[found_count, at.FOUND_EVENT] = event
            found_count += 1
            if pruned != _NOTHING_PRUNED:
                for place in range(begin, begin + count):
                    if items[place, 0] <= pruned:
                        step = cells[items[place, 1], at.CELL_STEP]
                        counting.count(
                            pending, counts, step_count, counting.PRUNED, step, rules,
                            counting.NO_TIME,
                        )  # fmt: skip
                run_count = _prune(
                    runs, run_count, rules, pruned, cells, pending, counts, step_count
                )
                count = keep_after(items, begin, count, pruned)
    return run_count, queue_count, found_count, at.DONE


@in_caller
def _divided(  # noqa: C901, PLR0912, PLR0913, PLR0917 - compiled code takes arguments by place
    queues: Ints,
    queue_count: int,
    held_back: Ints,
    parts: Ints,
    split: Ints,
    items: Ints,
    finished: Ints,
    finished_count: int,
) -> tuple[int, int]:
    """Put finished matches in queues, one for each set of rules that holds back the same.

    Returns how many queues there are, or `_TOO_MANY`, and how many matches are in them.

    Args:
        queues: rules, begin, count of the queues in `held_back`.
        queue_count: how many.
        held_back: start, last cell.
        parts: room for queues: rules, begin and count in `items`.
        split: room, as `parts`.
        items: room for held-back matches.
        finished: rules, start, last cell.
        finished_count: how many.
    """
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
            copy_row(held_back, begin + held, items, used + held)
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
def last_pruned(
    skip_kind: int,
    skip_step: int,
    throws: bool,  # noqa: FBT001 - by place
    cells: Ints,
    last: int,
) -> tuple[int, bool]:
    """Return up to which start what has begun is dropped; not whether the skip is an error."""
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
    runs: Ints,
    count: int,
    rules: int,
    pruned: int,
    cells: Ints,
    pending: Ints,
    counts: Ints,
    step_count: int,
) -> int:
    kept = 0
    for place in range(count):
        if runs[place, at.RUN_START] <= pruned:
            remaining = runs[place, at.RUN_RULES] & ~rules
            if remaining != runs[place, at.RUN_RULES]:
                counting.count(
                    pending, counts, step_count, counting.PRUNED,
                    cells[runs[place, at.RUN_CELL], at.CELL_STEP],
                    runs[place, at.RUN_RULES] & rules, counting.NO_TIME,
                )  # fmt: skip
            if not remaining:
                continue
            runs[place, at.RUN_RULES] = remaining
        if kept != place:
            copy_run(runs, place, runs, kept)
        kept += 1
    return kept
