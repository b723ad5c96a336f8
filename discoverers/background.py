"""Runs a discoverer in a separate thread and returns the newest snapshot without waiting.

discoverer ──► BackgroundDiscovery ◄── job, once per micro-batch
"""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from contract.problem_text import first_line
from contract.snapshot import Snapshot, SnapshotProcessor
from discoverers.background_thread import BackgroundThread
from discoverers.discoverer import PatternProcessorDiscoverer
from discoverers.health import DiscovererHealth, HealthStatus

_LOOK_SECONDS: Final = 0.1
"""How often the health of the source is looked at while its first answer is waited for."""
_log = logging.getLogger("percept.discoverers")


class NoSnapshotError(RuntimeError):
    """The source returned no snapshot in time and there is no earlier one; the message says why."""


class BackgroundDiscovery(BackgroundThread):
    """Runs a discoverer and is its manager; a context manager that starts and ends the thread.

    Args:
        discoverer: what to run.
        initial: the last snapshot of the job, used until the source returns another.
    """

    def __init__(
        self, discoverer: PatternProcessorDiscoverer, initial: Snapshot | None = None
    ) -> None:
        super().__init__("percept-discoverer")
        self._discoverer = discoverer
        self._newest = initial
        self._ends_waiting = threading.Event()
        self._crash: str | None = None

    def latest(self) -> Snapshot | None:
        """Return the newest snapshot; `None` until there is one."""
        return self._newest

    def list_content(self, digest: str) -> bytes:
        """Return the content of a list that the newest snapshot names.

        Raises:
            LookupError: it names none of this digest.
        """
        return self._discoverer.list_content(digest)

    def first(self, timeout_seconds: float, *, most_failures: int | None = None) -> Snapshot:
        """Wait until the source has returned a snapshot, and return the newest.

        After the timeout, `stop_waiting` or a refusal that waiting does not mend, the initial
        snapshot is returned, so that a job can restart without its source.

        Args:
            timeout_seconds: how long to wait.
            most_failures: after how many failures in a row to wait no longer; `None` = any.

        Raises:
            NoSnapshotError: the source returned none in time and there is no initial one.
        """
        begin = time.monotonic()
        end = begin + timeout_seconds
        while not self._ends_waiting.wait(max(0.0, min(_LOOK_SECONDS, end - time.monotonic()))):
            health = self.health
            failures = health.consecutive_failures
            if health.needs_mending or (most_failures is not None and failures >= most_failures):
                break
            if time.monotonic() >= end:
                break
        newest = self._newest
        if newest is None:
            # A rule takes some 3.5 ms to read and check, far longer on a busy machine.
            late = "the first reading is not done; first_snapshot_timeout of the job can be longer"
            trouble = self.health.last_error or late
            waited = min(time.monotonic() - begin, timeout_seconds)
            raise NoSnapshotError(f"no rules after {waited:.2g} s: {trouble}")
        return newest

    def stop_waiting(self) -> None:
        """Make `first` return at once; callable from any thread."""
        self._ends_waiting.set()

    @property
    def health(self) -> DiscovererHealth:
        """The status of the source."""
        health = self._discoverer.health
        if self._crash is None:
            return health
        return replace(health, status=HealthStatus.FAILING, last_error=self._crash)

    @property
    def current_processors(self) -> Sequence[SnapshotProcessor]:
        """The processors of the newest snapshot; empty before the first."""
        return [] if self._newest is None else self._newest.processors

    def on_pattern_processors_updated(self, snapshot: Snapshot) -> None:
        """Receive a snapshot from the discoverer."""
        self._newest = snapshot
        self._ends_waiting.set()

    def request_end(self) -> None:
        """Close the discoverer, which ends its waiting."""
        self._discoverer.close()

    def _run(self) -> None:
        try:
            self._discoverer.discover_pattern_processor_updates(self)
        except Exception as error:  # noqa: BLE001 - the job must not end with its discoverer
            # Periodic discoverers handle all errors of a source; a custom one may not.
            self._crash = first_line(error)
            _log.exception("the discoverer has ended; the last good set stays")
