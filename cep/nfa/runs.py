"""Run state: the partial matches of one key, apart from the program that moves them.

The hot path reads and makes runs and cells by the million, so both are plain tuples with the layout
written here, and are read by the indexes named here. Cells are persistent and linked: partial
matches that branched share what they accepted before.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

Item = TypeVar("Item")

Cell = tuple[Any, int, int, Any, list[Any] | None]
"""One accepted event: `(previous cell or None, step, sequence, event, aggregate states)`.

`sequence` numbers the events of a key in order of processing; it orders events of equal time, too.
The last item caches the aggregates up to and including this event, or is `None` if the program has
none.
"""

CELL_PREVIOUS: Final = 0
CELL_STEP: Final = 1
CELL_SEQUENCE: Final = 2
CELL_EVENT: Final = 3
CELL_AGGREGATES: Final = 4

NO_STEP: Final = -1
"""In place of the last step of what is not matched step by step."""

Run = tuple[int, int, int, int, int, Any]
"""One partial match: `(state, rules, start, start_ms, previous_ms, last cell)`.

`rules` is the bit set of the rules that have this partial match in common; `start` and `start_ms`
are the sequence and time of its first event, `previous_ms` is the time of its last. The last item
is a `Cell`, and `None` only for the partial match without events that every event may start.
"""

RUN_STATE: Final = 0
RUN_RULES: Final = 1
RUN_START: Final = 2
RUN_START_MS: Final = 3
RUN_PREVIOUS_MS: Final = 4
RUN_CELL: Final = 5

UNFOLDED: Any = object()
"""In place of an aggregate state that has not been computed yet."""

Scheduled = tuple[int, int]
"""When somebody will look at a key's windows: `(time in milliseconds, a number of its own)`."""

Completed = tuple[int, Cell]
"""A finished match that waits for its turn: `(start, last cell)`."""

COMPLETED_START: Final = 0
COMPLETED_CELL: Final = 1


def cells_without_number(tip: Cell, numbers: Mapping[int, int]) -> list[Cell]:
    """Return a cell and those before it, the last first, up to one whose `id` has a number."""
    new: list[Cell] = []
    cell: Cell | None = tip
    while cell is not None and id(cell) not in numbers:
        new.append(cell)
        cell = cell[CELL_PREVIOUS]
    return new


