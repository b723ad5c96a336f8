"""Logs what may happen thousands of times a second once in a while, with a count."""

import time
from collections.abc import Callable
from typing import Any

import structlog

_log = structlog.get_logger("percept.server")


class Seldom:
    """One line of the log, at most every so many seconds.

    Args:
        event: what happens.
        every_seconds: how far apart the lines are.
        monotonic: a clock in seconds.
    """

    def __init__(
        self, event: str, every_seconds: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._event = event
        self._every_seconds = every_seconds
        self._monotonic = monotonic
        self._next_at = float("-inf")
        self._times = 0

    def warn(self, **details: Any) -> None:
        """Log the event, or only count it; `times` is how often it happened since the last line."""
        self._times += 1
        now = self._monotonic()
        if now >= self._next_at:
            _log.warning(self._event, times=self._times, **details)
            self._next_at = now + self._every_seconds
            self._times = 0
