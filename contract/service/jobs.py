"""Jobs and what they run."""

from typing import Literal

from pydantic import Field

from cep.instants import Instant
from contract.reports import Counters, DiscoveryStatus, OutputReport, RunningState, TimeMode
from contract.service.bases import Answer, OrNewer
from contract.service.processors import PublishedVersion, State

JobState = Literal["starting", "running", "stale", "stopped"]


class JobSummary(Answer):
    """Which job, and whether what it reports is fresh."""

    id: str
    name: str
    state: OrNewer[JobState] = Field(
        description="starting = registered, no heartbeat yet; stale = no heartbeat for too long."
    )
    epoch: int | None = Field(description="The epoch its newest batch ran with.")
    watermark: Instant | None
    heartbeat_at: Instant | None

    @property
    def is_live(self) -> bool:
        """Whether it runs, or is about to."""
        return self.state in {"starting", "running"}


class DiscoveryView(Answer):
    """The status of the source of a job's rules; while it fails, the last good set runs."""

    status: OrNewer[DiscoveryStatus]
    last_success: Instant | None = Field(description="When it was last read.")
    error: str = Field(description="Why it fails.")
    unreadable: int = Field(description="Rules in the source that cannot run.")
    problems: list[str] = Field(description="Why: the first of them.")


class SourceView(Answer):
    """One of several sources of a job."""

    name: str
    newest_event_time: Instant | None = Field(description="The newest event time read from it.")
    idle_since: Instant | None = Field(
        description="Since when it is idle; event time does not wait for it then."
    )


class JobView(JobSummary):
    """A job as it last reported itself."""

    stream: str
    instance_id: str
    properties: dict[str, str]
    registered_at: Instant
    stopped_at: Instant | None
    stop_reason: str
    newest_epoch: int = Field(description="The newest epoch of its stream.")
    batch_id: int | None
    newest_event_time: Instant | None
    time_mode: OrNewer[TimeMode] | None = Field(
        description="What makes event time go on: events; events, or the clock while the source is "
        "silent; processing time. null = not told by the job."
    )
    silent_since: Instant | None = Field(
        description="Since when its source is silent, as long as event time follows the clock."
    )
    sources: list[SourceView] = Field(
        description="The sources of a job with several. Event time is that of the one furthest "
        "behind, of those that are not idle."
    )
    events_per_second: float
    batch_duration_ms: int | None
    batch_running_ms: int | None = Field(
        description="How long the batch under way had been running at the newest heartbeat."
    )
    backlog_events: int | None
    counters: Counters = Field(description="Totals since this instance started.")
    malformed_events: int = Field(description="Events that could not be read since it started.")
    malformed_reason: str = Field(description="Why the first of them could not be read.")
    partial_matches: int
    state_bytes: int
    discovery: DiscoveryView
    failing_outputs: list[OutputReport] = Field(
        description="Outputs that cannot be written; one of these may have ended the job."
    )
    versions: dict[OrNewer[RunningState], int] = Field(
        description="How many versions are in which state."
    )


class InstanceView(Answer):
    """One start of a job."""

    instance_id: str
    registered_at: Instant
    ended_at: Instant | None
    end_reason: str


class JobDetail(JobView):
    """A job with its newest starts, the last one first."""

    instances: list[InstanceView]


class HeldVersionView(Answer):
    """The status of one version of a processor in a job."""

    processor_id: str
    version: int
    state: OrNewer[RunningState]
    since: Instant = Field(description="When this state was first reported.")
    reported_at: Instant
    active_from: Instant | None
    active_until: Instant | None
    counters: Counters
    partial_matches: int
    state_bytes: int
    last_match: Instant | None
    throttled_until: Instant | None = Field(
        description="While its budget is spent: the event time from which it has another."
    )
    interpreted_reason: str = Field(
        description="Why it runs in Python, and not in compiled code; empty if it does not."
    )
    error: str
    traceback: str


class RunningInJob(Answer):
    """One processor in one job: its state and counters over all its versions."""

    job: JobSummary
    state: OrNewer[RunningState] | None = Field(description="Null = the job has not reported it.")
    is_current: bool = Field(
        description="Whether the job has applied the processor's newest change."
    )
    live_version: int | None = Field(description="The version that is active.")
    live_from: Instant | None = Field(description="The event time from which it is active.")
    canary_version: int | None = Field(
        description="The version that runs for a share of the keys beside it."
    )
    next_version: int | None = Field(description="The next version to become active.")
    next_from: Instant | None = Field(description="The event time from which it will be active.")
    matches_last_hour: int
    last_match: Instant | None = Field(
        description="Event time of its newest match, through all restarts of the job."
    )
    partial_matches: int
    state_bytes: int
    errors: int
    left_out: int = Field(description="Matches and timeouts not output because of a limit.")
    dropped: int = Field(description="Open partial matches given up where a version ended.")
    released: int = Field(description="Complete matches that waited behind these, and came out.")
    throttled_until: Instant | None = Field(
        description="While its budget of matches is spent: the event time from which it has "
        "another."
    )
    error: str


class RunningSummary(Answer):
    """One line of the comparison of what is published with what runs."""

    processor_id: str
    state: OrNewer[State]
    published: list[PublishedVersion] = Field(description="What jobs are given, lowest first.")
    jobs: list[RunningInJob]


class RunningVersionsInJob(RunningInJob):
    """One processor in one job, version by version."""

    versions: list[HeldVersionView]

    def version(self, number: int) -> HeldVersionView | None:
        """Return the status of one version in the job, if it has reported any."""
        return next((version for version in self.versions if version.version == number), None)


class RunningView(Answer):
    """The published versions of one processor, and those that each job of its stream runs."""

    processor_id: str
    stream: str
    state: OrNewer[State]
    published: list[PublishedVersion]
    jobs: list[RunningVersionsInJob]


class History(Answer):
    """Series over time, all as long as `times`: counters per bucket, gauges as they were last."""

    bucket_seconds: int
    times: list[Instant] = Field(description="The start of each bucket.")
    series: dict[str, list[int | None]] = Field(
        description="By name; null = no report of a gauge in that bucket."
    )
