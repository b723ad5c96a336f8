"""Views of why a rule has found nothing yet.

Client.diagnosis ──► Diagnosis: the chain from events to matches, link by link
Client.funnel    ──► Funnel: by job and version, how far partial matches get, step by step
"""

from pydantic import Field

from api.client.views import JobLine, View
from cep.instants import Instant
from contract.reports import Counters, RunningState


class FunnelStep(View):
    """How far the partial matches of a version got: one step of its pattern.

    `reached` partial matches took their first event for it, and `events` in all. `timed_out`,
    `broken`, `pruned`, `dropped` (with the version) and `stopped` (by a limit or an error) ended
    with it as their last step; `last_event` is the event time of the newest event it took. A step
    that `is_forbidden` takes none, and there are matches without one that `is_optional`.
    """

    name: str
    condition: str
    is_forbidden: bool
    is_optional: bool
    reached: int
    events: int
    timed_out: int
    broken: int
    pruned: int
    dropped: int
    stopped: int
    last_event: Instant | None


class FunnelVersion(View):
    """The funnel of one version in one job; `is_counted` is false where steps are not counted."""

    version: int
    state: RunningState
    counters: Counters
    partial_matches: int
    is_counted: bool
    steps: list[FunnelStep]


class FunnelInJob(View):
    """The funnels of a rule in one job, counted since it was started, the newest version first."""

    job: JobLine
    since: Instant = Field(description="When the job was started.")
    versions: list[FunnelVersion]


class Funnel(View):
    """How far the partial matches of a rule get, in each job of its stream."""

    processor_id: str
    stream: str
    jobs: list[FunnelInJob]


class DiagnosisLine(View):
    """One link of the chain from events to matches.

    `state` is ok, attention (this may be why) or unknown; `remedy` is what to do, `at` since when.
    """

    link: str
    state: str
    job: str | None
    title: str
    detail: str
    remedy: str
    at: Instant | None


class Diagnosis(View):
    """Why a rule finds nothing; `reason` is the first link that needs attention, "" = none does."""

    processor_id: str
    stream: str
    matches: int
    reason: str
    lines: list[DiagnosisLine]
    jobs_left_out: int
