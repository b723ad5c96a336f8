"""Reads a source periodically, also after failures, and passes on changes.

    get_processors ──► assembly ──► changed? ──► manager
          │ failure
          └──► health, backoff, again; the manager keeps what it has

Source: FLIP-200, PeriodicPatternProcessorDiscoverer. Unlike demo pollers written to it, a failure
here never reaches the manager, neither as an exception nor as an empty or missing set.
"""

import logging
import threading
from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

from contract.problem_text import first_line
from contract.snapshot import Snapshot
from discoverers.assembly import Reading, assemble
from discoverers.clock import SYSTEM_CLOCK, Backoff, Clock
from discoverers.discoverer import PatternProcessorDiscoverer, PatternProcessorManager
from discoverers.found import FoundProcessors, ProcessorProblem
from discoverers.health import DiscovererHealth, HealthStatus

_log = logging.getLogger("percept.discoverers")


class PeriodicPatternProcessorDiscoverer(PatternProcessorDiscoverer):
    """A discoverer of a source that is read periodically; subclasses implement the reading.

    Args:
        interval_seconds: the least time between the beginnings of two readings.
        initial: the last snapshot of the job: numbers continue from it, and its processors are the
            last good ones until the source has been read.
        clock: the wall clock and waiting.
        backoff: how long to wait after failures.
    """

    failures: ClassVar[tuple[type[Exception], ...]] = (OSError,)
    """Errors of a source whose message is sufficient; others are logged with their traceback."""

    def __init__(
        self,
        *,
        interval_seconds: float,
        initial: Snapshot | None = None,
        clock: Clock = SYSTEM_CLOCK,
        backoff: Backoff | None = None,
    ) -> None:
        self._interval_seconds = interval_seconds
        self._clock = clock
        self._backoff = backoff or Backoff()
        self._closed = threading.Event()
        self._reading = Reading(initial) if initial is not None else None
        self._handed_on: Snapshot | None = None
        self._health = DiscovererHealth()

    def should_update(self) -> bool:
        """Return whether the source may have changed since it was last read with success.

        A cheap check before a costly reading. Not called before the first reading or after a
        failure.
        """
        return True

    @abstractmethod
    def get_processors(self) -> FoundProcessors | None:
        """Return the full set of processors in the source; `None` if nothing has changed.

        Return `None` only while the health is ok: after a failure the full set is needed. May raise
        any exception: the reading has then failed and is tried again.
        """

    def release(self) -> None:
        """Release connections and other resources; called once, when discovering ends."""

    @property
    def health(self) -> DiscovererHealth:
        """The status of the source as of the last reading."""
        return self._health

    @property
    def is_closed(self) -> bool:
        """Whether `close` has been called."""
        return self._closed.is_set()

    def close(self) -> None:
        """Make discovering return soon: at once during a pause, else after the current reading."""
        self._closed.set()

    def discover_pattern_processor_updates(self, manager: PatternProcessorManager) -> None:
        """Read the source until closed; pass each set that has changed to the manager."""
        try:
            while not self.is_closed:
                began = self._clock.seconds()
                try:
                    self._read_once(manager)
                except Exception as error:  # noqa: BLE001 - whatever a source raises, the job runs on
                    pause_seconds = self._failed(error)
                else:
                    took_seconds = self._clock.seconds() - began
                    pause_seconds = max(0.0, self._interval_seconds - took_seconds)
                self._clock.wait(self._closed, pause_seconds)
        finally:
            self.release()

    def _read_once(self, manager: PatternProcessorManager) -> None:
        is_current = self._health.status is HealthStatus.OK
        found = self.get_processors() if not is_current or self.should_update() else None
        if self.is_closed:
            return
        problems = self._health.problems
        if found is not None:
            reading = assemble(found, self._reading)
            self._reading = reading
            problems = reading.problems
        self._succeeded(problems)
        if self._reading is not None and self._reading.snapshot != self._handed_on:
            manager.on_pattern_processors_updated(self._reading.snapshot)
            self._handed_on = self._reading.snapshot

    def _succeeded(self, problems: tuple[ProcessorProblem, ...]) -> None:
        before = self._health
        if before.status is HealthStatus.FAILING:
            _log.info("the source can be read again after %d failures", before.consecutive_failures)
        for problem in problems:
            if problem not in before.problems:
                _log.warning("%s", problem)
        self._health = replace(
            before,
            status=HealthStatus.OK,
            last_success_ms=self._clock.now_ms(),
            consecutive_failures=0,
            needs_mending=False,
            problems=problems,
        )

    def _failed(self, error: Exception) -> float:
        """Note a failure; return how long to wait before the next reading."""
        failures = self._health.consecutive_failures + 1
        self._health = replace(
            self._health,
            status=HealthStatus.FAILING,
            last_error=first_line(error),
            last_error_ms=self._clock.now_ms(),
            consecutive_failures=failures,
            needs_mending=getattr(error, "needs_mending", False),
        )
        if failures == 1 and not self.is_closed:
            stays = "trying again" if self._reading is None else "the last good set stays"
            told = None if isinstance(error, self.failures) else error
            _log.warning(
                "the rules cannot be read, %s: %s", stays, first_line(error), exc_info=told
            )
        least_seconds: float = getattr(error, "retry_after_seconds", 0.0)
        return max(self._backoff.seconds(failures), least_seconds)
