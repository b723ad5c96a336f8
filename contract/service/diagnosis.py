"""Why a rule has found nothing yet."""

from typing import Final, Literal

from pydantic import Field

from cep.instants import Instant
from contract.reports import Counters, RunningState
from contract.service.bases import Answer, OrNewer
from contract.service.jobs import JobSummary

LONGEST_KEY: Final = 2_000


class FunnelStep(Answer):
    """How far the partial matches of a version got: one step of its pattern."""

    name: str = Field(description="The step, or the variable of a clause.")
    condition: str = Field(description='As it is written, cut at 500; "" = every event fits.')
    is_forbidden: bool = Field(description="Its events must not come, so that it takes none.")
    is_optional: bool = Field(description="There are matches without it.")
    reached: int = Field(description="Partial matches that took their first event for it.")
    events: int = Field(description="Events that they took for it, in all.")
    timed_out: int = Field(description="Their window closed with this as their last step.")
    broken: int = Field(
        description="The next event ended them: it was forbidden, or came where only the next step "
        "may follow."
    )
    pruned: int = Field(
        description="`after_match_skip` gave them up for a match; complete ones that waited, too."
    )
    dropped: int = Field(
        description="They were given up when the version was paused, deleted, replaced or over."
    )
    stopped: int = Field(
        description="They were given up when the version was quarantined, for a limit or an error."
    )
    last_event: Instant | None = Field(description="Event time of the newest event it took.")


class FunnelVersion(Answer):
    """The funnel of one version in one job."""

    version: int
    state: OrNewer[RunningState]
    counters: Counters
    partial_matches: int = Field(description="Started and still open.")
    is_counted: bool = Field(
        description="Whether steps are counted: not for a clause that is searched row by row."
    )
    steps: list[FunnelStep] = Field(description="In the order of the pattern.")


class FunnelInJob(Answer):
    """The funnels of the versions of one rule that a job holds or has held."""

    job: JobSummary
    since: Instant = Field(description="When the job was started; it counts from then on.")
    versions: list[FunnelVersion]


class Funnel(Answer):
    """How far the partial matches of a rule get, in each job of its stream."""

    processor_id: str
    stream: str
    jobs: list[FunnelInJob]


Link = Literal[
    "rule",
    "job",
    "heartbeat",
    "batches",
    "rules",
    "version",
    "source",
    "watermark",
    "conditions",
    "steps",
    "output",
]
LinkState = Literal["ok", "attention", "unknown"]


class DiagnosisLine(Answer):
    """One link of the chain from events to matches."""

    link: OrNewer[Link]
    state: OrNewer[LinkState] = Field(
        description="attention = this may be why; unknown = cannot be told."
    )
    job: str | None = Field(description="In which job; null = of the rule or of all jobs.")
    title: str
    detail: str = Field(description="What it means.")
    remedy: str = Field(description="What to do about it.")
    at: Instant | None = Field(description="Since when, or as of when.")


class Diagnosis(Answer):
    """Why a rule finds nothing: the chain from events to matches, link by link."""

    processor_id: str
    stream: str
    at: Instant = Field(description="Now, by the clock of the service.")
    matches: int = Field(description="What its jobs have found since they were started.")
    reason: str = Field(
        description='The first link that needs attention, in words; "" = none does.'
    )
    lines: list[DiagnosisLine] = Field(description="In the order of the chain, job by job.")
    jobs_left_out: int = Field(description="How many more jobs there are than are told of.")


class TakenStepView(Answer):
    """The events that a partial match has taken for one step, or variable."""

    name: str
    count: int
    first: Instant = Field(description="Event time of the first of them.")
    last: Instant


class AwaitedStep(Answer):
    """A step that may come next, or must not."""

    name: str
    condition: str = Field(description='As it is written, cut at 500; "" = every event fits.')


class OpenPartialMatchView(Answer):
    """A partial match of one key."""

    version: int
    steps: list[TakenStepView] = Field(description="In the order of their first events.")
    started: Instant
    last: Instant = Field(description="Event time of its newest event.")
    expires: Instant | None = Field(
        description="The event time at which its window closes; null = it has none."
    )
    awaited: list[AwaitedStep] = Field(
        description="The steps it can take next; none = it is a match when its window closes."
    )
    forbidden: list[AwaitedStep] = Field(description="An event of one of these ends it.")


class PartialMatchesInJob(Answer):
    """What one job holds for a key, after the newest batch of which it has told."""

    job: JobSummary
    answered_at: Instant | None = Field(
        description="null = it has not told yet: it does with the next batch that reads an event."
    )
    batch_id: int | None = None
    watermark: Instant | None = Field(default=None, description="Events up to this time are in it.")
    open: int = Field(default=0, description="How many partial matches are open.")
    held_back: int = Field(
        default=0,
        description="How many matches are complete and wait for a partial match that began before.",
    )
    partial_matches: list[OpenPartialMatchView] = Field(
        default=[], description="The ten that have come farthest; the newest version first."
    )
    problem: str = Field(default="", description="Why the job cannot tell.")


class PartialMatchesOfKey(Answer):
    """What is open for one key of a rule, in each running job of its stream."""

    processor_id: str
    stream: str
    key: list[str | int | float | bool | None] = Field(
        description="The values of `key_by`, in its order."
    )
    at: Instant = Field(description="Now, by the clock of the service.")
    asked_until: Instant = Field(
        description="Jobs answer after each batch until then; every request puts it off."
    )
    jobs: list[PartialMatchesInJob]
    jobs_left_out: int = Field(description="How many more jobs there are than are told of.")

    @property
    def is_whole(self) -> bool:
        """Whether all live jobs have told."""
        return all(each.answered_at is not None for each in self.jobs if each.job.is_live)
