"""A timeline made ready to run: its rules grouped by key, the patterns of a group compiled as one.

    Timeline ──compile_rules──► RuleSet ──► key stage (columnar tests), matching stage (machines)

Compiled once per process and timeline. Rules with the same key selector form a group: they share
the rows that are shuffled, the tests, and the matcher.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Final

import polars as pl

from cep.bounded_cache import BoundedCache
from cep.expression import DataType, Schema, row_reader
from cep.expression.types import to_polars
from cep.matching.key_state import layout
from cep.matching.keyed import KeyedMatcher
from cep.matching.predicate_index import PredicateIndex
from cep.matching.shapes import EventKind, RuleFailure, Selection
from cep.nfa.limits import Limits
from cep.nfa.transition_table import kinds_capacity
from contract.canonical import canonical_json, content_hash
from contract.snapshot import StreamDefinition
from processor_runtime.rows.event_block import TIME, event_fields
from processor_runtime.rows.key_columns import key_columns, keys_of
from processor_runtime.rules.loading import LoadedRule, RefusedRule, RuleDefaults, load_rules
from processor_runtime.schedule.interval import Interval
from processor_runtime.schedule.phases import Phases
from processor_runtime.schedule.timeline import Timeline

GLOBAL_KEY: Final = "global"
"""The id of the group of rules without a key selector."""


@dataclass(frozen=True, slots=True, eq=False)
class PhaseEventKind:
    """What one kind of event does in one phase: to the machines, and which rules it concerns."""

    transitions: EventKind
    rules: tuple[str, ...]


class SelectorGroup:
    """The rules that share a key selector, compiled together.

    Args:
        group_id: stable name of the selector.
        key_by: the expressions of the key, none for one global key.
        rules: the rules.
        intervals: when each of them is active, by its id.
        schema: the columns of the stream.
        defaults: what a rule that sets no limits may hold for one key.
        past_ms: event times up to here do not come any more.
    """

    def __init__(  # noqa: PLR0913 - what a group is made of, by name
        self,
        group_id: str,
        key_by: Sequence[str],
        rules: Sequence[LoadedRule],
        intervals: Mapping[str, Interval],
        schema: Schema,
        *,
        defaults: Limits,
        past_ms: int,
    ) -> None:
        self.id = group_id
        self.rules = {rule.id: rule for rule in rules}
        self.intervals = {rule.id: intervals[rule.id] for rule in rules}
        self.shard_limits = {
            rule.id: rule.shard_limit for rule in rules if rule.shard_limit is not None
        }
        # An event is the tuple of its time and its columns.
        columns = tuple(name for name, _ in schema.columns)
        self._failures: list[RuleFailure] = []
        self.matcher = KeyedMatcher(
            {rule.id: rule.pattern for rule in rules},
            field_reader=row_reader((TIME, *columns)),
            schema=schema,
            limits={rule.id: rule.limits.effective(defaults) for rule in rules},
            # By what is written: other defaults must not join what two machines hold.
            kept_apart={rule.id: rule.limits for rule in rules},
            on_failure=self._failures.append,
            event_view=partial(event_fields, columns=columns),
            in_deadline_order=True,
        )
        self.index = PredicateIndex(self.matcher.tests.nodes, schema)
        self.phases = Phases(tuple(self.intervals.values()), past_ms)
        self.columns = columns
        # In place of columns that events which were read before do not have.
        self.nulls = {name: _null(data_type).alias(name) for name, data_type in schema.columns}
        self.layout_digest = content_hash([columns, layout(self.matcher)])[:16]
        self._selections: dict[int, tuple[Selection, Selection]] = {}
        self._kinds = BoundedCache(self._kind, kinds_capacity(len(self.matcher.tests)), _parts)
        self._key = key_columns(tuple(key_by), schema)

    def keys(self, events: pl.DataFrame) -> pl.DataFrame:
        """Return the key of each event, a column per part; no columns for the global key."""
        return keys_of(events, self._key)

    @property
    def is_keyed(self) -> bool:
        """Whether there is a key at all."""
        return bool(self._key)

    def going_on(self, phase: int) -> Selection:
        """Return the rules that may have partial matches in a phase."""
        return self._selected(phase)[1]

    def _selected(self, phase: int) -> tuple[Selection, Selection]:
        """Return the rules that may begin partial matches, and those that may have some."""
        if phase not in self._selections:
            begun = self.phases[phase]
            select = self.matcher.select
            self._selections[phase] = select(begun.starting), select(begun.going_on)
        return self._selections[phase]

    def take_failures(self) -> list[RuleFailure]:
        """Return the rules that have failed since this was last asked."""
        failures, self._failures[:] = list(self._failures), []
        return failures

    def kind(self, phase: int, true_tests: tuple[int, ...]) -> PhaseEventKind | None:
        """Return what an event does in a phase, `None` if it concerns no rule.

        Args:
            phase: index into `phases`.
            true_tests: the numbers of the tests that hold for it.
        """
        return self._kinds[phase, true_tests]

    def _kind(self, key: tuple[int, tuple[int, ...]]) -> PhaseEventKind | None:
        phase, true_tests = key
        starting, going_on = self._selected(phase)
        transitions = self.matcher.kind(true_tests, starting, going_on)
        rules = tuple(
            rule for shape, found in transitions for rule in shape.rules_of(found.concerned)
        )
        return PhaseEventKind(transitions, rules) if transitions else None


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules of a timeline, ready to run, by selector group; and those that cannot."""

    stream: StreamDefinition
    schema: Schema
    groups: Mapping[str, SelectorGroup]
    refused: tuple[RefusedRule, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of an event, in order."""
        return tuple(name for name, _ in self.schema.columns)


def compile_rules(timeline: Timeline, stream: StreamDefinition, defaults: RuleDefaults) -> RuleSet:
    """Return the rules of a timeline, ready to run; what cannot run is set apart."""
    schema = Schema.from_ddl(stream.ddl)
    rules, refused = load_rules(timeline.intervals, schema, defaults)
    intervals = {interval.rule_id: interval for interval in timeline.intervals}
    by_key: dict[tuple[str, ...], list[LoadedRule]] = {}
    for rule in rules:
        by_key.setdefault(rule.key_by, []).append(rule)
    groups = {
        group_id(key_by): SelectorGroup(
            group_id(key_by),
            key_by,
            sharing,
            intervals,
            schema,
            defaults=defaults.limits,
            past_ms=timeline.processed_ms,
        )
        for key_by, sharing in by_key.items()
    }
    return RuleSet(stream, schema, groups, tuple(refused))


def group_id(key_by: Sequence[str]) -> str:
    """Return the name of a key selector, the same for all time: it names state."""
    if not key_by:
        return GLOBAL_KEY
    return blake2b(canonical_json(list(key_by)).encode(), digest_size=8).hexdigest()


def _parts(_key: tuple[int, tuple[int, ...]], kind: PhaseEventKind | None) -> int:
    return 1 if kind is None else 1 + len(kind.transitions) + len(kind.rules)


def _null(data_type: DataType) -> pl.Expr:
    try:
        return pl.lit(None, to_polars(data_type))
    except ValueError:  # no expression can read such a column, so its type does not matter
        return pl.lit(None)
