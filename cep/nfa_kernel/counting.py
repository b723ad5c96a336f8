"""Compiled: how far partial matches get, step by step, as `cep.nfa.step_counts` means it.

    rules, step ──count──► pending ──another set of rules, or the end──► counts by rule and step

Most events that are counted at a step are of the same rules as those before, so that one number
goes up; only where the rules change is it added up rule by rule.
"""

from typing import Final

from cep.compiling import in_place
from cep.nfa_kernel.arrays import Counters

REACHED: Final = 0
AGAIN: Final = 1
TIMED_OUT: Final = 2
BROKEN: Final = 3
PRUNED: Final = 4
KINDS: Final = 5
"""As in `cep.nfa.step_counts.StepEvent`; compiled code neither drops rules nor stops them."""

NEWEST_MS: Final = 5
"""The column of the newest event taken, after those of the kinds."""
COUNTS_WIDTH: Final = 6
NO_TIME: Final = -(2**62)

PENDING_WIDTH: Final = 3
_RULES: Final = 0
_NUMBER: Final = 1
PENDING_NEWEST_MS: Final = 2


@in_place
def count(counters: Counters, kind: int, step: int, rules: int, time_ms: int) -> None:
    """Count something once for some rules at a step.

    Args:
        counters: what is written.
        kind: what is counted.
        step: where.
        rules: for which rules.
        time_ms: the time of an event that was taken; else `NO_TIME`.
    """
    pending = counters.pending
    place = step * KINDS + kind
    if pending[place, _RULES] != rules:
        _spread(counters, place)
        pending[place, _RULES] = rules
    pending[place, _NUMBER] += 1
    pending[place, PENDING_NEWEST_MS] = max(pending[place, PENDING_NEWEST_MS], time_ms)


@in_place
def spread_all(counters: Counters) -> None:
    """Add up rule by rule what is pending."""
    for place in range(len(counters.pending)):
        _spread(counters, place)


@in_place
def _spread(counters: Counters, place: int) -> None:
    pending, counts = counters.pending, counters.counts
    rules, number, newest_ms = (
        pending[place, _RULES],
        pending[place, _NUMBER],
        pending[place, PENDING_NEWEST_MS],
    )
    row, kind = place // KINDS, place % KINDS
    while number and rules:
        if rules & 1:
            counts[row, kind] += number
            counts[row, NEWEST_MS] = max(counts[row, NEWEST_MS], newest_ms)
        row += counters.step_count
        rules >>= 1
    pending[place, _NUMBER], pending[place, PENDING_NEWEST_MS] = 0, NO_TIME
