"""How the matches of a rule are reported: `alert:` of its definition, in numbers.

definition ──► Suppression, by key, for the shards
          └──► Grouping, Budget, of all keys, for shards and driver
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cep.definition.alert_document import AlertBudget, AlertGroup, ProcessorAlert
from cep.pattern.durations import duration_ms
from processor_runtime.schedule.interval import Interval


@dataclass(frozen=True, slots=True)
class Suppression:
    """How many matches of a key go out in a time; `by` are output columns that count, too."""

    by: tuple[str, ...]
    for_ms: int
    at_most: int


@dataclass(frozen=True, slots=True)
class Budget:
    """How many matches of all keys go out in each window of event time.

    Windows are as long as `for_ms`; see `window_from`.
    """

    at_most: int
    for_ms: int


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which matches of all keys are one group: those of a window with equal columns `by`.

    Windows are as long as `for_ms`; see `window_from`.
    """

    by: tuple[str, ...]
    for_ms: int


def window_from(time_ms: int, for_ms: int) -> int:
    """Return when the window begins that an event time is in: at a multiple of its length."""
    return time_ms - time_ms % for_ms


def suppression_in(alert: ProcessorAlert | None) -> Suppression | None:
    """Return what a rule says of the matches of a key."""
    given = None if alert is None else alert.suppress
    if given is None:
        return None
    return Suppression(tuple(given.by), duration_ms(given.for_time), given.at_most)


def budget_in(alert: ProcessorAlert | None) -> Budget | None:
    """Return what a rule says of the matches of all keys."""
    given = None if alert is None else alert.budget
    return None if given is None else _budget(given)


def grouping_in(alert: ProcessorAlert | None) -> Grouping | None:
    """Return which matches of a rule are one group."""
    given = None if alert is None else alert.group
    return None if given is None else _grouping(given)


def groupings_of(intervals: Iterable[Interval]) -> dict[str, Grouping]:
    """Return which matches are one group, by rule id; most rules report each alone."""
    given = _given_in(intervals, "group")
    return {rule: _grouping(AlertGroup.model_validate(each)) for rule, each in given}


def budgets_of(intervals: Iterable[Interval]) -> dict[str, Budget]:
    """Return the budgets of rules, by rule id; most have none."""
    given = _given_in(intervals, "budget")
    return {rule: _budget(AlertBudget.model_validate(each)) for rule, each in given}


def _given_in(intervals: Iterable[Interval], what: str) -> Iterator[tuple[str, Any]]:
    for interval in intervals:
        given = (interval.definition.get("alert") or {}).get(what)
        if given is not None:
            yield interval.rule_id, given


def _budget(given: AlertBudget) -> Budget:
    return Budget(given.at_most, duration_ms(given.for_time))


def _grouping(given: AlertGroup) -> Grouping:
    return Grouping(tuple(given.by), duration_ms(given.for_time))
