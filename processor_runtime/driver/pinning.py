"""Pins one epoch to each micro-batch, before any of it runs; a batch that runs again gets the same.

    newest snapshot + watermark ──timeline──► BatchPins.pin(batch) ──► record in the checkpoint

Everything a batch depends on beside its events is in the record and the files it names, so that a
replay after a crash sees what the first try saw, and a job restarts without its rule source.

Source: FLIP-200, "Processors and partial matches are restored after a failure".
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from contract.snapshot import Snapshot, StreamDefinition, read_snapshot, snapshot_json
from processor_runtime.driver.batch_record import (
    RECORDS_KEPT,
    BatchRecord,
    BatchRecords,
    content_name,
)
from processor_runtime.driver.checked_files import Files
from processor_runtime.driver.list_files import ListContent, keep_lists, no_content, types_of_lists
from processor_runtime.driver.offset_log import BatchStart
from processor_runtime.driver.silence import Silence
from processor_runtime.driver.source_times import KeptSourceTimes, SourceTimes
from processor_runtime.rows.shard_status import EventCounts, ShardStatus
from processor_runtime.rules.code_trial import FindUnfit, unfit_here
from processor_runtime.rules.loading import RuleDefaults
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS, BatchClock
from processor_runtime.schedule.interval import END_MS, Interval
from processor_runtime.schedule.pruning import without_ended
from processor_runtime.schedule.timeline import (
    Quarantine,
    Timeline,
    VersionKey,
    resolve,
    without_versions,
)
from processor_runtime.schedule.timeline_document import read_timeline, write_timeline

_log = logging.getLogger("percept.job")


@dataclass(frozen=True, slots=True)
class Pin:
    """What a batch runs with: its record, the rules, and their document for the workers.

    The watermark of the next batch will be `watermark_delay_ms` behind the newest event.
    `calls_every_shard` is whether shards have something to do that Spark knows nothing of. While
    event time follows the clock, `silent_since_ms` is since when the sources are silent.
    `idle_since_ms` has of each of several sources since when it is idle, `None` if it is not.
    """

    record: BatchRecord
    timeline: Timeline
    document: bytes
    watermark_delay_ms: int
    calls_every_shard: bool = False
    silent_since_ms: int | None = None
    idle_since_ms: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def clock(self) -> BatchClock:
        """The time of the batch, as its tasks get it."""
        return replace(
            self.record.clock,
            calls_every_shard=self.calls_every_shard,
            watermark_delay_ms=self.watermark_delay_ms,
        )

    def clock_after(self, statuses: Iterable[ShardStatus]) -> BatchClock:
        """Return the time of the batch once shards have reported what they know of it."""
        read = EventCounts()
        for status in statuses:
            read.add(status.counts)
        return self.clock.having_read(read.newest_ms, read.by_source)


class BatchPins:
    """The pins of one job, batch after batch; goes on where the checkpoint left off.

    `stream`: what the events look like that the query reads. `watermark_delay_ms`: how far the
    watermark is behind the newest event; 0 by processing time, as no event comes later than those
    of its batch. `idle_after_ms`: event time follows the clock once the source has been silent for
    so long; `None` = never. `closes`: whether new batches close everything that is open at the end
    of them. `list_content`: returns the content of a list of the newest snapshot, by its digest.
    `sources`: the names of several sources, the least of which is the time of the job; empty if
    there is one, whose time Spark's watermark tells.
    """

    def __init__(  # noqa: PLR0913 - the settings of a job's time, by name
        self,
        files: Files,
        defaults: RuleDefaults,
        stream: StreamDefinition,
        watermark_delay_ms: int,
        *,
        idle_after_ms: int | None = None,
        closes: bool = False,
        unfit: FindUnfit = unfit_here,
        list_content: ListContent = no_content,
        sources: Sequence[str] = (),
    ) -> None:
        self._records = BatchRecords(files)
        self._defaults = defaults
        self._stream = stream
        self._delay_ms = watermark_delay_ms
        self._silence = Silence(idle_after_ms)
        self._closes = closes
        self._unfit = unfit
        self._list_content = list_content
        self._sources = tuple(sources)
        self._times = KeptSourceTimes(files)
        self._timeline = Timeline()
        self._document = b""
        self._is_of_stream = False
        self._snapshot: Snapshot | None = None
        self._last: BatchRecord | None = None
        self._failures: list[Quarantine] = []
        self._newest_ms: int | None = None
        self._idle: frozenset[str] = frozenset()
        newest = self._records.newest()
        if newest is not None:
            self._restore(newest)

    @property
    def snapshot(self) -> Snapshot | None:
        """What the newest batch ran with; `None` in a new checkpoint."""
        return self._snapshot

    @property
    def record(self) -> BatchRecord | None:
        """What was pinned for the newest batch; `None` in a new checkpoint."""
        return self._last

    @property
    def timeline(self) -> Timeline:
        """The timeline of the newest batch."""
        return self._timeline

    def has(self, batch_id: int) -> bool:
        """Whether a batch was pinned before: it has begun, and was perhaps not done."""
        return self._records.of_batch(batch_id) is not None

    def content(self, name: str) -> bytes:
        """Return the content of a file that the record of a batch names.

        Raises:
            CheckpointDamaged: it is missing.
        """
        return self._records.read_content(name)

    def keep(self, pin: Pin, statuses: Sequence[ShardStatus]) -> Mapping[str, int]:
        """Keep how far each of several sources has come with a batch, before the batch is done.

        Returns the newest event time of each that has given some.
        """
        if not self._sources:
            return {}
        clock, read = pin.clock_after(statuses), EventCounts()
        for status in statuses:
            read.add(status.counts)
        times = self._times.before(pin.record.batch_id).after(clock, read.by_source)
        self._times.keep(pin.record.batch_id, times)
        return times.newest_ms

    def learn(
        self, newest_ms: int | None, failures: Iterable[Quarantine], idle_rules: Iterable[str]
    ) -> None:
        """Take the reports of the newest batch; they count from the next batch on.

        `newest_ms`: the newest event time that was read in it. `idle_rules`: rules without partial
        matches in any shard.
        """
        if newest_ms is not None:
            self._newest_ms = max(newest_ms, self._newest_ms or newest_ms)
        known = {(item.processor_id, item.version, item.digest) for item in self._all_failures()}
        for failure in failures:
            if (failure.processor_id, failure.version, failure.digest) not in known:
                self._failures.append(failure)
        self._idle = frozenset(idle_rules)

    def pin(
        self, start: BatchStart, newest: Snapshot, left_out: Collection[VersionKey] = ()
    ) -> Pin:
        """Return what a batch runs with; the same for every try of the same batch.

        `newest`: the newest snapshot; not looked at if the batch has run before. `left_out`:
        versions that this try is to run without; the record does not tell.
        """
        pinned = self._records.of_batch(start.batch_id)
        if pinned is not None:
            self._restore(pinned)
        else:
            self._decide(start, newest)
        if self._last is None:
            raise AssertionError("a batch has just been pinned")
        is_ahead = self._last.watermark_ms > self._matched_ms(start)
        pin = Pin(
            self._last,
            self._timeline,
            self._document,
            self._delay_ms,
            calls_every_shard=is_ahead or self._last.closes,
            silent_since_ms=self._silence.since_ms,
            idle_since_ms={
                name: self._silence.idle_since_ms(number)
                for number, name in enumerate(self._sources)
            },
        )
        return self._trial(pin, left_out) if left_out else pin

    def _trial(self, pin: Pin, left_out: Collection[VersionKey]) -> Pin:
        timeline = without_versions(pin.timeline, left_out)
        document = write_timeline(timeline, self._stream)
        record = replace(pin.record, timeline=content_name("timeline", document))
        return replace(pin, record=record, timeline=timeline, document=document)

    def _all_failures(self) -> list[Quarantine]:
        return [*self._timeline.quarantined, *self._failures]

    def _decide(self, start: BatchStart, newest: Snapshot) -> None:
        processed_ms = NO_WATERMARK_MS if self._last is None else self._last.watermark_ms
        watermark_ms, newest_ms, sources_ms = self._event_time(start)
        timeline = without_ended(self._timeline, processed_ms, self._idle)
        is_new = newest is not self._snapshot and newest != self._snapshot
        is_amended = self._last is not None and self._last.revision > 0
        if is_new or self._failures or is_amended:
            failures = [*self._failures, *self._refused(newest, newest_ms)]
            timeline = resolve(timeline, newest, newest_ms, processed_ms, failures)
            self._failures = []
        snapshot_name = self._last.snapshot if self._last is not None else ""
        if is_new:
            snapshot_name = self._records.keep("snapshot", snapshot_json(newest))
        timeline_name = self._last.timeline if self._last is not None else ""
        if is_new or timeline != self._timeline or not self._is_of_stream:
            self._document = write_timeline(timeline, self._stream)
            self._is_of_stream = True
            timeline_name = self._records.keep("timeline", self._document)
        kept_lists = () if self._last is None else self._last.lists
        record = BatchRecord(
            start.batch_id,
            newest.epoch,
            watermark_ms,
            newest_ms,
            start.processing_time_ms,
            timeline_name,
            snapshot_name,
            self._closes,
            lists=keep_lists(self._records, timeline, kept_lists, self._list_content),
            sources_ms=sources_ms,
        )
        self._records.write(record)
        self._last, self._timeline, self._snapshot = record, timeline, newest
        self._newest_ms = newest_ms
        if start.batch_id % RECORDS_KEPT == 0:
            self._records.forget_before(start.batch_id - RECORDS_KEPT)

    def _matched_ms(self, start: BatchStart) -> int:
        """Return up to when the batch before has matched events: the least watermark of a batch."""
        if not self._sources:
            return start.watermark_ms
        return self._times.before(start.batch_id).complete_ms

    def _event_time(self, start: BatchStart) -> tuple[int, int | None, dict[str, int | None]]:
        """Return the watermark of a new batch, and the newest event time before it.

        The newest is that of all sources, and, if there are several, of each that is not idle. Both
        come from the events read, or from the clock while there are none; neither goes back.
        """
        newest_ms = self._newest_event_ms(start.watermark_ms)
        watermark_ms = self._matched_ms(start)
        clock_ms = self._silence.event_time_ms(start)
        idle = {self._sources[number] for number in self._silence.idle if self._sources}
        times = self._times.before(start.batch_id) if self._sources else SourceTimes()
        sources_ms = times.waited_for(self._sources, idle) if self._sources else {}
        if sources_ms:
            clock = BatchClock(start.batch_id, 0, watermark_ms, start.processing_time_ms)
            clock = replace(clock, watermark_delay_ms=self._delay_ms, sources_ms=sources_ms)
            watermark_ms = clock.complete_ms
        if self._last is not None:
            watermark_ms = max(watermark_ms, self._last.watermark_ms)
            if self._last.closes and newest_ms is not None:
                watermark_ms = max(watermark_ms, newest_ms)
        if not self._delay_ms and self._newest_ms is not None:
            # By processing time. Spark's watermark stands still if the clock has been set back.
            watermark_ms = max(watermark_ms, self._newest_ms)
        if clock_ms is not None:
            newest_ms = clock_ms if newest_ms is None else max(newest_ms, clock_ms)
            watermark_ms = max(watermark_ms, clock_ms - self._delay_ms)
        return watermark_ms, newest_ms, sources_ms

    def _newest_event_ms(self, watermark_ms: int) -> int | None:
        """Return the newest event time read so far: Spark's watermark gives it exactly."""
        if watermark_ms == NO_WATERMARK_MS:
            return self._newest_ms
        told_ms = watermark_ms + self._delay_ms
        return told_ms if self._newest_ms is None else max(told_ms, self._newest_ms)

    def _refused(self, newest: Snapshot, newest_ms: int | None) -> list[Quarantine]:
        """Return the versions that cannot run at all, of those not checked before."""
        known = {
            (processor_id, version.version): version.definition
            for processor_id, version in (self._snapshot.versions if self._snapshot else ())
        }
        is_anew = self._snapshot is not None and (
            types_of_lists(newest) != types_of_lists(self._snapshot)
        )

        unknown = {
            (processor_id, version.version)
            for processor_id, version in newest.versions
            if is_anew or known.get((processor_id, version.version)) != version.definition
        }
        # Of ten thousand rules one has changed.
        changed = {processor_id for processor_id, _ in unknown}
        processors = [each for each in newest.processors if each.id in changed]
        rollouts = [each for each in newest.rollouts if each.id in changed]
        of_changed = newest.model_copy(update={"processors": processors, "rollouts": rollouts})
        published = resolve(Timeline(), of_changed, None)
        unchecked = [
            interval
            for interval in published.intervals
            if (interval.processor_id, interval.version) in unknown
        ]
        since_ms = END_MS if newest_ms is None else newest_ms + 1
        unfit = self._unfit(unchecked, self._stream, self._defaults, published.lists)
        for interval, reason in unfit:
            _log.warning(
                "rule %s, version %d cannot run: %s",
                interval.processor_id,
                interval.version,
                reason,
            )
        return [_quarantine(interval, reason, since_ms) for interval, reason in unfit]

    def _restore(self, record: BatchRecord) -> None:
        if self._last is not None and record.timeline == self._last.timeline:
            self._last = record
        else:
            self._document = self._records.read_content(record.timeline)
            self._timeline, stream = read_timeline(self._document)
            self._is_of_stream = stream == self._stream
            self._snapshot = read_snapshot(self._records.read_content(record.snapshot))
            self._last = record
        self._newest_ms = record.newest_ms


def _quarantine(interval: Interval, reason: str, since_ms: int) -> Quarantine:
    return Quarantine(interval.processor_id, interval.version, interval.digest, reason, since_ms)


def failed_versions(timeline: Timeline, statuses: Iterable[ShardStatus]) -> list[Quarantine]:
    """Return the quarantines that failures in shards call for."""
    intervals = {interval.rule_id: interval for interval in timeline.intervals}
    return [
        Quarantine(
            intervals[rule.rule_id].processor_id,
            intervals[rule.rule_id].version,
            intervals[rule.rule_id].digest,
            rule.reason,
            rule.since_ms,
            rule.traceback,
        )
        for status in statuses
        for rule in status.stopped
        if rule.rule_id in intervals
    ]
