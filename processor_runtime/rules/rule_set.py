"""A timeline made ready to run: its rules grouped by key, the patterns of a group compiled as one.

    Timeline ──compile_rules──► RuleSet ──► key stage (columnar tests), matching stage (machines)

Compiled once per process and timeline. Rules with the same key selector form a group: they share
the rows that are shuffled, the tests, and the matcher. Most of what an update does not touch is
taken over from an earlier rule set: versions that are loaded, groups of equal rules.

Source: Prometheus, `rules.Manager.Update`, which keeps the rule groups that are equal.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from cep.bounded_cache import BoundedCache
from cep.compiling import Ints
from cep.expression import Schema
from cep.keyed.shapes import EventKind, Selection
from cep.nfa.transition_table import kinds_capacity
from contract.snapshot import StreamDefinition
from processor_runtime.rows.event_block import TIME
from processor_runtime.rules.compiled_group import CompiledGroup, group_id
from processor_runtime.rules.loading import LoadedRule, RefusedRule, RuleDefaults, load_rules
from processor_runtime.schedule.interval import Interval
from processor_runtime.schedule.listed import Contents, unread, value_lists
from processor_runtime.schedule.phases import Phases
from processor_runtime.schedule.snoozing import Snooze
from processor_runtime.schedule.timeline import Timeline


@dataclass(frozen=True, slots=True, eq=False)
class PhaseEventKind:
    """What one kind of event does in one phase: to the machines, and which rules it concerns."""

    transitions: EventKind
    rules: tuple[str, ...]


class SelectorGroup:
    """The rules that share a key selector, and when each of them is active.

    Args:
        compiled: the rules.
        intervals: when they are active, in their order.
        past_ms: event times up to here do not come any more.
    """

    def __init__(
        self, compiled: CompiledGroup, intervals: Sequence[Interval], past_ms: int
    ) -> None:
        self.compiled = compiled
        self.intervals = {interval.rule_id: interval for interval in intervals}
        self.phases = Phases(intervals, past_ms)
        self.past_ms = past_ms
        self._selections: dict[int, tuple[Selection, Selection]] = {}
        self._kinds = BoundedCache(self._kind, kinds_capacity(len(compiled.matcher.tests)), _parts)

    def with_intervals(self, intervals: Sequence[Interval], past_ms: int) -> "SelectorGroup":
        """Return the group with other intervals; itself where they are the same.

        Its phases may then begin earlier than they would have to, but never later.
        """
        if past_ms >= self.past_ms and intervals == list(self.intervals.values()):
            return self
        return SelectorGroup(self.compiled, intervals, past_ms)

    def going_on(self, phase: int) -> Selection:
        """Return the rules that may have partial matches in a phase."""
        return self._selected(phase)[1]

    def ending(self, phase: int) -> frozenset[str]:
        """Return the rules that may have partial matches up to a phase, but not in it."""
        ended = self.phases[phase - 1].going_on - self.phases[phase].going_on
        return ended & self.compiled.rules.keys()

    def _selected(self, phase: int) -> tuple[Selection, Selection]:
        """Return the rules that may begin partial matches, and those that may have some."""
        if phase not in self._selections:
            begun = self.phases[phase]
            select = self.compiled.matcher.select
            self._selections[phase] = select(begun.starting), select(begun.going_on)
        return self._selections[phase]

    def since_ms(self, rule_id: str) -> int:
        """Return from which event time on a rule is active, and its windows count."""
        return self.intervals[rule_id].active_from_ms

    def plain(self, events: pl.DataFrame) -> pl.DataFrame:
        """Return events with the columns of the stream alone."""
        windows = self.compiled.windows
        return events if windows is None else windows.plain(events)

    def arriving_rows(self, phase: int, events: pl.DataFrame) -> Ints:
        """Return the events of a phase that concern a rule, as far as the first stage can tell.

        Raises:
            EvaluationError: a test fails on one of them.
        """
        windows = self.compiled.windows
        if windows is None:
            rows, _, _ = self.compiled.index.classify(events, partial(self.kind, phase))
            return rows.to_numpy()
        going_on = self.phases[phase].going_on
        return windows.arriving_rows(events, going_on.__contains__, partial(self.kind, phase))

    def kind(self, phase: int, true_tests: tuple[int, ...]) -> PhaseEventKind | None:
        """Return what an event does in a phase, `None` if it concerns no rule.

        Args:
            phase: index into `phases`.
            true_tests: the numbers of the tests that hold for it.
        """
        return self._kinds[phase, true_tests]

    def _kind(self, key: "_KindInPhase") -> PhaseEventKind | None:
        phase, true_tests = key
        starting, going_on = self._selected(phase)
        transitions = self.compiled.matcher.kind(true_tests, starting, going_on)
        rules = tuple(
            rule for shape, found in transitions for rule in shape.rules_of(found.concerned)
        )
        return PhaseEventKind(transitions, rules) if transitions else None


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules of a timeline, ready to run, by selector group; and those that cannot."""

    stream: StreamDefinition
    schema: Schema
    defaults: RuleDefaults
    groups: Mapping[str, SelectorGroup]
    refused: tuple[RefusedRule, ...] = ()
    snoozes: tuple[Snooze, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of an event, in order."""
        return tuple(name for name, _ in self.schema.columns)

    @property
    def rules_by_digest(self) -> dict[tuple[str, str], LoadedRule]:
        """The rules by id and digest."""
        return {
            (rule.id, rule.digest): rule
            for group in self.groups.values()
            for rule in group.compiled.rules.values()
        }


def compile_rules(
    timeline: Timeline,
    stream: StreamDefinition,
    defaults: RuleDefaults,
    earlier: Iterable[RuleSet] = (),
    contents: Contents = unread,
) -> RuleSet:
    """Return the rules of a timeline, ready to run; what cannot run is set apart.

    Args:
        timeline: which versions are active when.
        stream: what its events look like.
        defaults: what the job says for all its rules.
        earlier: rule sets of other timelines; what has not changed since the first of them that is
            of the same columns and defaults is taken over.
        contents: where the values of lists are.
    """
    schema = Schema.from_ddl(stream.ddl)
    with_lists = replace(schema, lists=value_lists(timeline.lists, contents, TIME))
    before = next(
        (kept for kept in earlier if (kept.schema, kept.defaults) == (schema, defaults)),
        RuleSet(stream, schema, defaults, {}),
    )
    rules, refused = load_rules(
        timeline.intervals, stream, with_lists, defaults, before.rules_by_digest
    )
    by_key: dict[tuple[str, ...], list[LoadedRule]] = {}
    for rule in rules:
        by_key.setdefault(rule.key_by, []).append(rule)
    intervals = {interval.rule_id: interval for interval in timeline.intervals}
    groups: dict[str, SelectorGroup] = {}
    for key_by, sharing in by_key.items():
        name = group_id(key_by)
        of_rules = [intervals[rule.id] for rule in sharing]
        group = before.groups.get(name)
        if group is None or not group.compiled.is_of(sharing):
            compiled, wrong = _compiled(key_by, sharing, schema, defaults)
            refused += [RefusedRule(intervals[rule_id], error) for rule_id, error in wrong.items()]
            of_rules = [interval for interval in of_rules if interval.rule_id not in wrong]
            if compiled is None:
                continue
            group = SelectorGroup(compiled, of_rules, _past_ms(of_rules, timeline))
        groups[name] = group.with_intervals(of_rules, _past_ms(of_rules, timeline))
    return RuleSet(stream, schema, defaults, groups, tuple(refused), timeline.snoozes)


def _past_ms(intervals: Iterable[Interval], timeline: Timeline) -> int:
    """Return up to where time need not be divided any more.

    A shard that was not called since still has to give up what rules had that are over.
    """
    ends_ms = (interval.given_up_ms - 1 for interval in intervals)
    return min(timeline.processed_ms, min(ends_ms, default=timeline.processed_ms))


def _compiled(
    key_by: tuple[str, ...], rules: Sequence[LoadedRule], schema: Schema, defaults: RuleDefaults
) -> tuple[CompiledGroup | None, dict[str, Exception]]:
    """Return the rules that compile, `None` for none; and the others by id, with their errors."""
    try:
        return CompiledGroup(key_by, rules, schema, defaults.limits), {}
    except Exception:  # noqa: BLE001 - one bad rule never stops the others
        wrong: dict[str, Exception] = {}
        for rule in rules:
            try:
                CompiledGroup(key_by, [rule], schema, defaults.limits)
            except Exception as error:  # noqa: BLE001 - reported as the reason
                wrong[rule.id] = error
    rest = [rule for rule in rules if rule.id not in wrong]
    return (CompiledGroup(key_by, rest, schema, defaults.limits) if rest else None), wrong


_KindInPhase = tuple[int, tuple[int, ...]]
"""A phase, and the numbers of the tests that hold."""


def _parts(_key: _KindInPhase, kind: PhaseEventKind | None) -> int:
    return 1 if kind is None else 1 + len(kind.transitions) + len(kind.rules)
