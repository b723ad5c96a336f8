"""Events of a batch that concern a rule, phase by phase, with what each does and its key.

events in order ──relevant_events──► parts of one phase each ──► GroupMatcher

Where a test or a key cannot be evaluated, a part ends in front of that event, and the next one
begins with the rules that fail on it; all others are exact. A test that has failed once is taken
not to hold from there on: the rules it belongs to are out.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from cep.expression import EvaluationError, first_failure, short_sql
from cep.keyed.event_columns import EventColumns
from cep.nfa.errors import ConditionFailed, KeyFailed, MatchingError
from processor_runtime.rows.event_block import TIME, EventTuple, event_time_ms
from processor_runtime.rules.rule_set import PhaseEventKind, SelectorGroup


@dataclass(frozen=True, slots=True)
class Failing:
    """An event on which a rule fails before it is matched; `key` is `None` if there is none."""

    rule: str
    error: MatchingError
    time_ms: int
    key: tuple[Any, ...] | None
    event: EventTuple


@dataclass(frozen=True, slots=True)
class RelevantEvents:
    """Relevant events of one phase, in order. What is `failing` comes first."""

    phase: int
    events: EventColumns[PhaseEventKind]
    failing: tuple[Failing, ...] = ()


def relevant_events(group: SelectorGroup, events: pl.DataFrame) -> Iterator[RelevantEvents]:
    """Yield the relevant events, split where phases begin and where something fails.

    `events`: column `TIME`, those of the stream and those of windows, in order of time.
    """
    times = events.get_column(TIME)
    begin = 0
    while begin < len(events):
        phase = group.phases.at(times[begin])
        end = int(times.search_sorted(group.phases[phase].until_ms, side="left"))
        yield from _of_phase(group, phase, events[begin:end])
        begin = end


def _of_phase(
    group: SelectorGroup, phase: int, events: pl.DataFrame, without: frozenset[int] | None = None
) -> Iterator[RelevantEvents]:
    """Yield the events of one phase; see `PredicateIndex.classify` for `without`."""
    while len(events):
        try:
            part = _evaluated(group, phase, events, without)
        except EvaluationError:
            without = without or frozenset()
        else:
            yield part
            return
        failed = group.compiled.index.first_failure(events, without)
        if failed is not None:
            row, errors = failed
            yield from _of_phase(group, phase, events[:row], without)
            yield _failing_tests(group, phase, events[row : row + 1], errors)
            without |= errors.keys()
            events = events[row:]
            continue
        rows, kinds, kind_numbers = group.compiled.index.classify(
            events, partial(group.kind, phase), without
        )
        relevant = events[rows]
        unkeyed = first_failure(relevant, group.compiled.keys)
        if unkeyed is None:
            # Together it failed, one by one it does not.
            yield _evaluated(group, phase, events, without)
            return
        place, error = unkeyed
        row = rows[place]
        yield from _of_phase(group, phase, events[:row], without)
        yield _without_key(group, phase, events[row : row + 1], kinds[kind_numbers[place]], error)
        events = events[row + 1 :]


def _evaluated(
    group: SelectorGroup, phase: int, frame: pl.DataFrame, without: Collection[int] | None
) -> RelevantEvents:
    rows, kinds, kind_numbers = group.compiled.index.classify(
        frame, partial(group.kind, phase), without
    )
    relevant = group.plain(frame if len(rows) == len(frame) else frame[rows])
    keys = group.compiled.keys(relevant)
    concerning = [kind for kind in kinds if kind is not None]  # all are
    times = relevant.get_column(TIME)
    events = EventColumns.of(relevant, times, concerning, kind_numbers, keys)
    return RelevantEvents(phase, events)


def _failing_tests(
    group: SelectorGroup, phase: int, event: pl.DataFrame, errors: dict[int, EvaluationError]
) -> RelevantEvents:
    """Return the failures of the rules of a phase that have one of these tests."""
    active = group.phases[phase].going_on
    try:
        (key,) = group.compiled.keys(event).rows() if group.compiled.is_keyed else [()]
    except EvaluationError:
        key = None
    failures = [
        (rule, ConditionFailed(rule, short_sql(group.compiled.matcher.tests.nodes[test]), error))
        for test, error in errors.items()
        for rule in group.compiled.matcher.rules_with(test)
        if rule in active
    ]
    return _failing(phase, group.plain(event), key, failures)


def _without_key(
    group: SelectorGroup,
    phase: int,
    event: pl.DataFrame,
    kind: PhaseEventKind | None,
    error: Exception,
) -> RelevantEvents:
    """Return the failures of the rules that an event concerns whose key cannot be computed."""
    names = ", ".join(group.compiled.key_by)
    failures = [
        (rule, KeyFailed(f"the key ({names}): {error}"))
        for rule in (kind.rules if kind is not None else ())
    ]
    return _failing(phase, group.plain(event), None, failures)


def _failing(
    phase: int, event: pl.DataFrame, key: tuple[Any, ...] | None, failures: list[tuple[str, Any]]
) -> RelevantEvents:
    (row,) = event.rows()
    failing = tuple(Failing(rule, error, event_time_ms(row), key, row) for rule, error in failures)
    none = event[:0]
    nothing = EventColumns[PhaseEventKind].of(
        none, none.get_column(TIME), [], np.empty(0, np.int64), none.select()
    )
    return RelevantEvents(phase, nothing, failing)
