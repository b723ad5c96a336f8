"""History through the stages of a job, batch by batch, in one process and with one shard.

RuleSet, frame ──replayed──► rows and counts of each batch

The stages are those of a job, so what is found is what a job would have given out, if no event of
it had come late.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from processor_runtime.rows.event_block import TIME
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rules.rule_set import RuleSet
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS, BatchClock
from processor_runtime.stages.key_stage import EventCounts, KeyStage, KeyStageSettings
from processor_runtime.stages.shard_matcher import MatchSettings, ShardMatcher
from processor_runtime.stages.shard_status import ShardStatus
from processor_runtime.state.memory import StateInMemory

_WANTED: Final = frozenset({"match", "error"})
_BATCHES: Final = 200
"""So many batches, as far as their size allows: what is open is looked at after each."""
_FEWEST_EVENTS: Final = 1
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

    Args:
        rules: the rules.
        events: as of `read_history`, in order.
        closes_windows: whether windows that are open after the last event are closed, as if no
            other ever came; else they are left open.
        events_per_batch: how many are read at once; what is found does not depend on it. `None` =
            as many as make some 200 batches.
    """
    if events_per_batch is None:
        events_per_batch = min(max(len(events) // _BATCHES, _FEWEST_EVENTS), _MOST_EVENTS)
    state = StateInMemory()
    columns = [name for name, _ in rules.schema.columns]
    extra = [name for name in events.columns if name not in {TIME, *columns}]
    newest_ms = NO_WATERMARK_MS
    begin = 0
    number = 0
    while begin < len(events):
        batch = events.slice(begin, events_per_batch)
        begin += len(batch)
        # Events of equal time may be in two batches, and none of them is late.
        watermark_ms = newest_ms if newest_ms == NO_WATERMARK_MS else newest_ms - 1
        clock = BatchClock(number, 1, watermark_ms, round(time.time() * 1_000))
        yield _batch(rules, state, clock, batch.select(TIME, *columns, *extra))
        newest = batch.get_column(TIME).max()
        if newest is not None:
            newest_ms = int(newest)  # type: ignore[arg-type]
        number += 1
    clock = BatchClock(number, 1, newest_ms, round(time.time() * 1_000), closes=closes_windows)
    yield _batch(rules, state, clock, None)


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
