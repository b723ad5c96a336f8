"""Lines of a shard that go with its status while they are few: the driver writes them itself.

    RowLines ──send──► at once, once they are too many
                └─rest─► lines of the status row ──► driver ──► outputs

To write rows Spark plans and runs a job of its own, a fifth of a second; a small batch has little
more to do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.row_columns import RowLines


@dataclass(slots=True)
class InlineLines:
    """The lines of one shard and batch.

    Args:
        most_bytes: how many bytes of them may go with the status; 0 if none may.
    """

    most_bytes: int
    _held: list[RowLines] = field(default_factory=list)

    def send(self, rows: Sequence[OutputRow]) -> Iterator[Sequence[OutputRow]]:
        """Yield what goes out now; the rest is kept."""
        if not self.most_bytes or not isinstance(rows, RowLines):
            yield rows
            return
        self._held.append(rows)
        if sum(each.size_bytes for each in self._held) > self.most_bytes:
            self.most_bytes = 0
            yield from self._held
            self._held = []

    def rest(self) -> bytes | None:
        """Return the lines that have been kept, without the end of the last; `None` if none are."""
        return b"\n".join(each.text for each in self._held) if self._held else None
