"""What a search finds: a match with the rows that its output can ask for."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any


class RowOutcome(Enum):
    """What was found at a row."""

    MATCH = auto()
    UNMATCHED_ROW = auto()
    """A row at which the search started without success and that belongs to no match before."""
    TIMEOUT = auto()
    """The preferred candidate when the time of WITHIN was over and none was complete."""


@dataclass(frozen=True, slots=True)
class MatchedRows:
    """A match, empty or not, or a row without one.

    `rows` are rows of the partition in order; the match begins at `rows[start]`. `codes` has one
    item per row of the match: its variable times two, plus one if it is excluded from the output.
    An empty match has none; `rows[start]` is the row it was found at. `number` counts the matches
    of the partition from 1; 0 for what is no match. `index` is that of `rows[start]` among the rows
    the search has been given. Both are 0 where a clause runs as a pattern.
    """

    kind: RowOutcome
    rows: tuple[Any, ...]
    start: int
    codes: tuple[int, ...]
    number: int
    index: int

    @property
    def is_empty(self) -> bool:
        """Whether it is a match without rows."""
        return not self.codes

    @property
    def is_timeout(self) -> bool:
        """Whether it is a candidate whose time was over before any was complete."""
        return self.kind is RowOutcome.TIMEOUT

    @property
    def match_rows(self) -> tuple[Any, ...]:
        """The rows of the match, in order."""
        return self.rows[self.start : self.start + len(self.codes)]

    def by_variable(self, names: tuple[str, ...]) -> dict[str, list[Any]]:
        """Return the rows by the name of their variable; names in order of their first row.

        Rows that are excluded from the output are not among them.
        """
        found: dict[str, list[Any]] = {}
        for row, code in zip(self.match_rows, self.codes, strict=True):
            if not code & 1:
                found.setdefault(names[code >> 1], []).append(row)
        return found
