"""How many partial matches of a selector group are open in a shard, step by step, and given up.

    header of the batch before · what its keys held, and hold ──OpenCounts──► open steps · funnel

Only the keys of a batch are looked at: what all others hold is what was counted before.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cep.nfa.step_counts import StepCounts, StepEvent
from processor_runtime.rows.shard_status import StoppedRule
from processor_runtime.rules.compiled_group import CompiledGroup
from processor_runtime.rules.rule_set import SelectorGroup
from processor_runtime.schedule.interval import EndReason
from processor_runtime.state.group_header import GroupHeader, OpenSteps

RuleSteps = Counter[tuple[str, str]]
"""How many partial matches are open, by rule and the step of their last event."""


@dataclass(slots=True)
class OpenCounts:
    """The counts of one batch.

    `before` is what the keys of the batch held when it began, `after` what they hold at its end;
    `None` is what the matcher holds. `dropped` counts partial matches that ended with their rules.
    """

    group: SelectorGroup
    header: GroupHeader
    before: RuleSteps = field(default_factory=Counter)
    after: RuleSteps | None = None
    dropped: Counter[str] = field(default_factory=Counter)
    _given_up: dict[str, dict[str, StepCounts]] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)

    def open_steps(self) -> OpenSteps:
        """Return how many are open on all keys; of rules that are out, none."""
        counts = Counter(
            {
                (rule, step): count
                for rule, steps in self.header.open_steps.items()
                for step, count in steps.items()
            }
        )
        counts.update(held_by(self.group.compiled) if self.after is None else self.after)
        counts.subtract(self.before)
        out = {rule.rule_id for rule in self.header.stopped} | self._ended
        open_steps: OpenSteps = {}
        for (rule, step), count in counts.items():
            if count and rule in self.group.compiled.rules and rule not in out:
                open_steps.setdefault(rule, {})[step] = count
        return open_steps

    def partial_matches(self) -> dict[str, int]:
        """Return how many are open by rule."""
        return {rule: sum(steps.values()) for rule, steps in self.open_steps().items()}

    def end(self, rules: Iterable[str]) -> None:
        """Count what rules have open as given up; of them nothing is open any more."""
        still_open = self.open_steps()
        for rule in rules:
            self.give_up(rule, still_open.get(rule, {}))
            self._ended.add(rule)

    def give_up(self, rule: str, steps: Mapping[str, int]) -> None:
        """Count what a rule has open, by step, as ended with it or by what it was stopped for."""
        is_stopped = self.has_failed(rule) or self.group.compiled.matcher.is_stopped(rule)
        what = StepEvent.STOPPED if is_stopped else StepEvent.DROPPED
        if not is_stopped:
            self.dropped[rule] += sum(steps.values())
        of_rule = self._given_up.setdefault(rule, {})
        for step, count in steps.items():
            if step:
                of_rule.setdefault(step, StepCounts()).count(what, count)

    def has_failed(self, rule: str) -> bool:
        """Whether a rule has ended because it failed."""
        return self.group.intervals[rule].end_reason is EndReason.QUARANTINED

    def funnel(self, stopped: Iterable[StoppedRule]) -> dict[str, dict[str, StepCounts]]:
        """Return the funnel of this batch by rule and step, before the state is saved.

        `stopped`: the rules that were stopped in this batch: what they had open on keys that this
        batch is not about is given up, too.
        """
        still_open = self.open_steps()
        for rule in stopped:
            self.give_up(rule.rule_id, still_open.get(rule.rule_id, {}))
        counts = self.group.compiled.matcher.step_counts()
        for name, steps in self._given_up.items():
            of_rule = counts.setdefault(name, {})
            for step, given_up in steps.items():
                of_rule.setdefault(step, StepCounts()).add(given_up)
        return counts


def held_by(compiled: CompiledGroup) -> RuleSteps:
    """Return what the matcher of a group holds."""
    counts = RuleSteps()
    for shape in compiled.matcher.shapes:
        counts.update(shape.open_steps())
    return counts
