"""Patterns that never change, for frames that are matched without a job or a service.

match_patterns ──FixedRules──► both stages, compiled once per worker
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from uuid import uuid4

from pyspark import TaskContext

from cep.expression import Schema
from cep.nfa.limits import Limits
from cep.pattern import Pattern
from cep.processor import SelectExpressions
from contract.asked_keys import AskedKey
from contract.snapshot import StreamDefinition
from processor_runtime.rows.row_limits import NO_ROW_LIMITS
from processor_runtime.rules.compiled_group import CompiledGroup
from processor_runtime.rules.loading import LoadedRule, RuleDefaults, WrittenLimits, row_output
from processor_runtime.rules.rule_set import RuleSet, SelectorGroup
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS, BatchClock
from processor_runtime.schedule.interval import BEGINNING_MS, END_MS, Interval

# Set by Spark for every task of a streaming query.
_BATCH_ID: Final = "streaming.sql.batchId"


@dataclass(frozen=True)
class FixedRules:
    """Patterns with what is emitted for a match; a `RuleSource` that travels to the workers.

    `patterns`: pattern by name. `stream`: the columns of the frame, its event time and order.
    `key_by`: columns or expressions of the key; empty = one global key. `select`: output columns by
    pattern name, as in `SelectExpressions`.
    """

    patterns: Mapping[str, Pattern]
    stream: StreamDefinition
    key_by: tuple[str, ...]
    select: Mapping[str, Mapping[str, str]]
    limits: Limits
    token: str = ""

    def with_token(self) -> "FixedRules":
        """Return the same with a name under which workers keep them compiled."""
        return FixedRules(
            self.patterns, self.stream, self.key_by, self.select, self.limits, uuid4().hex
        )

    def current(self, watermark_ms: int | None = None) -> tuple[BatchClock, RuleSet]:
        """Return the rules, and the time as far as the task knows it."""
        context = TaskContext.get()
        batch_id = None if context is None else context.getLocalProperty(_BATCH_ID)
        # Spark begins with the watermark 0, which may be the time of an event.
        clock = BatchClock(int(batch_id or 0), 0, watermark_ms or NO_WATERMARK_MS, 0)
        if self.token not in _compiled:
            _compiled.clear()
            _compiled[self.token] = self.rule_set
        return clock, _compiled[self.token]

    def asked(self) -> tuple[AskedKey, ...]:
        """Return nothing: there is no service that could ask."""
        return ()

    @cached_property
    def rule_set(self) -> RuleSet:
        """The rules, compiled.

        Raises:
            PatternError: a pattern does not fit the columns.
        """
        schema = Schema.from_ddl(self.stream.ddl)
        always = [Interval(name, 1, BEGINNING_MS, END_MS, "", {}) for name in self.patterns]
        rules = [self._rule(interval, schema) for interval in always]
        compiled = CompiledGroup(self.key_by, rules, schema, self.limits)
        group = SelectorGroup(compiled, always, BEGINNING_MS)
        return RuleSet(self.stream, schema, RuleDefaults(limits=self.limits), {compiled.id: group})

    def _rule(self, interval: Interval, schema: Schema) -> LoadedRule:
        name = interval.processor_id
        pattern, columns = self.patterns[name], self.select.get(name)
        return LoadedRule(
            interval.rule_id,
            name,
            interval.version,
            interval.digest,
            pattern.validate(schema),
            None if columns is None else SelectExpressions(columns, pattern),
            WrittenLimits(),
            key_by=self.key_by,
            row_limits=NO_ROW_LIMITS,
            row_output=row_output(pattern, schema),
        )


_compiled: dict[str, RuleSet] = {}
