"""How much one rule may output, and the error of one that would output more.

job file, definition ──► RowLimits ──row_budget──► rows of output, or RowLimitExceeded
"""

from dataclasses import dataclass
from typing import Final

from cep.nfa.errors import MatchingError

UNLIMITED: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class RowLimits:
    """How many rows of output one rule may bring, and how large each may be.

    `per_event` is for one event of a key, or one instant at which windows of it close; `per_key`
    and `per_shard` are for one batch. `row_bytes` counts key, output and events as JSON.
    """

    per_event: int = 10_000
    per_key: int = 100_000
    per_shard: int = 1_000_000
    row_bytes: int = 10_000_000


NO_ROW_LIMITS: Final = RowLimits(UNLIMITED, UNLIMITED, UNLIMITED, UNLIMITED)
"""For what is no job: a frame is one batch, however large."""


class RowLimitExceeded(MatchingError):
    """A rule would output more than its limits allow.

    `is_of_batch` tells a limit of what one batch may bring, which also depends on how much is read
    at once, from one that the rule breaks however events come.
    """

    def __init__(self, what: str, limit: int, remedy: str, *, is_of_batch: bool = False) -> None:
        super().__init__(f"more than {limit:,} {what}; {remedy}")
        self.what = what
        self.limit = limit
        self.remedy = remedy
        self.is_of_batch = is_of_batch

    def telling(self, left_out: int) -> "RowLimitExceeded":
        """Return the same error, which says how many matches are left out for it."""
        is_one = left_out == 1
        count = f"{left_out:,} {'match or timeout is' if is_one else 'matches or timeouts are'}"
        remedy = f"{count} left out; {self.remedy}"
        return RowLimitExceeded(self.what, self.limit, remedy, is_of_batch=self.is_of_batch)
