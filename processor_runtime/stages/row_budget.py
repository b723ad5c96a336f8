"""Counts what each rule outputs in one batch of one shard, against its limits.

MatchRows ──check, count──► RowBudget ──► nothing, or RowLimitExceeded

Only what the rule itself has found counts, so that no rule suffers for another.
"""

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

    _of_event: dict[tuple[str, Hashable, int], int] = field(default_factory=dict)
    _of_key: dict[tuple[str, Hashable], int] = field(default_factory=dict)
    _of_shard: dict[str, int] = field(default_factory=dict)

    def begin_event(self) -> None:
        """Begin with the next event, or advance of time; the rows of those before are complete."""
        self._of_event.clear()

    def check(self, limits: RowLimits, found: Detection) -> None:
        """See whether a find may bring another row.

        Raises:
            RowLimitExceeded: it may not.
        """
        rule, key = found.rule, found.key
        of_shard = self._of_shard.get(rule, 0)
        if of_shard < limits.smallest:
            return  # no event and no key has brought more than the shard
        if self._of_event.get((rule, key, found.time_ms), 0) >= limits.per_event:
            what = "rows of output at one event of a key (rows_per_event)"
            raise RowLimitExceeded(what, limits.per_event, _NARROW)
        if self._of_key.get((rule, key), 0) >= limits.per_key:
            what = "rows of output of one key in a batch (rows_per_key)"
            raise RowLimitExceeded(what, limits.per_key, _SMALLER, is_of_batch=True)
        if of_shard >= limits.per_shard:
            what = "rows of output of one shard in a batch (rows_per_shard)"
            raise RowLimitExceeded(what, limits.per_shard, _SMALLER, is_of_batch=True)

    def count(self, found: Detection) -> None:
        """Count one more row of a find that may bring it; see `check`."""
        rule, key = found.rule, found.key
        of_event, of_key = (rule, key, found.time_ms), (rule, key)
        self._of_event[of_event] = self._of_event.get(of_event, 0) + 1
        self._of_key[of_key] = self._of_key.get(of_key, 0) + 1
        self._of_shard[rule] = self._of_shard.get(rule, 0) + 1


def check_size(limits: RowLimits, row: OutputRow) -> None:
    """See whether a row is small enough.

    Raises:
        RowLimitExceeded: it is not.
    """
    key, output, events = row.key or "", row.output or "", row.events or ""
    # No character takes more than four bytes; to count them takes a copy.
    if 4 * (len(key) + len(output) + len(events)) <= limits.row_bytes:
        return
    if sum(len(text.encode()) for text in (key, output, events)) > limits.row_bytes:
        remedy = "let a match hold fewer events, or select less"
        raise RowLimitExceeded("bytes in a row of output (bytes_per_row)", limits.row_bytes, remedy)
