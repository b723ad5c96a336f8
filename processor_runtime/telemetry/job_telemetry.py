"""Spans and figures of one job, from its first batch to its end.

running ──batch done, batch failed──► JobTelemetry ──► BatchSpans · JobFigures ──► Sending

No key, no event and no text of a rule is in spans, nor what an exception says.
"""

from opentelemetry.context import Context
from opentelemetry.trace import Span, StatusCode, Tracer, set_span_in_context

from contract.telemetry.sending import Sending
from processor_runtime.driver.batch_times import BatchTimes
from processor_runtime.driver.job_status import JobStatus, Totals
from processor_runtime.telemetry.job_figures import JobFigures


class BatchSpans:
    """Makes the spans of one job when a batch is over; they begin when it began."""

    def __init__(self, tracer: Tracer, stream: str, job: str) -> None:
        self._tracer = tracer
        self._names = {"percept.stream": stream, "percept.job": job}
        self._totals = Totals()

    def done(self, times: BatchTimes, status: JobStatus) -> None:
        """Tell of a batch that is written."""
        before, now = self._totals, status.totals
        self._totals = now
        counts = {
            "percept.epoch": status.epoch,
            "percept.watermark_ms": status.watermark_ms,
            "percept.backlog_events": status.backlog_events,
            "percept.batch.events": now.events - before.events,
            "percept.batch.matches": now.matches - before.matches,
            "percept.batch.timeouts": now.timeouts - before.timeouts,
            "percept.batch.errors": now.errors - before.errors,
            "percept.batch.late": now.late - before.late,
        }
        span = self._span(times)
        for name, value in counts.items():
            if value is not None:
                span.set_attribute(name, value)
        span.end(times.now_ns())

    def failed(self, times: BatchTimes, error: BaseException) -> None:
        """Tell of a batch that ended early: the job ends, or runs it again."""
        span = self._span(times)
        span.set_attribute("error.type", type(error).__name__)
        span.set_status(StatusCode.ERROR)
        span.end(times.now_ns())

    def _span(self, times: BatchTimes) -> Span:
        """Return the span of a batch with those of its parts, which are over."""
        span = self._tracer.start_span(
            "batch",
            Context(),
            attributes=self._names | {"percept.batch.id": times.batch_id},
            start_time=times.began_ns,
        )
        inside = set_span_in_context(span, Context())
        for part in times.parts:
            child = self._tracer.start_span(part.name, inside, start_time=part.began_ns)
            child.end(part.ended_ns)
        return span


class JobTelemetry:
    """Tells the collector of the batches of a job.

    `sending`: the way to the collector, which this closes.
    """

    def __init__(self, sending: Sending, stream: str, job: str) -> None:
        self._sending = sending
        self._spans = BatchSpans(sending.tracer, stream, job) if sending.has_traces else None
        self._figures = JobFigures(stream, job)
        sending.start_figures(self._figures.read)

    def done(self, times: BatchTimes, status: JobStatus) -> None:
        """Tell of a batch that is written, and of the job after it."""
        self._figures.done(status)
        if self._spans is not None:
            self._spans.done(times, status)

    def failed(self, times: BatchTimes, error: BaseException) -> None:
        """Tell of a batch that ended early."""
        if self._spans is not None:
            self._spans.failed(times, error)

    def close(self) -> None:
        """Send what waits, for a moment."""
        self._sending.close()
