"""Lets event time follow the clock once the sources of a job have been silent for a time.

    planned batches ──Silence.event_time_ms──► how far event time has come without an event ──► pin
                    └──Silence.idle──────────► sources that time does not wait for ──────────┘

It decides for batches that run for the first time only; what it decides is in their records, so
that a batch that runs again has the same time. A restart begins to wait anew: a source that was
down with the job gets the time to deliver its backlog. So does a clock that has been set back.
"""

from dataclasses import dataclass, field
from math import inf

from processor_runtime.driver.offset_log import BatchStart


@dataclass(slots=True)
class Silence:
    """What one start of a job knows of the silence of its sources.

    `idle_after_ms`: how long a source must have been silent to be idle; `None` = none ever is.
    `idle` has the numbers of those that are.
    """

    idle_after_ms: int | None
    idle: frozenset[int] = frozenset()
    _read_ms: dict[int, int] = field(default_factory=dict)
    _planned_ms: int | None = None

    @property
    def since_ms(self) -> int | None:
        """By the clock, since when all sources are silent; `None` if event time waits for one."""
        is_silent = self.idle and len(self.idle) == len(self._read_ms)
        return max(self._read_ms.values()) if is_silent else None

    def idle_since_ms(self, source: int) -> int | None:
        """Return by the clock since when a source is idle; `None` if it is not."""
        return self._read_ms[source] if source in self.idle else None

    def event_time_ms(self, start: BatchStart) -> int | None:
        """Return the event time that a batch begins at without an event; `None` if it does not.

        It is the time at which the batch before was planned. Whatever this batch did not find at
        the sources has arrived since then, so that an event is late only if it took longer than the
        allowed delay to arrive.

        `start`: the next batch; it has not run before.
        """
        now_ms = start.processing_time_ms
        planned_before_ms, self._planned_ms = self._planned_ms, now_ms
        is_set_back = now_ms < (planned_before_ms or now_ms)
        idle_after_ms = inf if self.idle_after_ms is None else self.idle_after_ms
        idle = set(self.idle)
        for source, reads in enumerate(start.reads):
            if source not in self._read_ms or reads or is_set_back:
                self._read_ms[source] = now_ms
                idle.discard(source)
            # Without a tick there is nothing to call the shards with.
            elif start.has_tick and now_ms - self._read_ms[source] >= idle_after_ms:
                idle.add(source)
        self.idle = frozenset(idle)
        are_all_idle = len(idle) == len(start.reads)
        return planned_before_ms if are_all_idle and start.has_tick else None
