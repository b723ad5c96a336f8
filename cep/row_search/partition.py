"""The state of one partition between two rows: rows in use, the candidates of a start, outputs due.

Source: conformance notes, "What bounds the state?".
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cep.row_search.automaton.states import State
from cep.row_search.memory import Memory
from cep.row_search.nodes import Move, Node

Path = tuple[Any, int]
"""The rows of a candidate, linked from the last one back: `(path before or None, code)`."""

Candidate = tuple[State, Path | None, Memory]
"""A way to match that is still open: where it is, its rows so far, what it remembers of them."""


@dataclass(frozen=True, slots=True)
class Due:
    """A match that is decided, whose output waits for the rows up to index `until`."""

    kind: int
    start: int
    codes: tuple[int, ...]
    number: int
    until: int


class Partition:
    """The rows of a partition that can still be asked for, and the search among them.

    Rows are known by index, from 0 at the first row of the partition; `base` is that of `rows[0]`.
    `known` and `true` say per row of which variables it is known whether it can be one, and of
    which it can, as bits. `start` is where the search is, `cursor` the next row it looks at,
    `candidates` what is open, preferred ones first, and `node` their states where rows alone decide
    (see `cep.row_search.moves`); `has_found` tells of a match that all of those
    are preferred to, `found` is its path. Rows before `covered` belong to matches. No match begins
    at or behind `starts_end`, if there is such a place. `debt` counts what the search has tried
    beyond what its rows and starts pay for.
    """

    __slots__ = (
        "_candidates",
        "_moved",
        "base",
        "covered",
        "cursor",
        "debt",
        "due",
        "found",
        "has_begun",
        "has_found",
        "known",
        "matches",
        "node",
        "rows",
        "start",
        "starts_end",
        "times",
        "true",
    )

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.times: list[int] = []
        self.known: list[int] = []
        self.true: list[int] = []
        self.base = 0
        self.start = 0
        self.cursor = 0
        self.has_begun = False
        self._candidates: list[Candidate] = []
        self._moved: list[Move] = []
        self.node: Node | None = None
        self.has_found = False
        self.found: Path | None = None
        self.matches = 0
        self.covered = 0
        self.debt = 0
        self.due: deque[Due] = deque()
        self.starts_end: int | None = None

    @property
    def candidates(self) -> list[Candidate]:
        """What is open, preferred ones first. Asking for it writes out how they have moved."""
        if self._moved and self.node is not None:
            paths = [path for _, path, _ in self._candidates]
            for move in self._moved:
                paths = [(paths[before], code) for before, code in move.open]
            self._candidates = [
                (state, path, ()) for state, path in zip(self.node.states, paths, strict=True)
            ]
            self._moved = []
        return self._candidates

    @candidates.setter
    def candidates(self, candidates: list[Candidate]) -> None:
        self._candidates = candidates
        self._moved, self.node = [], None

    @property
    def candidate_count(self) -> int:
        """How many candidates are open."""
        return len(self._candidates) if self.node is None else len(self.node.states)

    @property
    def awaits_end(self) -> bool:
        """Whether a candidate is a match if no further row of the partition comes."""
        states = (
            (state for state, _, _ in self._candidates) if self.node is None else self.node.states
        )
        return any(state.awaits_end for state in states)

    def follow(self, move: Move) -> None:
        """Let all candidates take the next row as a move from `node` says."""
        self._moved.append(move)
        self.node = move.target
        self.cursor += 1

    def path_of(self, place: int) -> Path | None:
        """Return the path of the candidate at a place in order."""
        codes = []
        for move in reversed(self._moved):
            place, code = move.open[place]
            codes.append(code)
        path = self._candidates[place][1]
        for code in reversed(codes):
            path = (path, code)
        return path

    @property
    def end(self) -> int:
        """The index behind the last row there is."""
        return self.base + len(self.rows)

    def row(self, index: int) -> Any:
        """Return the row at an index; `None` if the partition has none there (yet)."""
        place = index - self.base
        return self.rows[place] if 0 <= place < len(self.rows) else None

    def append(self, row: Any, time_ms: int, known: int, true: int) -> None:
        """Add a row after all others."""
        self.rows.append(row)
        self.times.append(time_ms)
        self.known.append(known)
        self.true.append(true)

    def extend(
        self, rows: Sequence[Any], times: Sequence[int], known: Sequence[int], true: Sequence[int]
    ) -> None:
        """Add rows after all others; see `append`."""
        self.rows += rows
        self.times += times
        self.known += known
        self.true += true

    def forget_before(self, index: int) -> None:
        """Forget the rows before an index."""
        count = min(index, self.end) - self.base
        if count > 0:
            del self.rows[:count], self.times[:count], self.known[:count], self.true[:count]
            self.base += count

    def end_starts(self) -> None:
        """Let no row that comes from now on begin a match."""
        if self.starts_end is None:
            self.starts_end = self.end

    @property
    def has_start(self) -> bool:
        """Whether there is a row at which the search is, or will be."""
        if self.starts_end is not None and self.start >= self.starts_end:
            return False
        return self.start < self.end

    @property
    def is_over(self) -> bool:
        """Whether nothing will ever be found any more."""
        return self.starts_end is not None and self.start >= self.starts_end and not self.due

    def waits_since_ms(self) -> int | None:
        """Return the time of the first row of the open start, if just time can end its search.

        `None` where no search is open, or where it waits for a row to come.
        """
        if not self.has_begun or not self.has_start or self.cursor < self.end:
            return None
        return self.times[self.start - self.base]


def codes_of(path: Path | None) -> tuple[int, ...]:
    """Return the codes of the rows of a path, in order."""
    codes: list[int] = []
    while path is not None:
        path, code = path
        codes.append(code)
    codes.reverse()
    return tuple(codes)
