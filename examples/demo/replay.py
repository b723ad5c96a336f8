"""Feeds the events at a pace, and makes the changes of the story while the job runs.

Feeder ──events──► job ──heartbeats──► service ──► Replay ──► Screen
ACTS ──────────────changes──────────────►┘

When a change is published, events are fed one by one until the job reports that it has applied it:
the job runs a batch only when there are events, and applies a change between two batches.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from examples.demo.events import STREAM, Feeder
from examples.demo.service import DemoService, ReportedJob
from examples.demo.story import Act, Deed
from examples.demo.team import Team

_TICK_SECONDS: Final = 0.2
_PATIENCE_SECONDS: Final = 300
_HOUR_MS: Final = 3_600_000
_LONGEST_GAP_MS: Final = 24 * _HOUR_MS
"""The two logs are two years apart; this gap is skipped."""


class Screen(Protocol):
    """What shows the replay; see `terminal.Terminal`."""

    def progress(self, job: ReportedJob, fed: int) -> None:
        """Show the progress of the job."""

    def begin(self, act: Act) -> None:
        """Show that an act begins."""

    def note(self, line: str) -> None:
        """Show what is to be told of it."""

    def taken(self, done: "Done") -> None:
        """Show that it is in effect."""

    def tell(self, lines: Iterable[str]) -> None:
        """Show a line of the job's own log."""


class DemoFailed(Exception):
    """The job did not do something in time."""


@dataclass(frozen=True, slots=True)
class Done:
    """An act that is in effect: how long it took, how many events were fed, and the job's report.

    `active_from_ms` is event time, if the job has reported it.
    """

    act: Act
    seconds: float
    events: int
    active_from_ms: int | None
    error: str


@dataclass(slots=True)
class Replay:
    """One replay of the events.

    Args:
        feeder: feeds the events.
        service: reports the status of the job.
        team: makes the changes.
        screen: shows the progress.
        check_job: raises if the job has ended.
        job_lines: returns the new lines of the job's log.
        hours_per_second: the pace in event time; `None` = as fast as the job reads.
    """

    feeder: Feeder
    service: DemoService
    team: Team
    screen: Screen
    check_job: Callable[[], None]
    job_lines: Callable[[], Iterator[str]]
    hours_per_second: float | None
    done: list[Done] = field(default_factory=list)
    instances: set[str] = field(default_factory=set)

    def run(self, acts: Iterable[Act]) -> ReportedJob:
        """Feed all events and do all acts; return the status of the job when it has processed them.

        Raises:
            DemoFailed: the job did not apply a change, or read events, in time.
            ProcessEnded: the service or the job has ended.
        """
        self._until(lambda _job: True, "register with the service")
        for act in acts:
            self._feed_until(act.at_ms)
            self._catch_up()
            self._perform(act)
        self._feed_until(None)
        return self.wait_for_end()

    def wait_for_end(self) -> ReportedJob:
        """Wait until the job has processed all events that it can; return its status."""
        return self._until(
            lambda job: (job.watermark or 0) >= self.final_watermark_ms, "process the last events"
        )

    @property
    def final_watermark_ms(self) -> int:
        """The watermark of the job once it has read the newest event.

        An event as old as the allowed delay is on time, so the watermark is one millisecond less.
        """
        return self.feeder.newest_ms - int(str(STREAM["allowed_delay_ms"])) - 1

    def _feed_until(self, end_ms: int | None) -> None:
        """Feed the events before a time, or all of them, at the pace."""
        end_ms = self.feeder.end_ms if end_ms is None else end_ms
        if self.hours_per_second is None:
            self.feeder.feed_until(end_ms)
        began = time.monotonic()
        position_ms = 0.0
        while (next_ms := self.feeder.next_ms) is not None and next_ms < end_ms:
            now = time.monotonic()
            position_ms += (now - began) * (self.hours_per_second or 0) * _HOUR_MS
            began = now
            if next_ms - position_ms > _LONGEST_GAP_MS:
                position_ms = next_ms
            self.feeder.feed_until(min(int(position_ms) + 1, end_ms))
            self._look()
            time.sleep(_TICK_SECONDS)

    def _catch_up(self) -> None:
        """Wait until the job has read all fed events, so that a change applies to later ones."""
        newest_ms = self.feeder.newest_ms
        self._until(lambda job: (job.newest_event_time or 0) >= newest_ms, "read the events")

    def _perform(self, act: Act) -> None:
        self.screen.begin(act)
        began, fed = time.monotonic(), self.feeder.fed
        for line in act.perform(self.team):
            self.screen.note(line)
        epoch = self.service.client.stream(str(STREAM["name"])).epoch

        def is_taken(job: ReportedJob) -> bool:
            running = self.service.client.running(str(STREAM["name"]), act.rule.id)
            versions = [each.version(act.version) for each in running.jobs]
            for version in versions:
                # A rule stays active while its list changes.
                is_told = act.deed is not Deed.LIST or (job.epoch or 0) >= epoch
                if version is not None and version.state == act.wanted and is_told:
                    seconds, events = time.monotonic() - began, self.feeder.fed - fed
                    self.done.append(Done(act, seconds, events, version.active_from, version.error))
                    return True
            has_read_all = (job.newest_event_time or 0) >= self.feeder.newest_ms
            next_ms = self.feeder.next_ms
            if has_read_all and next_ms is not None and next_ms < act.before_ms:
                self.feeder.feed_one()
            return False

        self._until(is_taken, f"take up the change of {act.rule.id}: {act.headline}")
        self.screen.taken(self.done[-1])

    def _until(self, is_reached: Callable[[ReportedJob], bool], what: str) -> ReportedJob:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < deadline:
            job = self._look()
            if job is not None and is_reached(job):
                return job
            time.sleep(_TICK_SECONDS)
        raise DemoFailed(f"the job did not {what} within {_PATIENCE_SECONDS} seconds")

    def _look(self) -> ReportedJob | None:
        """Check the job, and show its progress."""
        self.check_job()
        job = self.service.job()
        self.screen.tell(self.job_lines())
        if job is not None:
            self.instances.add(job.instance_id)
            self.screen.progress(job, self.feeder.fed)
        return job
