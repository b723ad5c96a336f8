"""Views of what is open for one key of a rule, and the wait for jobs to tell.

Client.partial_matches ──ask, again and again──► PartialMatches: job by job
"""

import time
from collections.abc import Callable
from typing import Final

from pydantic import Field

from api.client.views import JobLine, View
from cep.instants import Instant

_POLL_SECONDS: Final = 1.0
_LIVE: Final = frozenset({"starting", "running"})


class TakenStep(View):
    """The events that a partial match has taken for one step, or variable."""

    name: str
    count: int
    first: Instant = Field(description="Event time of the first of them.")
    last: Instant


class AwaitedStep(View):
    """A step that may come next, or must not, with its condition as it is written."""

    name: str
    condition: str


class PartialMatch(View):
    """A partial match of one key.

    `expires` is the event time at which its window closes, `None` without one. With nothing
    awaited it is a match then; an event of a step that is `forbidden` ends it.
    """

    version: int
    steps: list[TakenStep]
    started: Instant
    last: Instant
    expires: Instant | None
    awaited: list[AwaitedStep]
    forbidden: list[AwaitedStep]


class PartialMatchesInJob(View):
    """What one job holds for a key; `answered_at` is `None` as long as it has not told.

    `open` are partial matches, of which the ten farthest are told; `held_back` matches are complete
    and wait for a partial match that began before. `problem` says why the job cannot tell.
    """

    job: JobLine
    answered_at: Instant | None
    batch_id: int | None
    watermark: Instant | None
    open: int
    held_back: int
    partial_matches: list[PartialMatch]
    problem: str


class PartialMatches(View):
    """What is open for one key of a rule, in each running job of its stream."""

    processor_id: str
    stream: str
    key: list[str | int | float | bool | None]
    jobs: list[PartialMatchesInJob]
    jobs_left_out: int

    @property
    def is_whole(self) -> bool:
        """Whether all live jobs have told."""
        live = [each for each in self.jobs if each.job.state in _LIVE]
        return all(each.answered_at is not None for each in live)


def wait_for_answers(read: Callable[[], PartialMatches], timeout_seconds: float) -> PartialMatches:
    """Ask until all live jobs have told, or the time is over; return what they have told."""
    ends_at = time.monotonic() + timeout_seconds
    while True:
        told = read()
        remaining_seconds = ends_at - time.monotonic()
        if told.is_whole or remaining_seconds <= 0:
            return told
        time.sleep(min(_POLL_SECONDS, remaining_seconds))
