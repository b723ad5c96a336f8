"""What a running job prints: changes, matches, and from time to time its progress.

batch done, end ──► BatchLines ──► lines for the terminal
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from cep.instants import iso_text
from processor_runtime.driver.job_status import JobStatus, SourceStatus, Totals
from processor_runtime.schedule.changes import timeline_changes
from processor_runtime.schedule.interval import BEGINNING_MS
from processor_runtime.schedule.timeline import Timeline

_QUIET_SECONDS = 10.0
_MUCH_MS = 60_000
_ERROR_ROWS = "Add `error` to the kinds of an output to get them as rows"


@dataclass(slots=True)
class BatchLines:
    """Chooses the lines to print after each batch; without news one line every ten seconds."""

    _totals: Totals = field(default_factory=Totals)
    _told_at_seconds: float = float("-inf")
    _interpreted: set[tuple[str, int]] = field(default_factory=set)
    _waited_for: str | None = None

    def lines(
        self, status: JobStatus, before: Timeline, now: Timeline, now_seconds: float
    ) -> Iterator[str]:
        """Yield the lines of one batch.

        `now_seconds`: a monotonic clock.
        """
        changes = list(timeline_changes(before, now))
        found = _found(status.totals, self._totals)
        read = status.totals.events - self._totals.events
        is_time = now_seconds - self._told_at_seconds >= _QUIET_SECONDS
        self._totals = status.totals
        if changes:
            yield f"epoch {status.epoch}, batch {status.batch_id}"
            yield from (f"  {change}" for change in changes)
        yield from self._interpreted_lines(status)
        yield from self._waiting_lines(status)
        if found or is_time:
            self._told_at_seconds = now_seconds
            yield _progress(status, read, found)

    def _interpreted_lines(self, status: JobStatus) -> Iterator[str]:
        """Yield once for each version why it runs in Python."""
        for version in status.versions:
            key = version.processor_id, version.version
            if version.interpreted_reason and key not in self._interpreted:
                self._interpreted.add(key)
                rule = f"{version.processor_id} v{version.version}"
                yield f"  {rule} runs in Python: {version.interpreted_reason}"

    def _waiting_lines(self, status: JobStatus) -> Iterator[str]:
        """Yield which of several sources holds time back, once for each change."""
        active = [each for each in status.sources if each.idle_since_ms is None]
        last = min(active, key=_newest, default=None)
        ahead_ms = max(map(_newest, active), default=BEGINNING_MS)
        waits = last is not None and ahead_ms - _newest(last) >= _MUCH_MS
        name = last.name if last is not None and waits else None
        if name is not None and last is not None and name != self._waited_for:
            newest = "nothing yet" if last.newest_event_ms is None else iso_text(_newest(last))
            told = f"newest {newest}, another has come to {iso_text(ahead_ms)}"
            yield f"time waits for the source {name}: {told}"
        self._waited_for = name

    def end(self) -> Iterator[str]:
        """Yield what the job has read and found since it started, errors first."""
        totals = self._totals
        if totals.malformed:
            why = f": {totals.why_malformed}" if totals.why_malformed else ""
            unread = f"{totals.malformed:,} of {totals.events:,} events could not be read{why}"
            yield f"{unread}. {_ERROR_ROWS}"
        if failed := totals.errors - totals.malformed:
            yield f"{failed:,} errors of rules that failed on an event. {_ERROR_ROWS}"
        nothing = "" if totals.matches else "no matches"
        found = ", ".join(filter(None, (nothing, _found(totals, Totals()))))
        yield f"{totals.events:,} events read: {found}"


def _newest(source: SourceStatus) -> int:
    return BEGINNING_MS if source.newest_event_ms is None else source.newest_event_ms


def _found(totals: Totals, before: Totals) -> str:
    counts = (
        ("errors", totals.errors - before.errors),
        ("late", totals.late - before.late),
        ("matches", totals.matches - before.matches),
        ("timeouts", totals.timeouts - before.timeouts),
        ("left out", totals.left_out - before.left_out),
        ("not suppressed", totals.unsuppressed - before.unsuppressed),
        ("partial matches dropped", totals.dropped - before.dropped),
        ("matches released", totals.released - before.released),
    )
    return ", ".join(f"{count:,} {name}" for name, count in counts if count)


def _progress(status: JobStatus, read: int, found: str) -> str:
    parts = [
        f"batch {status.batch_id}",
        f"epoch {status.epoch}",
        _time(status),
        f"{read:,} events read, {status.totals.events:,} in all",
        f"{status.partial_matches:,} partial matches",
    ]
    return " · ".join([*parts, f"+ {found}"] if found else parts)


def _time(status: JobStatus) -> str:
    if status.watermark_ms is not None:
        return f"event time {iso_text(status.watermark_ms)}"
    return "no events yet" if status.newest_event_ms is None else "first events read"
