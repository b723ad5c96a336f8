"""How much one rule may hold for one key, counted exactly only when it may have become too much.

    Machine ──counts for all rules──► check_held, check_events ──per rule──► LimitExceeded

A machine counts for all rules of its shape at once, which is cheap and never too little. Only where
that passes a limit is it computed what each rule holds.
"""

from collections import Counter
from dataclasses import dataclass

from cep.nfa.errors import LimitExceeded
from cep.nfa.runs import CELL_SEQUENCE, RUN_RULES, Cell, KeyRuns, Run, distinct_cells


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one rule may hold for one key.

    `partial_matches` counts open and held-back matches, `events` the accepted events they keep
    alive.
    """

    partial_matches: int = 100_000
    events: int = 1_000_000


def check_held(limits: Limits, key: KeyRuns, runs: list[Run], held: int) -> None:
    """Count partial matches and finished ones that wait, per rule; the next count is a while off.

    `runs` are those that the key is to have, `held` what has been counted for all rules.

    Raises:
        LimitExceeded: a rule holds too many; names the rules.
    """
    counts = Counter[int]()
    for run in runs:
        counts[run[RUN_RULES]] += 1
    for rules, queue in key.waiting:
        counts[rules] += len(queue)
    most, guilty = _most(counts, limits.partial_matches)
    if guilty:
        raise LimitExceeded(
            "partial matches of one key",
            most,
            limits.partial_matches,
            "narrow the conditions, add within or until, or drop allow_combinations",
            guilty,
        )
    key.held_checked = held + held // 8


def check_events(limits: Limits, key: KeyRuns) -> None:
    """Count the events that partial matches keep, per rule; else as `check_held`."""
    tips: dict[int, list[Cell]] = {}
    for rules, tip in key.tips():
        tips.setdefault(rules, []).append(tip)
    sequences = {
        rules: {cell[CELL_SEQUENCE] for cell in distinct_cells(behind)}
        for rules, behind in tips.items()
    }
    key.events_bound = len(set().union(*sequences.values()))
    # Per rule this may count an event twice, kept by two sets of rules; a key with so many is
    # near its limit in any case.
    counts = Counter({rules: len(kept) for rules, kept in sequences.items()})
    most, guilty = _most(counts, limits.events)
    if guilty:
        raise LimitExceeded(
            "events kept for one key",
            most,
            limits.events,
            "add within or until, so that partial matches end",
            guilty,
        )
    key.events_checked = key.events_bound + key.events_bound // 8


def _most(counts: Counter[int], limit: int) -> tuple[int, int]:
    """Return the greatest count of a rule, and the rules that have more than `limit`.

    `counts` is by set of rules.
    """
    by_rule = Counter[int]()
    for rules, count in counts.items():
        remaining = rules
        while remaining:
            bit = remaining & -remaining
            remaining ^= bit
            by_rule[bit] += count
    guilty = sum(bit for bit, count in by_rule.items() if count > limit)
    return max(by_rule.values(), default=0), guilty
