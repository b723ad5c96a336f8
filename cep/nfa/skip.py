"""After-match skipping: which finished matches come out, in which order, and what they prune.

A finished match waits while a partial match with an earlier start is open, because that one may
still win. Of several finished matches with one start only the first comes out, so the order of ties
is part of the meaning: it is that of `java.util.PriorityQueue`, which Flink uses.

Source: Flink CEP `AfterMatchSkipStrategy`, `NFA.processMatchesAccordingToSkipStrategy`; conformance
notes 14 to 18.
"""

from collections.abc import Iterator

from cep.nfa.errors import SkipTargetMissing
from cep.nfa.program import SkipPlan
from cep.nfa.runs import (
    CELL_SEQUENCE,
    CELL_STEP,
    COMPLETED_CELL,
    COMPLETED_START,
    RUN_CELL,
    RUN_RULES,
    RUN_START,
    RUN_STATE,
    Cell,
    Completed,
    KeyRuns,
    Run,
    accepted_events,
)
from cep.pattern.tree import SkipKind

Finished = tuple[int, int, Cell]
"""A match just completed: `(rules, start, last cell)`."""

Emitted = tuple[int, Cell]
"""A match that comes out: `(rules, last cell)`."""

Pruned = list[tuple[int, Cell]]
"""What a match that came out has pruned, partial or complete: rules, last cell."""


def emit(plan: SkipPlan, key: KeyRuns, finished: list[Finished], pruned: Pruned) -> list[Emitted]:
    """Return the matches that come out now; prunes `key.runs` and updates `key.waiting`.

    Also called when partial matches went away (`finished` may be empty), as that frees waiting
    matches. `pruned` takes what is pruned.

    Raises:
        SkipTargetMissing: the strategy must fail on this match; the matches before it are lost.
    """
    if plan.kind is SkipKind.NO_SKIP:
        if len(finished) == 1:
            rules, _, cell = finished[0]
            return [(rules, cell)]
        return _in_order(finished)
    queues = _partition(key.waiting, finished)
    key.waiting = []
    return [match for rules, queue in queues for match in _drain(plan, key, rules, queue, pruned)]


def _in_order(finished: list[Finished]) -> list[Emitted]:
    emitted: list[Emitted] = []
    for rules, queue in _partition([], finished):
        while queue:
            emitted.append((rules, _poll(queue)[COMPLETED_CELL]))
    return emitted


def _partition(
    waiting: list[tuple[int, list[Completed]]], finished: list[Finished]
) -> list[tuple[int, list[Completed]]]:
    """Join new matches to those waiting, split so that each set of rules has one queue."""
    parts = [(rules, list(queue)) for rules, queue in waiting]
    unseen = 0
    for rules, _, _ in finished:
        unseen |= rules
    for rules, _ in parts:
        unseen &= ~rules
    if unseen:
        parts.append((unseen, []))
    for rules, start, cell in finished:
        split: list[tuple[int, list[Completed]]] = []
        for part_rules, queue in parts:
            inside = part_rules & rules
            outside = part_rules & ~rules
            if outside:
                split.append((outside, list(queue) if inside else queue))
            if inside:
                _offer(queue, (start, cell))
                split.append((inside, queue))
        parts = split
    return parts


def _drain(
    plan: SkipPlan, key: KeyRuns, rules: int, queue: list[Completed], pruned: Pruned
) -> Iterator[Emitted]:
    """Yield what comes out of one queue; what is held back goes to `key.waiting`."""
    while queue:
        held_back = _rules_with_earlier_run(key.runs, queue[0][COMPLETED_START], rules)
        if held_back:
            key.waiting.append((held_back, list(queue)))
            rules &= ~held_back
            if not rules:
                return
        cell = _poll(queue)[COMPLETED_CELL]
        last_pruned = _last_pruned_start(plan, cell, rules)
        yield rules, cell
        if last_pruned is not None:
            _prune_runs(key, rules, last_pruned, pruned)
            pruned += [
                (rules, waiting[COMPLETED_CELL])
                for waiting in queue
                if waiting[COMPLETED_START] <= last_pruned
            ]
            queue = [waiting for waiting in queue if waiting[COMPLETED_START] > last_pruned]
            _heapify(queue)


def _rules_with_earlier_run(runs: list[Run], start: int, rules: int) -> int:
    held_back = 0
    for run in runs:
        if run[RUN_START] >= start:
            break
        held_back |= run[RUN_RULES] & rules
    return held_back


def _prune_runs(key: KeyRuns, rules: int, last_pruned: int, pruned: Pruned) -> None:
    kept: list[Run] = []
    for position, run in enumerate(key.runs):
        if run[RUN_START] > last_pruned:
            kept += key.runs[position:]
            break
        remaining = run[RUN_RULES] & ~rules
        if remaining != run[RUN_RULES]:
            pruned.append((run[RUN_RULES] & rules, run[RUN_CELL]))
        if remaining:
            kept.append((run[RUN_STATE], remaining, *run[RUN_START:]))
    key.runs = kept


def _last_pruned_start(plan: SkipPlan, last: Cell, rules: int) -> int | None:
    """Return the sequence up to which partial matches that started are dropped, or `None`."""
    if plan.kind is SkipKind.SKIP_PAST_LAST_EVENT:
        return last[CELL_SEQUENCE]
    cells = accepted_events(last)
    if plan.kind is SkipKind.SKIP_TO_NEXT:
        return cells[0][CELL_SEQUENCE]
    targets = [cell[CELL_SEQUENCE] for cell in cells if cell[CELL_STEP] == plan.target_step]
    if not targets:
        if plan.throw_on_miss:
            raise SkipTargetMissing(
                "cannot skip: the match has no event for its target step", rules
            )
        return None
    target = targets[0] if plan.kind is SkipKind.SKIP_TO_FIRST else targets[-1]
    if plan.throw_on_miss and target == cells[0][CELL_SEQUENCE]:
        raise SkipTargetMissing("cannot skip to the first event of the match itself", rules)
    return target - 1


# The heap of java.util.PriorityQueue, ordered by start.


def _offer(heap: list[Completed], item: Completed) -> None:
    heap.append(item)
    position = len(heap) - 1
    while position > 0:
        parent = (position - 1) >> 1
        if item[COMPLETED_START] >= heap[parent][COMPLETED_START]:
            break
        heap[position] = heap[parent]
        position = parent
    heap[position] = item


def _poll(heap: list[Completed]) -> Completed:
    head = heap[0]
    last = heap.pop()
    if heap:
        _sift_down(heap, 0, last)
    return head


def _heapify(heap: list[Completed]) -> None:
    for position in range(len(heap) // 2 - 1, -1, -1):
        _sift_down(heap, position, heap[position])


def _sift_down(heap: list[Completed], position: int, item: Completed) -> None:
    size = len(heap)
    while (child := 2 * position + 1) < size:
        right = child + 1
        if right < size and heap[child][COMPLETED_START] > heap[right][COMPLETED_START]:
            child = right
        if item[COMPLETED_START] <= heap[child][COMPLETED_START]:
            break
        heap[position] = heap[child]
        position = child
    heap[position] = item
