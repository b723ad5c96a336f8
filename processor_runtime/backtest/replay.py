"""History through the stages of a job, batch by batch, in one process and with one shard.

RuleSet, frame ──replayed──► rows and counts of each batch

The stages are those of a job, so the result is what a job would have emitted, if no event of
it had come late.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from processor_runtime.alerting.alert_decisions import (
    AlertRules,
    AlertState,
    BatchEnd,
    ListedRows,
    alerted,
)
from processor_runtime.rows.event_block import TIME
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.shard_status import EventCounts, ShardStatus
from processor_runtime.rules.rule_set import RuleSet
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS, BatchClock
from processor_runtime.stages.key_stage import KeyStage, KeyStageSettings
from processor_runtime.stages.shard_matcher import MatchSettings, ShardMatcher
from processor_runtime.state.memory import StateInMemory

_WANTED: Final = frozenset({"match", "error"})
_FEWEST_BATCHES: Final = 20
"""What is open is looked at after each."""
_MOST_BATCHES: Final = 200
_WORTH_A_BATCH: Final = 500
"""So many events take about as long as a batch by itself."""
_MOST_EVENTS: Final = 100_000


@dataclass(frozen=True, slots=True)
class ReplayedBatch:
    """What one batch has brought; `counts` are those of its events."""

    rows: list[OutputRow]
    status: ShardStatus
    counts: EventCounts


def replayed(
    rules: RuleSet,
    events: pl.DataFrame,
    *,
    closes_windows: bool,
    events_per_batch: int | None = None,
) -> Iterator[ReplayedBatch]:
    """Yield what rules find in events.

    `events`: as of `read_history`, in order. `closes_windows`: whether windows that are open after
    the last event are closed, as if no other ever came; else they are left open.
    `events_per_batch`: how many are read at once; what is found does not depend on it. `None` = as
    many as make 20 to 200 batches.
    """
    if events_per_batch is None:
        batches = min(max(len(events) // _WORTH_A_BATCH, _FEWEST_BATCHES), _MOST_BATCHES)
        events_per_batch = min(max(len(events) // batches, 1), _MOST_EVENTS)
    state = StateInMemory()
    alert_rules, alerts = _alert_rules(rules), AlertState()
    newest_ms = NO_WATERMARK_MS
    number = -1
    for number, batch in enumerate(events.iter_slices(events_per_batch)):
        # Events of equal time may be in two batches, and none of them is late.
        watermark_ms = newest_ms if newest_ms == NO_WATERMARK_MS else newest_ms - 1
        clock = BatchClock(number, 1, watermark_ms, round(time.time() * 1_000))
        found, alerts = _decided(_batch(rules, state, clock, batch), alert_rules, alerts, clock)
        yield found
        newest = batch.get_column(TIME).max()
        if newest is not None:
            newest_ms = int(newest)  # type: ignore[arg-type]
    clock = BatchClock(number + 1, 1, newest_ms, round(time.time() * 1_000), closes=closes_windows)
    found, _ = _decided(_batch(rules, state, clock, None), alert_rules, alerts, clock)
    yield found


def _alert_rules(rules: RuleSet) -> AlertRules:
    loaded = [rule for group in rules.groups.values() for rule in group.compiled.rules.values()]
    return AlertRules(
        {rule.id: rule.grouping for rule in loaded if rule.grouping is not None},
        {rule.id: rule.budget for rule in loaded if rule.budget is not None},
    )


def _decided(
    found: ReplayedBatch, rules: AlertRules, before: AlertState, clock: BatchClock
) -> tuple[ReplayedBatch, AlertState]:
    """Return a batch without the matches that do not go out, and what is known after it."""
    rows = ListedRows(found.rows)
    end = BatchEnd(clock.epoch, clock.complete_ms, clock.closes)
    told = alerted(rows, [found.status], rules, before, end)
    wanted = [row for row in rows.rows if row.kind in _WANTED]
    return replace(found, rows=wanted), told.state


def _batch(
    rules: RuleSet, state: StateInMemory, clock: BatchClock, events: pl.DataFrame | None
) -> ReplayedBatch:
    rows: list[OutputRow] = []
    stage = KeyStage(rules, KeyStageSettings(1, _WANTED), clock)
    blocks = [] if events is None else [block for _, block in stage.blocks(events, 0)]
    for chunk in stage.rows.rest():
        rows += chunk
    matcher = ShardMatcher(0, rules, state, clock, MatchSettings(_WANTED))
    for chunk in matcher.match(blocks):
        rows += chunk
    return ReplayedBatch(rows, matcher.status, stage.counts)
