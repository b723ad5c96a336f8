"""How many requests one token, or one address without a token, may make: a token bucket each.

Buckets live in the process: each process of a service allows the whole rate.

Source: draft-ietf-httpapi-ratelimit-headers, sections 4 and 5, for what answers tell of it.
"""

import math
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

    def take(self, caller: str, cost: float = 1) -> float:
        """Take `cost` requests from a caller's bucket; return 0, or the seconds until they fit."""
        now = self._monotonic()
        with self._lock:
            level = self._level(caller, now)
            wait_seconds = self._wait_seconds(level, cost)
            self._buckets[caller] = (level if wait_seconds else level - cost, now)
            self._buckets.move_to_end(caller)
            if len(self._buckets) > _KEPT_BUCKETS:
                self._buckets.popitem(last=False)
        return wait_seconds

    def wait_for(self, caller: str, cost: float = 1) -> float:
        """Return 0 if `cost` requests would fit, or the seconds until they do; take none."""
        with self._lock:
            return self._wait_seconds(self._level(caller, self._monotonic()), cost)

    def headers(self, caller: str) -> dict[str, str]:
        """Return the headers of an answer: how many requests fit, and when the bucket is full."""
        with self._lock:
            level = self._level(caller, self._monotonic())
        full_in_seconds = math.ceil((self._size - level) / self._rate)
        return {
            "RateLimit-Policy": f'"requests";q={math.floor(self._size)};w={_BURST_SECONDS}',
            "RateLimit": f'"requests";r={math.floor(level)};t={full_in_seconds}',
        }

    def _level(self, caller: str, now: float) -> float:
        level, filled_at = self._buckets.get(caller, (self._size, now))
        return min(self._size, level + (now - filled_at) * self._rate)

    def _wait_seconds(self, level: float, cost: float) -> float:
        return 0 if level >= min(cost, self._size) else (cost - level) / self._rate