class KeyRuns:
    """The partial matches of one key.

    `runs` is ordered by first event, ties in order of creation. `waiting` holds, per set of rules,
    the finished matches held back by an earlier partial match, each a heap (see `cep.nfa.skip`).
    `scheduled` is its entry in the queue of deadlines, `None` if it has none; the key keeps at most
    `events_bound` events. `held_checked` and `events_checked` are how many partial matches and
    events have been found to be within the limits of each rule.
    """

    __slots__ = (
        "events_bound",
        "events_checked",
        "held_checked",
        "rules",
        "runs",
        "scheduled",
        "sequence",
        "waiting",
    )

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.waiting: list[tuple[int, list[Completed]]] = []
        self.sequence = 0
        self.scheduled: Scheduled | None = None
        self.events_bound = 0
        self.events_checked = 0
        self.held_checked = 0
        self.rules = 0

    def bound_rules(self) -> None:
        """Work out exactly which rules have partial matches; in between `rules` only grows."""
        self.rules = 0
        for run in self.runs:
            self.rules |= run[RUN_RULES]

    def give_up_runs(self, given_up: int) -> None:
        """Give up the partial matches of some rules, but not what they hold back."""
        self.runs = [
            (run[RUN_STATE], rules, *run[RUN_START:])
            for run in self.runs
            if (rules := run[RUN_RULES] & ~given_up)
        ]
        self.bound_rules()

    def keep_only(self, kept: int) -> None:
        """Give up what belongs to other rules than those in the set `kept`."""
        self.give_up_runs(~kept)
        self.waiting = [(rules, queue) for given, queue in self.waiting if (rules := given & kept)]

    def renumber(self, bits: Mapping[int, int]) -> None:
        """Replace the rules of all partial matches, bit by bit; rules not in `bits` are dropped."""
        known: dict[int, int] = {}

        def renumbered(rules: int) -> int:
            if rules not in known:
                result, remaining = 0, rules
                while remaining:
                    bit = remaining & -remaining
                    remaining ^= bit
                    result |= bits.get(bit, 0)
                known[rules] = result
            return known[rules]

        self.runs = [
            (run[RUN_STATE], rules, *run[RUN_START:])
            for run in self.runs
            if (rules := renumbered(run[RUN_RULES]))
        ]
        self.waiting = [(rules, queue) for old, queue in self.waiting if (rules := renumbered(old))]
        self.bound_rules()

    def open_runs(self) -> Sequence[Run]:
        """Return the partial matches, of whose rules and last cells nothing is wanted."""
        return self.runs

    def run_count(self) -> int:
        """Return the number of partial matches that rules have in common."""
        return len(self.runs)

    def open_steps(self) -> Sequence[tuple[int, int]]:
        """Return the set of rules of each open partial match, and the step of its last event."""
        return [(run[RUN_RULES], run[RUN_CELL][CELL_STEP]) for run in self.runs]

    @property
    def first_start_ms(self) -> int | None:
        """The time of the first event of all open partial matches; `None` without any."""
        return self.runs[0][RUN_START_MS] if self.runs else None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way, so that the key need not be kept."""
        return not self.runs and not self.waiting

    def partial_match_count(self) -> int:
        """Return the number of open partial matches, over all rules."""
        return sum(run[RUN_RULES].bit_count() for run in self.runs)

    def held_back_count(self) -> int:
        """Return the number of finished matches held back, over all rules."""
        return sum(rules.bit_count() * len(queue) for rules, queue in self.waiting)

    def held_back_rules(self) -> int:
        """Return the rules with finished matches held back."""
        held_back = 0
        for rules, _ in self.waiting:
            held_back |= rules
        return held_back

    def cells(self) -> Iterator[Cell]:
        """Yield every cell in use once: later events first along each partial match."""
        return distinct_cells(tip for _, tip in self.tips())

    def tips(self) -> Iterator[tuple[int, Cell]]:
        """Yield the last cell of every open and held-back match, with the rules it belongs to."""
        for run in self.runs:
            yield run[RUN_RULES], run[RUN_CELL]
        for rules, queue in self.waiting:
            for _, cell in queue:
                yield rules, cell


def distinct_cells(tips: Iterable[Cell]) -> Iterator[Cell]:
    """Yield every cell behind these last cells once: later events first along each."""
    seen: set[int] = set()
    for tip in tips:
        cell: Cell | None = tip
        while cell is not None and id(cell) not in seen:
            seen.add(id(cell))
            yield cell
            cell = cell[CELL_PREVIOUS]


def accepted_events(cell: Cell | None) -> list[Cell]:
    """Return the cells of a partial match in order of acceptance."""
    cells: list[Cell] = []
    while cell is not None:
        cells.append(cell)
        cell = cell[CELL_PREVIOUS]
    cells.reverse()
    return cells


def events_of_step(cell: Cell | None, step: int) -> list[Any]:
    """Return the events accepted for one step, in order."""
    return [taken[CELL_EVENT] for taken in accepted_events(cell) if taken[CELL_STEP] == step]


def events_by_step(cell: Cell | None, step_names: tuple[str, ...]) -> dict[str, list[Any]]:
    """Return the accepted events by step name; see `by_step`."""
    cells = accepted_events(cell)
    steps = [taken[CELL_STEP] for taken in cells]
    return by_step(steps, [taken[CELL_EVENT] for taken in cells], step_names)


def by_step(
    steps: Iterable[int], items: Iterable[Item], step_names: tuple[str, ...]
) -> dict[str, list[Item]]:
    """Return what belongs to events by step name; names in order of their first event.

    With Flink's quirks a name counts up to its first ":" only, so that two steps may share one
    entry.
    """
    found: dict[str, list[Item]] = {}
    same: list[Item] = []
    newest = -1
    for step, item in zip(steps, items, strict=True):
        if step != newest:
            same = found.setdefault(step_names[step].partition(":")[0], [])
            newest = step
        same.append(item)
    return found
