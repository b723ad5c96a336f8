"""How many requests one token, or one address without a token, may make: a token bucket each.

Buckets live in the process: each process of a service allows the whole rate.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

_BURST_SECONDS = 4
_KEPT_BUCKETS = 10_000


class RateLimits:
    """Token buckets by caller, refilled at `requests_per_second`, holding four seconds' worth."""

    def __init__(
        self, requests_per_second: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = requests_per_second
        self._size = requests_per_second * _BURST_SECONDS
        self._monotonic = monotonic
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def seconds_to_wait(self, caller: str, cost: float = 1) -> float:
        """Take `cost` requests from a caller's bucket; return 0, or the seconds until they fit."""
        now = self._monotonic()
        with self._lock:
            level, filled_at = self._buckets.pop(caller, (self._size, now))
            level = min(self._size, level + (now - filled_at) * self._rate)
            fits = level >= min(cost, self._size)
            self._buckets[caller] = (level - cost if fits else level, now)
            if len(self._buckets) > _KEPT_BUCKETS:
                self._buckets.popitem(last=False)
        return 0 if fits else (cost - level) / self._rate
