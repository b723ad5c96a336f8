"""Views of why a rule found no match for a key in a span of the past, and the wait for the answer.

Client.why_no_match ──ask──► a worker with the archive ──► Explanation: report, the same in words
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from pydantic import Field

from api.client.errors import ServiceError
from api.client.views import View
from cep.instants import Instant
from cep.trials.reports import SpanReport

_POLL_SECONDS: Final = 0.5


class NotExplained(ServiceError):
    """No worker has told within the time that was given, or one could not tell; says why."""


class ExplanationLine(View):
    """A line of a report in words; `style` is bold, green, red, yellow or empty."""

    text: str
    style: str


class Explanation(View):
    """Why a rule found no match for a key in a span.

    `state` is queued, running, done, failed or cancelled. `not_regarded` says what may hold matches
    back of which the report does not tell; `lines` end with it.
    """

    number: int
    processor_id: str
    stream: str
    version: int
    key: list[Any]
    since: Instant
    until: Instant
    state: str
    worker: str
    error: str
    report: SpanReport | None = Field(description="None as long as no worker has told.")
    not_regarded: list[str] = Field(default=[])
    lines: list[ExplanationLine]


def wait_for_explanation(
    asked: Explanation,
    read: Callable[[], Explanation],
    cancel: Callable[[], object],
    timeout_seconds: float,
) -> Explanation:
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
