"""What one rule has found in history, added up batch by batch.

ReplayedBatch ──Findings.add──► RuleFindings by rule: matches by hour, keys, samples, peaks
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cep.definition.keys import key_text
from processor_runtime.backtest.replay import ReplayedBatch
from processor_runtime.rows.match_identity import match_identity
from processor_runtime.rows.output_rows import OutputRow

HOUR_MS: Final = 3_600_000
_SAMPLES: Final = 5
_MOST_NAMED: Final = 2_000_000
"""How many matches of a rule are compared one by one."""


@dataclass(frozen=True, slots=True)
class FoundMatch:
    """One match: its key as people write it, its times, output and events by step."""

    identity: str
    match_id: str
    key_text: str
    start_ms: int
    end_ms: int
    output: Any
    events: Mapping[str, list[dict[str, Any]]]


@dataclass(slots=True)
class RuleFindings:
    """What one rule has found.

    `undecided` counts absences whose windows were open after the last event: later events could
    have undone them, so that they are no `matches`. `by_hour` counts matches by the beginning of
    the hour in which they were found, `peak` is how many partial matches were open at once at the
    end of a batch. `named` has the place in time of each match by its identity, of the first two
    million; all before `named_before_ms` are there.
    """

    rule: str
    events: int = 0
    matches: int = 0
    undecided: int = 0
    timeouts: int = 0
    suppressed: int = 0
    grouped: int = 0
    left_out: int = 0
    open_at_the_end: int = 0
    peak: int = 0
    error: str = ""
    by_hour: Counter[int] = field(default_factory=Counter)
    by_key: Counter[str] = field(default_factory=Counter)
    samples: list[FoundMatch] = field(default_factory=list)
    named: dict[str, tuple[str, int]] = field(default_factory=dict)
    named_before_ms: int | None = None


@dataclass(slots=True)
class Findings:
    """What all rules have found, and what was not usable.

    `peak_state_bytes` is the largest state after a batch.
    """

    rules: dict[str, RuleFindings]
    events: int = 0
    unusable: int = 0
    newest_ms: int | None = None
    peak_state_bytes: int = 0

    def add(self, batch: ReplayedBatch) -> Iterator[tuple[RuleFindings, FoundMatch]]:
        """Count a batch; yield its matches that no later event can undo."""
        self.events += batch.counts.events
        self.unusable += batch.counts.malformed
        if batch.counts.newest_ms is not None:
            self.newest_ms = batch.counts.newest_ms
        status = batch.status
        self.peak_state_bytes = max(self.peak_state_bytes, status.state_bytes)
        for rule_id, counts in status.rules.items():
            found = self._of(rule_id)
            found.events += counts.events
            found.matches += counts.matches
            found.timeouts += counts.timeouts
            found.suppressed += counts.suppressed
            found.grouped += counts.grouped
            found.left_out += counts.left_out
        for each in self.rules.values():
            each.open_at_the_end = 0
        for rule_id, count in status.partial_matches.items():
            found = self._of(rule_id)
            found.open_at_the_end = count
            found.peak = max(found.peak, count)
        for stopped in status.stopped:
            found = self._of(stopped.rule_id)
            found.error = found.error or stopped.reason
        for row in batch.rows:
            if row.kind == "match" and row.processor_id is not None:
                found = self.rules[row.processor_id]
                match = _match(row)
                if self.newest_ms is not None and match.end_ms > self.newest_ms:
                    found.matches -= 1
                    found.undecided += 1
                    continue
                _note(found, match)
                yield found, match

    def _of(self, rule_id: str) -> RuleFindings:
        return self.rules[rule_id.rsplit("@", 2)[0]]


def _match(row: OutputRow) -> FoundMatch:
    events = json.loads(row.events or "{}")
    return FoundMatch(
        match_identity(row.processor_id, row.key, events),
        row.match_id or "",
        text_of_key(row.key or "[]"),
        row.start_ms or 0,
        row.end_ms or 0,
        None if row.output is None else json.loads(row.output),
        events,
    )


def text_of_key(written: str) -> str:
    """Return a key as people write it, from JSON as rows have it."""
    return key_text(json.loads(written))


def _note(found: RuleFindings, match: FoundMatch) -> None:
    found.by_hour[match.end_ms - match.end_ms % HOUR_MS] += 1
    found.by_key[match.key_text] += 1
    if len(found.samples) < _SAMPLES:
        found.samples.append(match)
    if len(found.named) < _MOST_NAMED:
        found.named.setdefault(match.identity, (match.key_text, match.end_ms))
    elif match.identity not in found.named:
        before_ms = found.named_before_ms
        found.named_before_ms = match.end_ms if before_ms is None else min(before_ms, match.end_ms)
