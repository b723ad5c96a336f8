"""Work in a daemon thread beside the job, which neither its failures nor its end may hold up.

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
    """One daemon thread; a context manager that begins and ends it.

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
        """Wake whatever `_run` waits for, other than `_closing`, which is set."""

    @abstractmethod
    def _run(self) -> None:
        """Work until `_closing` is set."""


class FailuresInARow:
    """Counts failures, logs the first of a row and the end of it, and says how long to wait.

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

        An error that has `retry_after_seconds` is waited for at least that long.
        """
        self.count += 1
        if self.count == 1:
            self._log.warning("%s: %s; trying again", self._what, first_line(error))
        least_seconds: float = getattr(error, "retry_after_seconds", 0.0)
        return max(self._backoff.seconds(self.count), least_seconds)

    def succeeded(self) -> None:
        """Note that it works, again."""
        if self.count:
            self._log.info("no longer so, after %d failures: %s", self.count, self._what)
        self.count = 0
