"""Rows of output on their way out of a worker: in chunks, so that few are in memory at once.

OutputRow, … ──add──► RowChunks ──full, rest──► rows, some thousand at a time, each one Arrow batch
RowColumns, RowLines ┘
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from processor_runtime.rows.output_rows import OutputRow

ROWS_PER_CHUNK: Final = 5_000
CHARACTERS_PER_CHUNK: Final = 16_000_000


@dataclass(slots=True)
class RowChunks:
    """The rows that wait to be sent, and how many of each kind there have been."""

    kinds: Counter[str] = field(default_factory=Counter)
    _full: deque[Sequence[OutputRow]] = field(default_factory=deque)
    _rows: list[OutputRow] = field(default_factory=list)
    _characters: int = 0

    def add(self, rows: Iterable[OutputRow]) -> None:
        """Let rows wait."""
        for row in rows:
            self.add_one(row)

    def add_one(self, row: OutputRow) -> None:
        """Let a row wait."""
        kind, _, _, _, _, key, _, _, _, output, events, error = row
        self.kinds[kind] += 1
        self._rows.append(row)
        self._characters += len(key or "") + len(output or "") + len(events or "")
        self._characters += len(error or "")
        if len(self._rows) >= ROWS_PER_CHUNK or self._characters >= CHARACTERS_PER_CHUNK:
            self._full.append(self._rows)
            self._rows, self._characters = [], 0

    def add_many(self, kind: str, rows: Sequence[OutputRow]) -> None:
        """Let a chunk of rows of one kind wait, after those that have been added before."""
        self._full.extend(self._rest())
        self.kinds[kind] += len(rows)
        self._full.append(rows)

    @property
    def has_full(self) -> bool:
        """Whether a chunk is full."""
        return bool(self._full)

    def full(self) -> Iterator[Sequence[OutputRow]]:
        """Yield the chunks that are full; they are given away."""
        while self._full:
            yield self._full.popleft()

    def rest(self) -> Iterator[Sequence[OutputRow]]:
        """Yield everything that waits."""
        yield from self.full()
        yield from self._rest()

    def _rest(self) -> Iterator[list[OutputRow]]:
        if self._rows:
            rows, self._rows, self._characters = self._rows, [], 0
            yield rows
