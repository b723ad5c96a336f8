"""The first stage: fans events out per key selector and keeps only those that can matter.

    events ──tests, columnar──► rows that concern a rule ──key──► blocks by shard ──► shuffle

Stateless. Every distinct test of every rule is evaluated once per batch of rows, and an event goes
on only to selectors with a rule that can react to it. Late events, malformed ones, and those
without a usable time leave the stream here, as rows of output that travel along.

Source: FLIP-200, "key-generating operator".
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from cep.expression import EvaluationError, working_parts
from processor_runtime.output.events.unusable_events import (
    FUTURE,
    MALFORMED,
    PLACE,
    late_rows,
    unusable,
    unusable_rows,
    why_unusable,
)
from processor_runtime.output.row_chunks import RowChunks
from processor_runtime.rows.event_block import TIME, Arrival, EventBlock, encode_events
from processor_runtime.rows.key_hashing import key_bytes, key_hash, key_hashes, shard_of
from processor_runtime.rows.shard_status import EventCounts
from processor_runtime.rules.compiled_group import CompiledGroup
from processor_runtime.rules.rule_set import RuleSet, SelectorGroup
from processor_runtime.schedule.batch_clock import BatchClock

TICK: Final = "_tick"
"""Column that is not 0 where a row is no event, but lets time go on without one."""


@dataclass(frozen=True, slots=True)
class KeyStageSettings:
    """How the first stage works.

    `shards` is how many shards keys are spread over. `by_clock` is whether events have the time at
    which they are read, so that none is late. `wanted` are the kinds of rows some output
    takes; others are counted only. `filters` may be switched off to send every event to every
    selector.
    """

    shards: int
    wanted: frozenset[str] = frozenset({"late", "error"})
    filters: bool = True
    by_clock: bool = False


@dataclass(slots=True)
class KeyStage:
    """The first stage for one partition of one micro-batch.

    `source`: which of several sources the events are of; empty if there is one only.
    """

    rules: RuleSet
    settings: KeyStageSettings
    clock: BatchClock
    counts: EventCounts = field(default_factory=EventCounts)
    rows: RowChunks = field(default_factory=RowChunks)
    has_tick: bool = False
    source: str = ""

    def blocks(self, events: pl.DataFrame, position: int) -> Iterator[tuple[int, EventBlock]]:
        """Yield the blocks of some events with their shards; other rows collect in `rows`.

        Args:
            events: columns `TIME` (integer milliseconds, null if the event has none), `MALFORMED`,
                `FUTURE`, perhaps `PLACE`, and those of the stream.
            position: where in the batch they are, rising along the partition.
        """
        if TICK in events.columns:
            given = len(events)
            events = events.filter(pl.col(TICK) == 0).drop(TICK)
            self.has_tick |= len(events) < given
        self.counts.events += len(events)
        usable = self._on_time(self._usable(events)).drop(PLACE, strict=False)
        if not len(usable):
            return
        newest_ms = int(usable.get_column(TIME).max())  # type: ignore[arg-type]
        by_source = {self.source: newest_ms} if self.source else {}
        self.counts.add(EventCounts(newest_ms=newest_ms, by_source=by_source))
        arrival = Arrival(self.clock.batch_id, position)
        for group in self.rules.groups.values():
            relevant = self._relevant(group, usable)
            if len(relevant):
                for shard, part in self._by_shard(group.compiled, relevant):
                    yield shard, encode_events(group.compiled.id, arrival, part)

    @property
    def calls_every_shard(self) -> bool:
        """Whether shards without an event are called as well, because time may go on for them.

        What other partitions read, and other sources, is not known here.
        """
        if self.clock.watermark_after(self.counts.newest_ms) > self.clock.watermark_ms:
            return True
        return self.has_tick and self.clock.calls_every_shard

    def _usable(self, events: pl.DataFrame) -> pl.DataFrame:
        is_unusable = unusable(events)
        plain = events.drop(MALFORMED, FUTURE)
        if is_unusable is None:
            return plain
        bad = events.filter(is_unusable)
        time_column = self.rules.stream.event_time_column
        self.counts.add(
            EventCounts(malformed=len(bad), why_malformed=why_unusable(bad, time_column))
        )
        if "error" in self.settings.wanted:
            self.rows.add(unusable_rows(bad, time_column))
        return plain.filter(~is_unusable)

    def _on_time(self, events: pl.DataFrame) -> pl.DataFrame:
        watermark_ms = self.clock.watermark_ms
        if self.settings.by_clock:
            # A clock that was set back stands still until it has caught up.
            return events.with_columns(pl.col(TIME).clip(pl.lit(watermark_ms + 1, pl.Int64)))
        late = events.filter(pl.col(TIME) <= watermark_ms)
        if not len(late):
            return events
        self.counts.late += len(late)
        if "late" in self.settings.wanted:
            self.rows.add(late_rows(late))
        return events.filter(pl.col(TIME) > watermark_ms)

    def _relevant(self, group: SelectorGroup, events: pl.DataFrame) -> pl.DataFrame:
        if not self.settings.filters:
            return events
        times = events.get_column(TIME)
        first = group.phases.at(int(times.min()))  # type: ignore[arg-type]
        last = group.phases.at(int(times.max()))  # type: ignore[arg-type]
        if first == last:
            return self._relevant_in(group, first, events)
        parts = []
        numbered = events.with_row_index("_row")
        for number in range(first, last + 1):
            phase = group.phases[number]
            # Up to the last millisecond of the phase: the end of time itself would overflow.
            inside = pl.col(TIME).is_between(phase.from_ms, phase.until_ms - 1)
            parts.append(self._relevant_in(group, number, numbered.filter(inside)))
        return pl.concat(parts).sort("_row").drop("_row")

    def _relevant_in(self, group: SelectorGroup, phase: int, events: pl.DataFrame) -> pl.DataFrame:
        try:
            rows = group.arriving_rows(phase, events)
        except EvaluationError:
            # The second stage finds out whose fault it is, and quarantines it.
            return events
        return events if len(rows) == len(events) else events[rows]

    def _by_shard(
        self, group: CompiledGroup, events: pl.DataFrame
    ) -> Iterator[tuple[int, pl.DataFrame]]:
        if not group.is_keyed:
            yield shard_of(key_hash(group.id, key_bytes(())), self.settings.shards), events
            return
        try:
            shards = self._shards(group, events)
        except EvaluationError:
            parts = working_parts(events, group.keys)
            shards = pl.concat([self._shards_of_part(group, *part) for part in parts])
        for (shard,), part in events.with_columns(shards).group_by("_shard", maintain_order=True):
            yield int(str(shard)), part.drop("_shard")

    def _shards(self, group: CompiledGroup, events: pl.DataFrame) -> pl.Series:
        """Return the shard of each event."""
        return key_shards(group.id, group.keys(events), self.settings.shards)

    def _shards_of_part(
        self, group: CompiledGroup, events: pl.DataFrame, failure: EvaluationError | None
    ) -> pl.Series:
        """Return the shards of a part; one shard quarantines the rules for all of them."""
        if failure is None:
            return self._shards(group, events)
        shard = shard_of(key_hash(group.id, key_bytes(())), self.settings.shards)
        return pl.repeat(shard, len(events), dtype=pl.Int32, eager=True).alias("_shard")


def key_shards(group: str, keys: pl.DataFrame, shards: int) -> pl.Series:
    """Return the shard of each event, as column `_shard`.

    `keys`: the key of each event, a column for each part.

    Raises:
        StateEncodingError: a value is of a type that has no encoding.
    """
    distinct = keys.unique()
    hashes = key_hashes(group, map(key_bytes, distinct.iter_rows()))
    by_key = distinct.with_columns(pl.Series("_shard", shard_of(hashes, shards), dtype=pl.Int32))
    found = keys.join(by_key, on=keys.columns, how="left", nulls_equal=True, maintain_order="left")
    return found.get_column("_shard")
