"""`time:` and `trigger:` of a job file: which time rules run on, and when batches begin."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from processor_runtime.job_file.field_types import DurationMs, JobFilePart

_HOUR_MS = 3_600_000
_LONGEST_DELAY_MS = 10**12
_SECOND_MS = 1_000
Delay = Annotated[DurationMs, Field(le=_LONGEST_DELAY_MS)]


class Timing(JobFilePart):
    """Which time rules run on; the stream's definition is the default for what is left out."""

    by: Literal["event", "processing"] = "event"
    """event: the stream's event time column; processing: the time at which a batch is read."""
    delay_ms: Delay | None = Field(default=None, alias="delay")
    """How late an event may come, instead of the stream's allowed_delay_ms."""
    order_by: list[str] | None = Field(default=None, min_length=1, max_length=20)
    """Columns that order events of equal time, instead of the stream's order_by."""
    max_future_skew_ms: DurationMs | None = Field(default=_HOUR_MS, alias="max_future_skew")
    """An event further ahead of the clock than this is an error row: it would make all that follow
    late. null = any time is accepted."""
    idle_after_ms: Annotated[DurationMs, Field(ge=_SECOND_MS)] | None = Field(
        default=None, alias="idle_after"
    )
    """Once the source has given nothing for so long, event time follows the clock, less the delay.
    Left out, it waits for the next event."""

    @model_validator(mode="after")
    def _processing_time_needs_nothing(self) -> Self:
        if self.by == "processing" and self.delay_ms is not None:
            raise ValueError("delay: by processing time no event is late. Leave it out")
        if self.by == "processing" and self.idle_after_ms is not None:
            raise ValueError("idle_after: processing time always follows the clock. Leave it out")
        return self


class Trigger(JobFilePart):
    """When batches begin; one of the three."""

    processing_time_ms: DurationMs | None = Field(default=None, alias="processing_time")
    """Time between the starts of two batches; 0 = start the next as soon as one has ended."""
    available_now: Literal[True] | None = None
    """Read everything available in batches, then end."""
    once: Literal[True] | None = None
    """Read everything available in one batch, then end."""
    close_at_end: bool = False
    """With available_now or once: when everything has been read, end what is open, as if no event
    ever came after it."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        given = (self.processing_time_ms, self.available_now, self.once)
        if sum(each is not None for each in given) != 1:
            raise ValueError("give one of processing_time, available_now: true and once: true")
        if self.close_at_end and self.processing_time_ms is not None:
            raise ValueError(
                "close_at_end: a job with processing_time has no end. Use available_now: true, or "
                "leave it out"
            )
        return self
