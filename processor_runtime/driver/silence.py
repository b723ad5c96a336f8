"""Lets event time follow the clock once the source of a job has been silent for a time.

    planned batches ──Silence.event_time_ms──► how far event time has come without an event ──► pin

It decides for batches that run for the first time only; what it decides is in their records, so
that a batch that runs again has the same time. A restart begins to wait anew: a source that was
down with the job gets the time to deliver its backlog. So does a clock that has been set back.
"""

from dataclasses import dataclass

from processor_runtime.driver.offset_log import BatchStart


@dataclass(slots=True)
class Silence:
    """What one start of a job knows of the silence of its source.

    `idle_after_ms`: how long the source must have been silent; `None` = event time never follows
    the clock.
    """

    idle_after_ms: int | None
    _read_ms: int | None = None
    _planned_ms: int | None = None
    _is_silent: bool = False

    @property
    def since_ms(self) -> int | None:
        """By the clock, since when the source is silent; `None` unless event time follows it."""
        return self._read_ms if self._is_silent else None

    def event_time_ms(self, start: BatchStart) -> int | None:
        """Return the event time that a batch begins at without an event; `None` if it does not.

        It is the time at which the batch before was planned. Whatever this batch did not find at
        the source has arrived since then, so that an event is late only if it took longer than the
        allowed delay to arrive.

        `start`: the next batch; it has not run before.
        """
        planned_before_ms, self._planned_ms = self._planned_ms, start.processing_time_ms
        is_set_back = start.processing_time_ms < (planned_before_ms or start.processing_time_ms)
        if self._read_ms is None or start.reads_events or is_set_back:
            self._read_ms, self._is_silent = start.processing_time_ms, False
        elif self.idle_after_ms is not None:
            self._is_silent = start.processing_time_ms - self._read_ms >= self.idle_after_ms
        # Without a tick there is nothing to call the shards with.
        return planned_before_ms if self._is_silent and start.has_tick else None
