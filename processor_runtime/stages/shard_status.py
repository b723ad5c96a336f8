"""What one shard reports to the driver after a batch: counts, sizes, and failed rules.

shard matcher ──► ShardStatus ──JSON──► driver ──► heartbeats, quarantine in the next timeline
"""

from dataclasses import asdict, dataclass, field

from pydantic_core import from_json, to_json

from processor_runtime.stages.key_stage import EventCounts
from processor_runtime.state.group_header import StoppedRule


@dataclass(slots=True)
class RuleCounts:
    """Counts of one rule in one batch. `last_match_ms` is the event time of its newest match.

    `shadow` are finds that do not count, of a version that is tried or whose share of the keys
    another has, and `suppressed` are matches that do not go out; they are in no other number.
    `left_out` are matches and timeouts not output because of a limit, `dropped` open partial
    matches given up where the rule ended.
    """

    events: int = 0
    matches: int = 0
    timeouts: int = 0
    errors: int = 0
    left_out: int = 0
    dropped: int = 0
    shadow: int = 0
    suppressed: int = 0
    last_match_ms: int | None = None


@dataclass(slots=True)
class ShardStatus:
    """One batch of one shard.

    `counts` are the event counts sent by the key stage. `rules` has the counts of this batch and
    `partial_matches` the number open now, both by rule; `stopped` has the rules that have failed in
    this shard, except those that the timeline has removed since. `row_kinds` counts rows of output.
    """

    shard: int
    counts: EventCounts = field(default_factory=EventCounts)
    rules: dict[str, RuleCounts] = field(default_factory=dict)
    partial_matches: dict[str, int] = field(default_factory=dict)
    stopped: list[StoppedRule] = field(default_factory=list)
    row_kinds: dict[str, int] = field(default_factory=dict)
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
    return to_json(asdict(status)).decode()


def read_status(text: str) -> ShardStatus:
    """Return the status that `write_status` wrote."""
    content = from_json(text)
    return ShardStatus(
        **content
        | {
            "counts": EventCounts(**content["counts"]),
            "rules": {rule: RuleCounts(**counts) for rule, counts in content["rules"].items()},
            "stopped": [StoppedRule(**rule) for rule in content["stopped"]],
        }
    )
