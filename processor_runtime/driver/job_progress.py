"""Adds up what shards tell after each batch, to what the job reports of itself.

ShardStatus of every shard that ran ──► JobProgress ──► JobStatus, failures, idle rules
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from contract.reports import FailedAt, RunningState, TimeMode
from processor_runtime.driver.batch_record import BatchRecord
from processor_runtime.driver.job_status import JobStatus, SourceStatus, Totals, VersionStatus
from processor_runtime.driver.pinning import Pin
from processor_runtime.rows.shard_status import EventCounts, RuleCounts, ShardStatus
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS, BatchClock
from processor_runtime.schedule.interval import BEGINNING_MS, END_MS, Interval
from processor_runtime.schedule.timeline import Timeline
from processor_runtime.stages.asked_keys import merge_answers

VersionOf = tuple[str, int]
"""A processor and the number of its version."""


@dataclass(frozen=True, slots=True)
class _Size:
    """What a shard held after its newest batch, and what ran in Python there."""

    partial_matches: dict[str, int]
    state_bytes: int
    interpreted_reasons: dict[str, str]


@dataclass(slots=True)
class JobProgress:
    """The totals of one start of a job.

    `time_mode`: what makes the time of the job go on. `throttled_until_ms`: the event time until
    which processors are throttled, by id. `sources_ms`: the newest event time of each of several
    sources that has given some. `failed_at`: where versions failed that are quarantined, as far as
    it is known.
    """

    shards: int
    time_mode: TimeMode | None = None
    newest_ms: int | None = None
    throttled_until_ms: Mapping[str, int] = field(default_factory=dict)
    sources_ms: Mapping[str, int] = field(default_factory=dict)
    failed_at: Mapping[VersionOf, FailedAt] = field(default_factory=dict)
    _counts: EventCounts = field(default_factory=EventCounts)
    _rules: dict[VersionOf, RuleCounts] = field(default_factory=dict)
    _sizes: dict[int, _Size] = field(default_factory=dict)

    def add(
        self,
        pin: Pin,
        statuses: Sequence[ShardStatus],
        duration_ms: int,
        backlog_events: int | None = None,
    ) -> JobStatus:
        """Count a batch and return the status of the job after it.

        `statuses`: one of each shard that was called.
        """
        counts = EventCounts(newest_ms=pin.record.newest_ms)
        for status in statuses:
            counts.add(status.counts)
            self._sizes[status.shard] = _Size(
                status.partial_matches, status.state_bytes, status.interpreted_reasons
            )
            for rule_id, rule_counts in status.rules.items():
                self._count(_version_of(rule_id), rule_counts)
        rate = counts.events * 1_000 / max(duration_ms, 1)
        return replace(
            self._status_after(pin.clock_after(statuses), pin.timeline, counts),
            events_per_second=rate,
            batch_duration_ms=duration_ms,
            backlog_events=backlog_events,
            sources=tuple(
                SourceStatus(name, self.sources_ms.get(name), idle_since_ms)
                for name, idle_since_ms in pin.idle_since_ms.items()
            ),
            answers=tuple(merge_answers(each for status in statuses for each in status.answers)),
        )

    def add_unfit(self, files: int) -> None:
        """Count error rows about files as a whole, which no shard knows of."""
        self._counts.malformed += files

    def resumed(self, record: BatchRecord, timeline: Timeline) -> JobStatus:
        """Return the status of a job that continues after a batch of an earlier start, or with it.

        `timeline`: the rules it ran with. The shards report what they hold as they run.
        """
        return self._status_after(record.clock, timeline, EventCounts(newest_ms=record.newest_ms))

    def _status_after(
        self, clock: BatchClock, timeline: Timeline, counts: EventCounts
    ) -> JobStatus:
        self._counts.add(counts)
        self.newest_ms = self._counts.newest_ms
        is_known = clock.complete_ms != NO_WATERMARK_MS
        return JobStatus(
            epoch=clock.epoch,
            batch_id=clock.batch_id,
            watermark_ms=clock.complete_ms if is_known else None,
            newest_event_ms=self.newest_ms,
            time_mode=self.time_mode,
            totals=self._totals(),
            partial_matches=sum(
                sum(size.partial_matches.values()) for size in self._sizes.values()
            ),
            state_bytes=sum(size.state_bytes for size in self._sizes.values()),
            versions=tuple(self._versions(timeline)),
        )

    def idle_rules(self, timeline: Timeline) -> list[str]:
        """Return the rules without partial matches in any shard, as far as all have reported."""
        if len(self._sizes) < self.shards:
            return []
        busy = {rule_id for size in self._sizes.values() for rule_id in size.partial_matches}
        return [item.rule_id for item in timeline.intervals if item.rule_id not in busy]

    def _count(self, version: VersionOf, counts: RuleCounts) -> None:
        total = self._rules.setdefault(version, RuleCounts())
        total.add(counts)
        if counts.last_match_ms is not None:
            total.last_match_ms = max(counts.last_match_ms, total.last_match_ms or BEGINNING_MS)

    def _totals(self) -> Totals:
        sums = Counter(errors=self._counts.malformed)
        for counts in self._rules.values():
            sums.update(counts.sums)
        # An event may be of several rules, or of none.
        sums["events"] = self._counts.events
        return Totals(
            **sums,
            late=self._counts.late,
            malformed=self._counts.malformed,
            why_malformed=self._counts.why_malformed,
        )

    def _versions(self, timeline: Timeline) -> Iterable[VersionStatus]:
        open_now, state_bytes = self._held_by_version()
        reasons = {
            _version_of(rule_id): reason
            for size in self._sizes.values()
            for rule_id, reason in size.interpreted_reasons.items()
        }
        found: dict[VersionOf, VersionStatus] = {}
        for interval in timeline.intervals:
            state = _state(interval, self.newest_ms)
            if state is not None:
                key = (interval.processor_id, interval.version)
                found[key] = self._counted(
                    key,
                    state,
                    **self._activity(interval),
                    partial_matches=open_now[key],
                    state_bytes=state_bytes[key],
                    interpreted_reason=reasons.get(key, ""),
                )
        for key in timeline.paused:
            found[key] = self._counted(key, "paused")
        for item in timeline.quarantined:
            key = (item.processor_id, item.version)
            found[key] = self._counted(
                key,
                "quarantined",
                error=item.reason,
                traceback=item.traceback,
                failed_at=self.failed_at.get(key),
            )
        # What came before its end is counted until the watermark has passed it.
        for key in self._rules.keys() - found.keys():
            last_match_ms = self._rules[key].last_match_ms
            found[key] = self._counted(key, "superseded", last_match_ms=last_match_ms)
        return found.values()

    def _held_by_version(self) -> tuple[Counter[VersionOf], Counter[VersionOf]]:
        """Return open partial matches by version, and its share by them of the shards' bytes.

        Rules of one shape hold their events and partial matches together, so that none has bytes of
        its own.
        """
        open_now, state_bytes = Counter[VersionOf](), Counter[VersionOf]()
        for size in self._sizes.values():
            everything = sum(size.partial_matches.values())
            for rule_id, count in size.partial_matches.items():
                version = _version_of(rule_id)
                open_now[version] += count
                state_bytes[version] += size.state_bytes * count // everything
        return open_now, state_bytes

    def _activity(self, interval: Interval) -> dict[str, Any]:
        """Return when a version is active, and what it did last, by fields of `VersionStatus`."""
        counts = self._rules.get((interval.processor_id, interval.version))
        is_tried = interval.share is not None
        begin_ms = interval.active_from_ms if is_tried else interval.published_from_ms
        until_ms = interval.active_until_ms
        return {
            "active_from_ms": None if begin_ms == BEGINNING_MS else begin_ms,
            "active_until_ms": None if until_ms == END_MS else until_ms,
            "last_match_ms": None if counts is None else counts.last_match_ms,
            "throttled_until_ms": self.throttled_until_ms.get(interval.processor_id),
        }

    def _counted(self, version: VersionOf, state: RunningState, **more: Any) -> VersionStatus:
        counts = self._rules.get(version, RuleCounts())
        totals = Totals(**counts.sums)
        return VersionStatus(*version, state, totals=totals, steps=counts.steps, **more)


def _state(interval: Interval, newest_ms: int | None) -> RunningState | None:
    """Say where an interval stands for the next event to be read; `None` once it has ended."""
    next_ms = BEGINNING_MS if newest_ms is None else newest_ms + 1
    if interval.active_from_ms > next_ms:
        return "pending"
    if next_ms < interval.active_until_ms:
        if interval.share is None:
            return "active"
        return "canary" if interval.share else "shadow"
    return "draining" if interval.drains and next_ms < interval.drains_until_ms else None


def _version_of(rule_id: str) -> VersionOf:
    processor_id, version, _ = rule_id.rsplit("@", 2)
    return processor_id, int(version)
