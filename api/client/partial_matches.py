"""What is open for one key of a rule: the wait for jobs to tell.

Client.partial_matches ──ask, again and again──► PartialMatches: job by job
"""

import time
from collections.abc import Callable
from typing import Final

from contract.service.diagnosis import PartialMatchesOfKey

_POLL_SECONDS: Final = 1.0


def wait_for_answers(
    read: Callable[[], PartialMatchesOfKey], timeout_seconds: float
) -> PartialMatchesOfKey:
    """Ask until all live jobs have told, or the time is over; return what they have told."""
    ends_at = time.monotonic() + timeout_seconds
    while True:
        told = read()
        remaining_seconds = ends_at - time.monotonic()
        if told.is_whole or remaining_seconds <= 0:
            return told
        time.sleep(min(_POLL_SECONDS, remaining_seconds))
