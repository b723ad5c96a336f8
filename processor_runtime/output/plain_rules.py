"""Which rules need no decision about a match: their rows are made in columns (`plain_blocks`).

A rule is plain in a batch if each of its matches goes out as one row: no code in Python sees it, no
other version has a part of its keys, and nothing suppresses, snoozes, groups or budgets it.
"""

from dataclasses import dataclass, field

from cep.processor import SelectExpressions
from processor_runtime.alerting.live_finds import LiveFinds
from processor_runtime.alerting.snoozed_finds import SnoozedFinds
from processor_runtime.output.match_rows import MatchRows
from processor_runtime.rows.shard_status import RuleCounts, ShardStatus
from processor_runtime.rules.loading import LoadedRule
from processor_runtime.rules.rule_set import SelectorGroup


@dataclass(frozen=True, slots=True)
class PlainRule:
    """A rule whose matches go out as they are.

    `select` is the same object for all rules that select the same, `None` without any.
    """

    rule: LoadedRule
    select: SelectExpressions | None
    counts: RuleCounts


@dataclass(slots=True)
class PlainRules:
    """The plain rules of one group in one batch of one shard.

    `match_rows`: tells whether matches are wanted. `live`: tells which rules share their keys with
    another version.
    """

    group: SelectorGroup
    match_rows: MatchRows
    status: ShardStatus
    live: LiveFinds
    snoozed: SnoozedFinds
    _rules: dict[str, PlainRule | None] = field(default_factory=dict)
    _selects: dict[str, SelectExpressions] = field(default_factory=dict)

    def rule(self, rule_id: str) -> PlainRule | None:
        """Return a rule if it is plain."""
        if rule_id not in self._rules:
            self._rules[rule_id] = self._plain(rule_id)
        return self._rules[rule_id]

    def _plain(self, rule_id: str) -> PlainRule | None:
        rule = self.group.compiled.rules[rule_id]
        is_decided = (
            rule.suppression is not None
            or rule.goes_through_driver
            or self.live.may_be_shadow(rule_id)
            or self.snoozed.may_be_snoozed(rule.processor_id)
        )
        has_code = type(rule.function) not in {SelectExpressions, type(None)}
        if is_decided or has_code or rule.row_output is not None:
            return None
        if "match" not in self.match_rows.wanted:
            return None
        select = rule.function
        shared = self.shared(select) if isinstance(select, SelectExpressions) else None
        return PlainRule(rule, shared, self.status.rule(rule_id))

    def shared(self, select: SelectExpressions) -> SelectExpressions:
        """Return one object for all that select the same."""
        return self._selects.setdefault(select.written, select) if select.written else select
