"""The numbers of a job after its newest batch, as figures.

JobStatus ──JobFigures──► Figure ──► collector of OpenTelemetry

What the service tells of its jobs at `/metrics` has the same name and the same labels here.
"""

import time
from collections.abc import Callable, Iterator
from typing import Final, Literal

from contract.telemetry.figures import Figure, Number
from processor_runtime.driver.job_status import JobStatus

_Kind = Literal["gauge", "counter"]

_OF_JOB: Final = (
    ("epoch", "epoch", "Epoch of the newest batch."),
    ("batch", "batch_id", "Number of the newest batch."),
    ("batch_duration_seconds", "batch_duration_ms", "How long the newest batch took."),
    ("watermark_timestamp_seconds", "watermark_ms", "Event time up to which everything is done."),
    ("events_per_second", "events_per_second", "Events of the newest batch by its duration."),
    ("backlog_events", "backlog_events", "Events known at the source and not yet read."),
    ("partial_matches", "partial_matches", "Open partial matches."),
    ("state_bytes", "state_bytes", "Size of what shards hold."),
)
"""Name, field of `JobStatus`, in milliseconds where the name says seconds, and text."""
_OF_TOTALS: Final = (
    ("events_total", "events", "Events read"),
    ("matches_total", "matches", "Matches found"),
    ("timeouts_total", "timeouts", "Partial matches that ran out of time"),
    ("errors_total", "errors", "Unreadable events, and failures of rules,"),
    ("late_events_total", "late", "Events that came too late"),
    ("left_out_matches", "left_out", "Matches and timeouts not output because of a limit,"),
    ("dropped_partial_matches", "dropped", "Partial matches given up where versions ended,"),
    ("released_matches", "released", "Complete matches that came out where versions ended,"),
    ("shadow_finds", "shadow", "Matches of versions that are tried that did not count,"),
    ("suppressed_matches", "suppressed", "Matches that did not go out as their rules say,"),
    (
        "unsuppressed_matches",
        "unsuppressed",
        "Matches that went out as more different ones came than are kept,",
    ),
    ("grouped_matches", "grouped", "Matches that others, which went out, stand for,"),
)
"""Name, field of `Totals`, and text: of all since the start of the instance."""


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
        for name, field, text in _OF_JOB:
            value = getattr(status, field)
            if value is not None:
                shown = value / 1_000 if field.endswith("_ms") else value
                yield self._figure(name, text, "gauge", shown)
        for name, field, text in _OF_TOTALS:
            kind: _Kind = "counter" if name.endswith("_total") else "gauge"
            since = f"{text} since the start of the instance."
            yield self._figure(name, since, kind, getattr(status.totals, field))

    def _figure(self, name: str, text: str, kind: _Kind, value: float) -> Figure:
        return Figure(f"percept_job_{name}", text, kind, (Number(self._labels, value),))
