"""Work in a daemon thread, whose failures and end must not block the job.

BackgroundDiscovery, JobReporter and MatchPoster ──► BackgroundThread · FailuresInARow
"""

import logging
import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from contract.problem_text import first_line
from discoverers.clock import Backoff


class BackgroundThread(ABC):
    """One daemon thread; a context manager that starts and ends it.

    A subclass has `_run`, the work, which ends soon after `request_end` was called.

    Args:
        name: the name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self, timeout_seconds: float = 5.0) -> None:
        """Ask the work to end and wait for it, but not for a service or source that hangs."""
        self._closing.set()
        self.request_end()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout_seconds)

    @abstractmethod
    def request_end(self) -> None:
        """Wake `_run` if it waits for anything other than `_closing`, which is set."""

    @abstractmethod
    def _run(self) -> None:
        """Work until `_closing` is set."""


class FailuresInARow:
    """Counts consecutive failures, logs the first and the recovery, and computes the wait.

    Args:
        log: where to log.
        what: the sentence that the first failure completes: "the rule service takes no reports".
        backoff: how long to wait after failures.
    """

    def __init__(self, log: logging.Logger, what: str, backoff: Backoff) -> None:
        self._log = log
        self._what = what
        self._backoff = backoff
        self.count = 0

    def failed(self, error: Exception) -> float:
        """Note a failure; return how many seconds to wait before the next try.

        The wait is at least the `retry_after_seconds` of the error, if it has any.
        """
        self.count += 1
        if self.count == 1:
            self._log.warning("%s: %s; trying again", self._what, first_line(error))
        least_seconds: float = getattr(error, "retry_after_seconds", 0.0)
        return max(self._backoff.seconds(self.count), least_seconds)

    def succeeded(self) -> None:
        """Note a success."""
        if self.count:
            self._log.info("recovered after %d failures (%s)", self.count, self._what)
        self.count = 0
