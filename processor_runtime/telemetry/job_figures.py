"""The numbers of a job after its newest batch, as figures.

JobStatus ──JobFigures──► Figure ──► collector of OpenTelemetry

What the service tells of its jobs at `/metrics` has the same name and the same labels here.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from contract.telemetry.figures import Figure, Number
from processor_runtime.driver.job_status import JobStatus


@dataclass(frozen=True, slots=True)
class _Defined:
    """One metric, and where its value is; `None` = not known."""

    name: str
    text: str
    kind: Literal["gauge", "counter"]
    value_of: Callable[[JobStatus], float | None]


_SINCE_START: Final = "since the start of the instance."
_DEFINED: Final = (
    _Defined("epoch", "Epoch of the newest batch.", "gauge", lambda job: job.epoch),
    _Defined("batch", "Number of the newest batch.", "gauge", lambda job: job.batch_id),
    _Defined(
        "batch_duration_seconds",
        "How long the newest batch took.",
        "gauge",
        lambda job: _seconds(job.batch_duration_ms),
    ),
    _Defined(
        "watermark_timestamp_seconds",
        "Event time up to which everything is done.",
        "gauge",
        lambda job: _seconds(job.watermark_ms),
    ),
    _Defined(
        "events_per_second",
        "Events of the newest batch by its duration.",
        "gauge",
        lambda job: job.events_per_second,
    ),
    _Defined(
        "backlog_events",
        "Events known at the source and not yet read.",
        "gauge",
        lambda job: job.backlog_events,
    ),
    _Defined("partial_matches", "Open partial matches.", "gauge", lambda job: job.partial_matches),
    _Defined("state_bytes", "Size of what shards hold.", "gauge", lambda job: job.state_bytes),
    _Defined(
        "events_total", f"Events read {_SINCE_START}", "counter", lambda job: job.totals.events
    ),
    _Defined(
        "matches_total", f"Matches found {_SINCE_START}", "counter", lambda job: job.totals.matches
    ),
    _Defined(
        "timeouts_total",
        f"Partial matches that ran out of time {_SINCE_START}",
        "counter",
        lambda job: job.totals.timeouts,
    ),
    _Defined(
        "errors_total",
        f"Unreadable events, and failures of rules, {_SINCE_START}",
        "counter",
        lambda job: job.totals.errors,
    ),
    _Defined(
        "late_events_total",
        f"Events that came too late {_SINCE_START}",
        "counter",
        lambda job: job.totals.late,
    ),
    _Defined(
        "left_out_matches",
        f"Matches and timeouts not output because of a limit, {_SINCE_START}",
        "gauge",
        lambda job: job.totals.left_out,
    ),
    _Defined(
        "dropped_partial_matches",
        f"Partial matches given up where versions ended, {_SINCE_START}",
        "gauge",
        lambda job: job.totals.dropped,
    ),
    _Defined(
        "released_matches",
        f"Complete matches that came out where versions ended, {_SINCE_START}",
        "gauge",
        lambda job: job.totals.released,
    ),
    _Defined(
        "shadow_finds",
        f"Matches of versions that are tried that did not count, {_SINCE_START}",
        "gauge",
        lambda job: job.totals.shadow,
    ),
    _Defined(
        "suppressed_matches",
        f"Matches that did not go out as their rules say, {_SINCE_START}",
        "gauge",
        lambda job: job.totals.suppressed,
    ),
    _Defined(
        "unsuppressed_matches",
        f"Matches that went out as more different ones came than are kept, {_SINCE_START}",
        "gauge",
        lambda job: job.totals.unsuppressed,
    ),
    _Defined(
        "grouped_matches",
        f"Matches that others, which went out, stand for, {_SINCE_START}",
        "gauge",
        lambda job: job.totals.grouped,
    ),
)


class JobFigures:
    """Keeps the newest status of one job until it is read, from any thread.

    `clock_seconds`: the wall clock, seconds since 1970.
    """

    def __init__(
        self, stream: str, job: str, clock_seconds: Callable[[], float] = time.time
    ) -> None:
        self._labels = {"stream": stream, "job": job}
        self._clock_seconds = clock_seconds
        self._newest: tuple[JobStatus, float] | None = None

    def done(self, status: JobStatus) -> None:
        """Note the status of the job after a batch."""
        self._newest = status, self._clock_seconds()

    def read(self) -> Iterator[Figure]:
        """Yield all figures; none before the first batch."""
        if self._newest is None:
            return
        status, done_at_seconds = self._newest
        yield self._figure(
            "batch_timestamp_seconds", "When the newest batch was done.", "gauge", done_at_seconds
        )
        for each in _DEFINED:
            if (value := each.value_of(status)) is not None:
                yield self._figure(each.name, each.text, each.kind, value)

    def _figure(
        self, name: str, text: str, kind: Literal["gauge", "counter"], value: float
    ) -> Figure:
        return Figure(f"percept_job_{name}", text, kind, (Number(self._labels, value),))


def _seconds(time_ms: int | None) -> float | None:
    return None if time_ms is None else time_ms / 1_000
