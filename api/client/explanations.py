"""Why a rule found no match for a key in a span of the past: the wait for the answer.

Client.why_no_match ──ask──► a worker with the archive ──► Explanation: report, the same in words
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from api.client.errors import ServiceError
from contract.service.explanations import ExplanationView

_POLL_SECONDS: Final = 0.5


class NotExplained(ServiceError):
    """No worker has told within the time that was given, or one could not tell; says why."""


def wait_for_explanation(
    asked: ExplanationView,
    read: Callable[[], ExplanationView],
    cancel: Callable[[], object],
    timeout_seconds: float,
) -> ExplanationView:
    """Return an explanation with its report.

    A wait that is given up, as with Ctrl-C, cancels the question: nobody would read the answer.

    Raises:
        NotExplained: there was none within this time, or the worker could not tell.
    """
    ends_at = time.monotonic() + timeout_seconds
    told = asked
    try:
        while told.state in {"queued", "running"}:
            if time.monotonic() >= ends_at:
                raise NotExplained(
                    f"explanation {asked.number} is {told.state} after {timeout_seconds:g} s; "
                    "workers may be busy with backtests"
                )
            time.sleep(_POLL_SECONDS)
            told = read()
    except KeyboardInterrupt:
        with suppress(ServiceError):
            cancel()
        raise
    if told.state == "cancelled":
        raise NotExplained(f"explanation {asked.number} was cancelled")
    if told.report is None:
        raise NotExplained(f"explanation {asked.number} {told.state}: {told.error}")
    return told
