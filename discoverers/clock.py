"""The clock of discoverers and their wait between failures; tests replace both."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


def _system_now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Clock:
    """The wall clock, one that nobody sets, and waiting that a set event ends.

    `now_ms` gives milliseconds since 1970, `seconds` what durations are measured with;
    `wait(event, seconds)` returns whether it was set.
    """

    now_ms: Callable[[], int] = _system_now_ms
    wait: Callable[[threading.Event, float], bool] = threading.Event.wait
    seconds: Callable[[], float] = time.monotonic


SYSTEM_CLOCK: Final = Clock()

# Not the generator of the module `random`: a program may have seeded that one alike everywhere.
_JITTER: Final = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with jitter: after the n-th failure in a row, how long to wait.

    The wait doubles up to a limit and is then shortened at random by up to a half, so that many
    jobs do not return to a service at the same time.

    Source: Marc Brooker, "Exponential Backoff And Jitter" (equal jitter).
    """

    first_seconds: float = 0.5
    limit_seconds: float = 30.0
    jitter: Callable[[], float] = _JITTER.random

    def seconds(self, consecutive_failures: int) -> float:
        """Return how long to wait after this number of consecutive failures, one or more."""
        doublings = min(consecutive_failures - 1, 60)
        longest = min(self.first_seconds * 2.0**doublings, self.limit_seconds)
        return longest * (1 + self.jitter()) / 2
