"""How much a search may try: counted, not timed, so that a replay of the same rows counts the same.

A search owes the ways it has tried. Every row it takes and every start pays off a part, so that
what most clauses do never adds up; where ways multiply from row to row, the debt does.
"""

from typing import Final

from cep.nfa.errors import LimitExceeded
from cep.nfa.limits import Limits
from cep.row_search.partition import Partition

_PAID_BY_ROW: Final = 300
_PAID_BY_START: Final = 4_000
_FREE_WALK: Final = 32
_WALKED_PER_WAY: Final = 4
"""How many places of a pattern are walked in about the time in which a row is tried once.

Whether they are walked, or known from before, must not matter for the count.
"""


def pay_for_row(partition: Partition) -> None:
    """Pay off what a row may cost."""
    partition.debt = max(0, partition.debt - _PAID_BY_ROW)


def pay_for_start(partition: Partition) -> None:
    """Pay off what a start may cost."""
    partition.debt = max(0, partition.debt - _PAID_BY_START)


def owed(ways: int, walked: int) -> int:
    """Return what ways count that are tried with a row, and places that are walked for them."""
    return ways + max(0, walked - _FREE_WALK) // _WALKED_PER_WAY


def owe_for_row(partition: Partition, limits: Limits, count: int) -> None:
    """Pay off what a row may cost, and count what has been tried with it; errors as of `owe`."""
    debt = partition.debt - _PAID_BY_ROW
    partition.debt = debt = count if debt < 0 else debt + count
    if debt > limits.partial_matches:
        owe(partition, limits, 0)


def owe(partition: Partition, limits: Limits, count: int) -> None:
    """Count what has been tried; see `owed`.

    Raises:
        LimitExceeded: too much has been tried; the bound is that of partial matches.
    """
    partition.debt += count
    if partition.debt > limits.partial_matches:
        remedy = "add WITHIN, lower the bounds of quantifiers, or simplify DEFINE"
        raise LimitExceeded(
            "ways to match that multiply", partition.debt, limits.partial_matches, remedy
        )
