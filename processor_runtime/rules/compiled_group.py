"""The rules that share a key selector, compiled together: the costly part of a selector group.

    LoadedRule, … ──CompiledGroup──► tests in columns · matcher · key, the same in every timeline

Nothing here depends on when rules are active, so a group of the same rules is compiled once for all
timelines they are in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from cep.executors.column_matcher import ColumnMatcher
from cep.expression import DataType, Schema, row_reader
from cep.expression.types import to_polars
from cep.keyed.key_state import layout
from cep.keyed.matcher import KeyedMatcher
from cep.keyed.predicate_index import PredicateIndex
from cep.keyed.shapes import RuleFailure
from cep.nfa.errors import ConditionFailed
from cep.nfa.limits import Limits
from cep.nfa.runs import Cell
from cep.nfa.transition_table import Residual
from cep.pattern import PatternError
from cep.pattern.validation.window_rules import window_key_problems
from cep.processor import SelectExpressions
from contract.canonical import canonical_json, content_hash
from processor_runtime.rows.event_block import TIME, event_fields
from processor_runtime.rows.key_columns import key_columns, key_types, keys_of
from processor_runtime.rules.loading import LoadedRule
from processor_runtime.rules.window_columns import GroupWindows
from processor_runtime.watch.code_watch import CodeCall

GLOBAL_KEY: Final = "global"
"""The id of the group of rules without a key selector."""


class CompiledGroup:
    """The rules that share a key selector, ready to run whenever they are active.

    The matcher works for one shard after the other and is left empty in between.

    Args:
        key_by: the expressions of the key, none for one global key.
        rules: the rules that have this key.
        schema: the columns of the stream; its lists are those that the rules name.
        defaults: what a rule that sets no limits may hold for one key.

    Raises:
        PatternError: a window of a rule is over events of several keys.
    """

    def __init__(
        self,
        key_by: tuple[str, ...],
        rules: Sequence[LoadedRule],
        schema: Schema,
        defaults: Limits,
    ) -> None:
        for rule in rules:
            if rule.pattern.query is None:
                problems = tuple(window_key_problems(rule.pattern.tree, key_by))
                if problems:
                    raise PatternError(problems)
        self.id = group_id(key_by)
        self.key_by = key_by
        self.rules: Mapping[str, LoadedRule] = MappingProxyType({rule.id: rule for rule in rules})
        self.shard_limits = {
            rule.id: rule.shard_limit for rule in rules if rule.shard_limit is not None
        }
        self.function_calls: Mapping[str, CodeCall] = {
            rule.id: rule.code_call("its process function")
            for rule in rules
            if not isinstance(rule.function, SelectExpressions | None)
        }
        """What process functions in Python run in, by rule."""
        self.limits = {rule.id: rule.limits.effective(defaults) for rule in rules}
        self.columns = tuple(name for name, _ in schema.columns)
        lists = {each.name: each for rule in rules for each in rule.lists}
        schema = replace(schema, lists=tuple(lists.values()))
        self._failures: list[RuleFailure] = []
        self.matcher = KeyedMatcher(
            {rule.id: rule.pattern for rule in rules},
            field_reader=row_reader((TIME, *self.columns)),
            schema=schema,
            limits=self.limits,
            # By what is written: other defaults must not join what two machines hold.
            kept_apart={rule.id: rule.limits for rule in rules},
            on_failure=self._failures.append,
            event_view=partial(event_fields, columns=self.columns),
            guard=self._watched,
            in_deadline_order=True,
        )
        self.batch_matcher = ColumnMatcher(self.matcher)
        tests = self.matcher.tests.nodes
        self.windows = GroupWindows.of(tests, schema, key_by)
        if self.windows is None:
            self.index = PredicateIndex(tests, schema)
        else:
            columns = self.windows.columns
            self.index = PredicateIndex(
                [columns.replaced(test) for test in tests], columns.widened(schema)
            )
        # In place of columns that events which were read before do not have.
        self.nulls = {name: _null(data_type).alias(name) for name, data_type in schema.columns}
        nulls = [self.nulls[name] for name in self.columns]
        self.no_events = pl.select(pl.lit(0, pl.Int64).alias(TIME), *nulls).clear()
        """The columns of events, and no event."""
        self.layout_digest = content_hash([self.columns, layout(self.matcher)])[:16]
        self._key = key_columns(key_by, schema)
        self._schema = schema

    @property
    def is_keyed(self) -> bool:
        """Whether there is a key at all."""
        return bool(self._key)

    @property
    def key_types(self) -> tuple[pl.DataType, ...]:
        """The types of the values of a key, in order."""
        return key_types(self.key_by, self._schema)

    def keys(self, events: pl.DataFrame) -> pl.DataFrame:
        """Return the key of each event, a column per part; no columns for the global key.

        Raises:
            EvaluationError: the key of an event cannot be computed.
        """
        return keys_of(events, self._key)

    def _watched(self, rule_id: str, text: str, holds: Residual) -> Residual:
        """Let a condition in Python run under watch, and fail whatever it raises."""
        call = self.rules[rule_id].code_call(f"the condition {text}")

        def test(event: Any, cell: Cell | None, time_ms: int) -> bool:
            with call:
                try:
                    return holds(event, cell, time_ms)
                except Exception:
                    raise
                except BaseException as error:
                    raise ConditionFailed(rule_id, text, error) from error

        return test

    def is_of(self, rules: Sequence[LoadedRule]) -> bool:
        """Whether it is made of exactly these rules."""
        return list(self.rules.values()) == list(rules)

    def take_failures(self) -> list[RuleFailure]:
        """Return the rules that have failed since this was last asked."""
        failures, self._failures[:] = list(self._failures), []
        return failures


def group_id(key_by: Sequence[str]) -> str:
    """Return the name of a key selector, the same for all time: it names state."""
    if not key_by:
        return GLOBAL_KEY
    return blake2b(canonical_json(list(key_by)).encode(), digest_size=8).hexdigest()


def _null(data_type: DataType) -> pl.Expr:
    try:
        return pl.lit(None, to_polars(data_type))
    except ValueError:  # no expression can read such a column, so its type does not matter
        return pl.lit(None)
