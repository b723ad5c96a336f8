"""Spans and figures of one job, from its first batch to its end.

running ──batch done, batch failed──► JobTelemetry ──► BatchSpans · JobFigures ──► Sending
"""

from contract.telemetry.sending import Sending
from processor_runtime.driver.batch_times import BatchTimes
from processor_runtime.driver.job_status import JobStatus
from processor_runtime.telemetry.batch_spans import BatchSpans
from processor_runtime.telemetry.job_figures import JobFigures


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
