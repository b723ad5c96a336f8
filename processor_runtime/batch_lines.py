"""What a running job prints: changes, matches, and from time to time its progress.

batch done ──► BatchLines ──► lines for the terminal
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from cep.instants import iso_text
from processor_runtime.driver.job_status import JobStatus, Totals
from processor_runtime.schedule.changes import timeline_changes
from processor_runtime.schedule.timeline import Timeline

_QUIET_SECONDS = 10.0


@dataclass(slots=True)
class BatchLines:
    """Chooses the lines to print after each batch; without news one line every ten seconds."""

    _totals: Totals = field(default_factory=Totals)
    _told_at_seconds: float = float("-inf")

    def lines(
        self, status: JobStatus, before: Timeline, now: Timeline, now_seconds: float
    ) -> Iterator[str]:
        """Yield the lines of one batch.

        Args:
            status: the job after it.
            before: the rules before it.
            now: the rules of this batch.
            now_seconds: a monotonic clock.
        """
        changes = list(timeline_changes(before, now))
        found = self._found(status.totals)
        is_time = now_seconds - self._told_at_seconds >= _QUIET_SECONDS
        self._totals = status.totals
        if changes:
            yield f"epoch {status.epoch}, batch {status.batch_id}"
            yield from (f"  {change}" for change in changes)
        if found or is_time:
            self._told_at_seconds = now_seconds
            yield self._progress(status, found)

    def _found(self, totals: Totals) -> str:
        told = (
            ("matches", totals.matches - self._totals.matches),
            ("timeouts", totals.timeouts - self._totals.timeouts),
            ("errors", totals.errors - self._totals.errors),
            ("late", totals.late - self._totals.late),
            ("left out", totals.left_out - self._totals.left_out),
            ("not suppressed", totals.unsuppressed - self._totals.unsuppressed),
            ("partial matches dropped", totals.dropped - self._totals.dropped),
            ("matches released", totals.released - self._totals.released),
        )
        return ", ".join(f"{count:,} {name}" for name, count in told if count)

    def _progress(self, status: JobStatus, found: str) -> str:
        parts = [
            f"batch {status.batch_id}",
            f"epoch {status.epoch}",
            _time(status),
            f"{status.events_per_second:,.0f} events/s",
            f"{status.partial_matches:,} partial matches",
        ]
        return " · ".join([*parts, f"+ {found}"] if found else parts)


def _time(status: JobStatus) -> str:
    if status.watermark_ms is not None:
        return f"event time {iso_text(status.watermark_ms)}"
    return "no events yet" if status.newest_event_ms is None else "first events read"
