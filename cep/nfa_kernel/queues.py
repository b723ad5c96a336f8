"""Compiled: held-back matches in the order of `java.util.PriorityQueue`; see `cep.nfa.skip`.

A queue is a piece of an array of `(start, last cell)`, whose first match comes out next.
"""

from cep.compiling import Ints, in_place, inlined
from cep.nfa_kernel.arrays import RUN_WIDTH


@inlined
def copy_row(source: Ints, place: int, target: Ints, target_place: int) -> None:
    """Copy a row of one array to another, or to another place."""
    for column in range(source.shape[1]):
        target[target_place, column] = source[place, column]


@inlined
def copy_run(source: Ints, place: int, target: Ints, target_place: int) -> None:
    """Copy a partial match: a row whose width the compiler knows."""
    for column in range(RUN_WIDTH):
        target[target_place, column] = source[place, column]


@in_place
def offer(items: Ints, begin: int, count: int, start: int, cell: int) -> None:
    """Add a match to a queue of `count`; there is room for one more."""
    position = count
    while position > 0:
        parent = (position - 1) >> 1
        if start >= items[begin + parent, 0]:
            break
        copy_row(items, begin + parent, items, begin + position)
        position = parent
    items[begin + position, 0], items[begin + position, 1] = start, cell


@in_place
def poll(items: Ints, begin: int, count: int) -> None:
    """Take the first match off a queue of `count`."""
    last_start, last_cell = items[begin + count - 1, 0], items[begin + count - 1, 1]
    if count > 1:
        _sift_down(items, begin, count - 1, 0, last_start, last_cell)


@in_place
def keep_after(items: Ints, begin: int, count: int, last_pruned: int) -> int:
    """Drop the matches of a queue that start up to `last_pruned`; return how many are left."""
    kept = 0
    for place in range(begin, begin + count):
        if items[place, 0] > last_pruned:
            copy_row(items, place, items, begin + kept)
            kept += 1
    for position in range(kept // 2 - 1, -1, -1):
        start, cell = items[begin + position, 0], items[begin + position, 1]
        _sift_down(items, begin, kept, position, start, cell)
    return kept


@in_place
def _sift_down(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    items: Ints, begin: int, size: int, position: int, start: int, cell: int
) -> None:
    while 2 * position + 1 < size:
        child = 2 * position + 1
        right = child + 1
        if right < size and items[begin + child, 0] > items[begin + right, 0]:
            child = right
        if start <= items[begin + child, 0]:
            break
        copy_row(items, begin + child, items, begin + position)
        position = child
    items[begin + position, 0], items[begin + position, 1] = start, cell
