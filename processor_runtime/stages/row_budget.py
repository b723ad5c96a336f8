"""Counts what each rule outputs in one batch of one shard, against its limits.

MatchRows ──check, count──► RowBudget ──► nothing, or RowLimitExceeded

Only what the rule itself has found counts, so that no rule suffers for another.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

from cep.matching.shapes import Detection
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.row_limits import RowLimitExceeded, RowLimits

_NARROW: Final = "narrow the conditions, shorten within, or choose a skip strategy"
_SMALLER: Final = "read smaller batches, or raise the limit"


@dataclass(slots=True)
class RowBudget:
    """The rows of all rules in one batch of one shard."""

    _of_event: Counter[tuple[str, Hashable, int]] = field(default_factory=Counter)
    _of_key: Counter[tuple[str, Hashable]] = field(default_factory=Counter)
    _of_shard: Counter[str] = field(default_factory=Counter)

    def begin_event(self) -> None:
        """Begin with the next event, or advance of time; the rows of those before are complete."""
        self._of_event.clear()

    def check(self, limits: RowLimits, found: Detection) -> None:
        """See whether a find may bring another row.

        Raises:
            RowLimitExceeded: it may not.
        """
        rule, key = found.rule, found.key
        if self._of_event[rule, key, found.time_ms] >= limits.per_event:
            what = "rows of output at one event of a key (rows_per_event)"
            raise RowLimitExceeded(what, limits.per_event, _NARROW)
        if self._of_key[rule, key] >= limits.per_key:
            what = "rows of output of one key in a batch (rows_per_key)"
            raise RowLimitExceeded(what, limits.per_key, _SMALLER, is_of_batch=True)
        if self._of_shard[rule] >= limits.per_shard:
            what = "rows of output of one shard in a batch (rows_per_shard)"
            raise RowLimitExceeded(what, limits.per_shard, _SMALLER, is_of_batch=True)

    def count(self, limits: RowLimits, found: Detection) -> None:
        """Count one more row of a find.

        Raises:
            RowLimitExceeded: it is one too many.
        """
        self.check(limits, found)
        self._of_event[found.rule, found.key, found.time_ms] += 1
        self._of_key[found.rule, found.key] += 1
        self._of_shard[found.rule] += 1


def check_size(limits: RowLimits, row: OutputRow) -> None:
    """See whether a row is small enough.

    Raises:
        RowLimitExceeded: it is not.
    """
    texts = [text for text in (row.key, row.output, row.events) if text is not None]
    size = 4 * sum(map(len, texts))  # no character takes more; to count bytes takes a copy
    if size > limits.row_bytes:
        size = sum(len(text.encode()) for text in texts)
    if size > limits.row_bytes:
        remedy = "let a match hold fewer events, or select less"
        raise RowLimitExceeded("bytes in a row of output (bytes_per_row)", limits.row_bytes, remedy)
