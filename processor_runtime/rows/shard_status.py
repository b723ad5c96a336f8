"""What one shard reports to the driver after a batch: counts, sizes, and failed rules.

shard matcher ──► ShardStatus ──JSON──► driver ──► heartbeats, quarantine in the next timeline
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic_core import from_json, to_json

from cep.nfa.step_counts import StepCounts
from contract.asked_keys import KeyAnswer


@dataclass(slots=True)
class EventCounts:
    """How many events came, and how many of them left the stream; why the first malformed did.

    `newest_ms` is the newest event time; `by_source` that of each of several sources, by name.
    """

    events: int = 0
    late: int = 0
    malformed: int = 0
    newest_ms: int | None = None
    why_malformed: str = ""
    by_source: dict[str, int] = field(default_factory=dict)

    def add(self, other: "EventCounts") -> None:
        """Count what another has counted, too."""
        self.events += other.events
        self.late += other.late
        self.malformed += other.malformed
        self.why_malformed = self.why_malformed or other.why_malformed
        times = [time for time in (self.newest_ms, other.newest_ms) if time is not None]
        self.newest_ms = max(times, default=None)
        for name, time_ms in other.by_source.items():
            self.by_source[name] = max(time_ms, self.by_source.get(name, time_ms))


@dataclass(frozen=True, slots=True)
class StoppedRule:
    """A rule that raised here or exceeded its limits: why, and from which event time it stops."""

    rule_id: str
    reason: str
    since_ms: int
    traceback: str = ""


_SUMS: Final = (
    *("events", "matches", "timeouts", "errors", "left_out", "dropped", "released"),
    *("shadow", "suppressed", "unsuppressed", "grouped"),
)
"""The fields of `RuleCounts` that are added up."""


@dataclass(slots=True)
class RuleCounts:
    """Counts of one rule in one batch. `last_match_ms` is the event time of its newest match.

    `shadow` are matches that do not count, of a version that is tried or whose share of the keys
    another has, `suppressed` are matches that do not go out, and `grouped` those that one which
    goes out stands for; they are in no other number.
    `unsuppressed` are matches that went out because their key has as many different ones as are
    kept; they are among `matches`, too.
    `left_out` are matches and timeouts not output because of a limit, `dropped` open partial
    matches given up where the rule ended, `released` the complete ones that waited behind these and
    came out. `steps` is its funnel, by the names of steps. Of a rule
    with groups, `gathered` are the matches that are in one; of any other with a budget, `spent` are
    those that would go out, by the beginning of their window.
    """

    events: int = 0
    matches: int = 0
    timeouts: int = 0
    errors: int = 0
    left_out: int = 0
    dropped: int = 0
    released: int = 0
    shadow: int = 0
    suppressed: int = 0
    unsuppressed: int = 0
    grouped: int = 0
    last_match_ms: int | None = None
    steps: dict[str, StepCounts] = field(default_factory=dict)
    spent: dict[int, int] = field(default_factory=dict)
    gathered: int = 0

    @property
    def sums(self) -> dict[str, Any]:
        """What is added up over batches and rules, by name."""
        return {name: getattr(self, name) for name in _SUMS}

    def add(self, counts: "RuleCounts") -> None:
        """Add the sums and the funnel of others."""
        for name, count in counts.sums.items():
            setattr(self, name, getattr(self, name) + count)
        self.add_steps(counts.steps)

    def add_steps(self, steps: Mapping[str, StepCounts]) -> None:
        """Add to its funnel; what others hold of it does not change."""
        added = {name: replace(self.steps.get(name, StepCounts())) for name in steps}
        for name, counts in steps.items():
            added[name].add(counts)
        self.steps = self.steps | added


@dataclass(slots=True)
class ShardStatus:
    """One batch of one shard.

    `counts` are the event counts sent by the key stage. `rules` has the counts of this batch and
    `partial_matches` the number open now, both by rule; `interpreted_reasons` says why rules run in
    Python; `stopped` has the rules that have failed in
    this shard, except those that the timeline has removed since. `answers` are about keys that
    somebody asks about. `row_kinds` counts rows of output, with those that are lines in
    `line_files`, which says how many each file has.
    """

    shard: int
    counts: EventCounts = field(default_factory=EventCounts)
    rules: dict[str, RuleCounts] = field(default_factory=dict)
    partial_matches: dict[str, int] = field(default_factory=dict)
    interpreted_reasons: dict[str, str] = field(default_factory=dict)
    stopped: list[StoppedRule] = field(default_factory=list)
    answers: list[KeyAnswer] = field(default_factory=list)
    row_kinds: dict[str, int] = field(default_factory=dict)
    line_files: dict[str, int] = field(default_factory=dict)
    keys: int = 0
    waiting_events: int = 0
    state_bytes: int = 0

    def rule(self, rule_id: str) -> RuleCounts:
        """Return the counts of a rule, to be added to."""
        counts = self.rules.get(rule_id)
        if counts is None:
            counts = self.rules[rule_id] = RuleCounts()
        return counts


def write_status(status: ShardStatus) -> str:
    """Return a status as JSON."""
    return to_json(status).decode()


def read_status(text: str) -> ShardStatus:
    """Return the status that `write_status` wrote."""
    content = from_json(text)
    return ShardStatus(
        **content
        | {
            "counts": EventCounts(**content["counts"]),
            "rules": {rule: _rule_counts(counts) for rule, counts in content["rules"].items()},
            "stopped": [StoppedRule(**rule) for rule in content["stopped"]],
            "answers": [KeyAnswer.model_validate(each) for each in content["answers"]],
        }
    )


def _rule_counts(content: dict[str, Any]) -> RuleCounts:
    steps = {name: StepCounts(**counts) for name, counts in content["steps"].items()}
    spent = {int(from_ms): count for from_ms, count in content["spent"].items()}
    return RuleCounts(**content | {"steps": steps, "spent": spent})
