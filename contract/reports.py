"""What a job reports to the rule service: its identity, its status, its matches.

    job ──► registration · heartbeats · matches ──► rule service ──► dashboard, alerts

The models are the bodies of its requests and of the answers, so that a job does not depend on the
service. Texts that are too long or cannot be stored are corrected, never refused: a report must not
fail because of its content. docs/jobs.md explains how often to send what.
"""

from typing import Any, Final, Literal

from pydantic import Field, JsonValue, field_validator
from pydantic_core import to_json

from cep.definition.document import ProcessorId
from contract.asked_keys import KEYS_ASKED, AskedKey
from contract.report_values import (
    Count,
    ErrorText,
    EventTimeMs,
    InstanceId,
    JobName,
    Report,
    ShortText,
    Traceback,
    Version,
    storable,
)

VERSIONS_PER_HEARTBEAT: Final = 1_000
MATCHES_PER_POST: Final = 500
PROBLEMS_PER_HEARTBEAT: Final = 10
OUTPUTS_PER_HEARTBEAT: Final = 20
SOURCES_PER_HEARTBEAT: Final = 20
STEPS_PER_VERSION: Final = 200
OUTPUT_BYTES: Final = 16_000
EVENTS_BYTES: Final = 64_000
FAILED_EVENT_BYTES: Final = 4_000
LEFT_OUT: Final = "percept_left_out"
"""Key of the object that replaces what is left out; its value says what that was."""

RunningState = Literal[
    "pending", "active", "shadow", "canary", "draining", "paused", "quarantined", "superseded"
]
DiscoveryStatus = Literal["unknown", "ok", "failing"]
TimeMode = Literal["events", "events_or_clock", "processing"]
MatchKind = Literal["match", "timeout", "shadow", "suppressed", "grouped"]


class JobRegistration(Report):
    """One start of a job; the instance before it, if it still runs somewhere, is superseded."""

    instance_id: InstanceId
    properties: dict[ShortText, ShortText] = Field(
        default={}, max_length=20, description="Information for operators: versions, host, links."
    )


class RegisteredJob(Report):
    """The answer to a registration: under which id to report, and how often."""

    id: str
    heartbeat_seconds: float = Field(description="Send a heartbeat this often.")
    stale_after_seconds: float = Field(description="Without a heartbeat for this long it is stale.")
    versions_per_heartbeat: int
    matches_per_post: int


class Counters(Report):
    """Totals since this instance started; never decreasing, so a lost heartbeat loses nothing."""

    events: Count = 0
    matches: Count = 0
    timeouts: Count = 0
    errors: Count = 0
    late: Count = 0
    left_out: Count = Field(
        default=0,
        description="Matches and timeouts that were found and not output, because of a limit.",
    )
    dropped: Count = Field(
        default=0,
        description="Open partial matches given up when a version was paused, deleted, replaced "
        "or over.",
    )
    released: Count = Field(
        default=0,
        description="Complete matches that waited behind those given up, and came out then.",
    )
    shadow: Count = Field(
        default=0,
        description="Matches that do not count: of a version in shadow, or on keys whose share "
        "another version has. They are in no other number; timeouts that do not count are in none.",
    )
    suppressed: Count = Field(
        default=0,
        description="Matches that did not go out, as `alert` says; in no other number.",
    )
    grouped: Count = Field(
        default=0,
        description="Matches that another one, which went out, stands for; in no other number.",
    )
    unsuppressed: Count = Field(
        default=0,
        description="Those of `matches` that went out only because their key had as many different "
        "values of `by` as are remembered.",
    )


class StepReport(Report):
    """How far the partial matches of a version got: one step of its funnel.

    Totals since this instance started. A partial match that several events could continue branches,
    and each branch counts.
    """

    name: ShortText = Field(description="The step, or the variable of a clause.")
    reached: Count = Field(
        default=0, description="Partial matches that took their first event for this step."
    )
    events: Count = Field(default=0, description="Events that they took for it, in all.")
    timed_out: Count = Field(
        default=0, description="Partial matches whose window closed with this as their last step."
    )
    broken: Count = Field(
        default=0,
        description="Partial matches that the next event ended here: it was forbidden, or came "
        "where only the next step may follow.",
    )
    pruned: Count = Field(
        default=0,
        description="Partial matches with this as their last step that `after_match_skip` gave up "
        "for a match that came out; complete ones that waited for it, too.",
    )
    dropped: Count = Field(
        default=0,
        description="Partial matches with this as their last step that were given up when the "
        "version was paused, deleted, replaced or over: its counter `dropped`, by step.",
    )
    stopped: Count = Field(
        default=0,
        description="Partial matches with this as their last step that were given up when the "
        "version was quarantined, for a limit or an error.",
    )
    last_event_ms: EventTimeMs | None = Field(
        default=None, description="Event time of the newest event it took."
    )


class FailedAt(Report):
    """Where in the events a version failed."""

    key: list[str | int | float | bool | None] = Field(
        default=[], max_length=20, description="The values of `key_by`, in its order."
    )
    time_ms: EventTimeMs | None = Field(default=None, description="Event time of the failure.")
    event: dict[str, JsonValue] | None = Field(
        default=None,
        description="The event at which it failed, what is more than 4 kB left out. Null = it "
        "failed at none, such as when a window closed, or its event was not told.",
    )

    @field_validator("event", mode="before")
    @classmethod
    def _mend(cls, event: Any) -> Any:
        mended = storable(event)
        size_bytes = len(to_json(mended))
        if size_bytes <= FAILED_EVENT_BYTES:
            return mended
        return {LEFT_OUT: f"an event of {size_bytes} bytes"}


class RunningVersion(Report):
    """The status of one version of a processor in the job."""

    processor_id: ProcessorId
    version: Version
    state: RunningState = Field(
        description="superseded = no longer runs: replaced, deleted, or its interval has ended. "
        "It is reported once, and again if its last events are counted later."
    )
    active_from_ms: EventTimeMs | None = Field(
        default=None,
        description="The event time from which it is, or will be, active; of one that is tried, "
        "from which it is tried.",
    )
    active_until_ms: EventTimeMs | None = Field(
        default=None, description="The first event time at which it is no longer active."
    )
    counters: Counters = Counters()
    partial_matches: Count = Field(default=0, description="Started and still open.")
    state_bytes: Count = 0
    last_match_ms: EventTimeMs | None = Field(default=None, description="End of its newest match.")
    throttled_until_ms: EventTimeMs | None = Field(
        default=None,
        description="While its budget is spent: the event time from which it has another.",
    )
    interpreted_reason: ErrorText = Field(
        default="",
        description="Why it runs in Python, and not in compiled code; empty if it does not.",
    )
    steps: list[StepReport] = Field(
        default=[],
        max_length=STEPS_PER_VERSION,
        description="Its funnel, in any order; steps at which nothing happened are left out.",
    )
    error: ErrorText = Field(default="", description="Why it is quarantined; cut at 1,000.")
    traceback: Traceback = Field(default="", description="The last 4,000 characters are kept.")
    failed_at: FailedAt | None = Field(
        default=None, description="Where it failed, if it is quarantined for that."
    )


class DiscoveryReport(Report):
    """The status of the source of the job's processors; while it fails, the last good set runs."""

    status: DiscoveryStatus = "unknown"
    last_success_ms: EventTimeMs | None = Field(
        default=None, description="When it was last read, by the clock of the job."
    )
    error: ErrorText = Field(default="", description="Why it fails.")
    unreadable: Count = Field(
        default=0, description="Processors of the newest set that cannot run."
    )
    problems: list[ErrorText] = Field(
        default=[], max_length=PROBLEMS_PER_HEARTBEAT, description="Why: the first of them."
    )


class OutputReport(Report):
    """An output of the job that could not be written with the newest rows for it."""

    name: ShortText
    error: ErrorText = Field(default="", description="Why, and what to do.")
    lost_rows: Count = Field(
        default=0,
        description="Rows given up since this instance started, as `on_failure: skip` says; "
        "without it nothing is lost, and the job ends.",
    )


class SourceReport(Report):
    """One of several sources of the job."""

    name: ShortText
    newest_event_ms: EventTimeMs | None = Field(
        default=None, description="The newest event time that was read from it."
    )
    idle_since_ms: EventTimeMs | None = Field(
        default=None,
        description="Since when it is idle, by the clock of the job; event time does not wait for "
        "it then.",
    )


class Heartbeat(Report):
    """The status of the job, and of the processors that have changed since the heartbeat before.

    `versions` contains only what has changed; other versions stay as last reported. `report_parts`
    chooses what to send.
    """

    instance_id: InstanceId
    sequence: int = Field(
        strict=True,
        ge=1,
        lt=2**53,
        description="Increases with every heartbeat; otherwise it is a repetition.",
    )
    epoch: Count | None = Field(default=None, description="Of the newest batch.")
    batch_id: Count | None = None
    watermark_ms: EventTimeMs | None = None
    newest_event_ms: EventTimeMs | None = Field(
        default=None,
        description="The newest event time that was read, or that came by the clock.",
    )
    time_mode: TimeMode | None = Field(
        default=None,
        description="What makes event time go on. events = new events only: after the last one, "
        "windows stay open. events_or_clock = the clock, too, once the source has been silent for "
        "a time. processing = the time at which an event is read counts.",
    )
    silent_since_ms: EventTimeMs | None = Field(
        default=None,
        description="Since when the source is silent, by the clock of the job, as long as event "
        "time follows the clock.",
    )
    sources: list[SourceReport] = Field(
        default=[],
        max_length=SOURCES_PER_HEARTBEAT,
        description="The sources of a job with several. Event time is that of the one furthest "
        "behind of those that are not idle.",
    )
    events_per_second: float = Field(default=0, strict=True, ge=0, le=1e12)
    batch_duration_ms: Count | None = None
    batch_running_ms: Count | None = Field(
        default=None,
        description="How long the batch under way has been running; null between batches. "
        "Heartbeats are sent while a batch hangs, too.",
    )
    backlog_events: Count | None = Field(default=None, description="Known at the source, unread.")
    counters: Counters = Counters()
    malformed_events: Count = Field(
        default=0, description="Events that could not be read, since this instance started."
    )
    malformed_reason: ErrorText = Field(default="", description="Why the first could not be.")
    partial_matches: Count = 0
    state_bytes: Count = 0
    discovery: DiscoveryReport = DiscoveryReport()
    failing_outputs: list[OutputReport] = Field(
        default=[],
        max_length=OUTPUTS_PER_HEARTBEAT,
        description="A job that ends because of one tells it with its last heartbeat.",
    )
    versions: list[RunningVersion] = Field(default=[], max_length=VERSIONS_PER_HEARTBEAT)
    replaces_all: bool = Field(
        default=False,
        strict=True,
        description="This starts a full report: versions that it does not name no longer run.",
    )
    held_versions: Count | None = Field(
        default=None,
        description="How many versions the job holds in all, without superseded ones; left out "
        "while a report of many parts is under way.",
    )


class HeartbeatAnswer(Report):
    """The answer of the service to a heartbeat."""

    resend_all: bool = Field(
        description="The service does not have `held_versions` versions: report all again."
    )
    newest_epoch: int = Field(description="The newest epoch of the stream.")
    asked_keys: list[AskedKey] = Field(
        default=[],
        max_length=KEYS_ASKED,
        description="Keys that somebody asks about: answer after the next batch, and after each "
        "one as long as they are asked about.",
    )


class JobStop(Report):
    """A job announces that it stops, so that missing heartbeats raise no alarm."""

    instance_id: InstanceId
    reason: ErrorText = ""


_MATCH_ID: Final = r"^[A-Za-z0-9_-]{16,128}$"
_GROUP_ID: Final = r"[0-9a-f]{16,64}"


class ReportedMatch(Report):
    """One match, or one partial match that ran out of time."""

    match_id: str = Field(
        pattern=_MATCH_ID,
        description="The same when a batch is replayed; a known match is not added again.",
    )
    kind: MatchKind = Field(
        default="match", description="shadow = found by a version whose finds do not count there."
    )
    identity: str = Field(
        default="",
        pattern=r"^([0-9a-f]{16,64})?$",
        description="Of the rule, the key and the events, whatever the version: equal for what "
        "two versions of a rule both find. Empty = not told.",
    )
    group_id: str = Field(
        default="",
        pattern=rf"^({_GROUP_ID})?$",
        description="The group it is in, if its rule makes one alert of several. Empty = none.",
    )
    processor_id: ProcessorId
    version: Version
    epoch: Count
    key: list[str | int | float | bool | None] = Field(
        default=[], max_length=20, description="The values of `key_by`, in its order."
    )
    start_ms: EventTimeMs = Field(description="Event time of the first event.")
    end_ms: EventTimeMs = Field(description="Event time at which it was found, or timed out.")
    output: JsonValue = Field(
        default=None, description="The result of `select` or the process function, at most 16 kB."
    )
    events: dict[str, list[dict[str, JsonValue]]] = Field(
        default={}, description="The events by step, at most 64 kB."
    )

    @field_validator("output", "events")
    @classmethod
    def _check_size(cls, value: Any, info: Any) -> Any:
        return _checked_size(value, OUTPUT_BYTES if info.field_name == "output" else EVENTS_BYTES)


class ReportedGroup(Report):
    """How many matches one that went out stands for, told when the window of its group is over."""

    match_id: str = Field(
        pattern=_MATCH_ID, description="The match that went out: the first of the group."
    )
    group_id: str = Field(pattern=f"^{_GROUP_ID}$")
    processor_id: ProcessorId
    version: Version = Field(description="That of the match that went out.")
    matches: int = Field(
        strict=True, ge=1, lt=2**53, description="How many the group had, that one included."
    )
    keys: Count = Field(description="Of how many keys they were.")
    keys_are_estimated: bool = Field(default=False, strict=True)
    group: dict[str, JsonValue] = Field(
        default={}, description="The output columns they have in common, at most 16 kB."
    )
    is_rest: bool = Field(
        default=False,
        strict=True,
        description="Whether these are all groups that had no place of their own.",
    )
    from_ms: EventTimeMs = Field(description="Event time at which the window of the group begins.")
    until_ms: EventTimeMs = Field(description="The first event time after the window.")

    @field_validator("group")
    @classmethod
    def _check_size(cls, value: Any) -> Any:
        return _checked_size(value, OUTPUT_BYTES)


def _checked_size(value: Any, limit: int) -> Any:
    if (given := len(to_json(value))) > limit:
        raise ValueError(f"{given} bytes of JSON, the limit is {limit}; send less of it")
    return value


class MatchReport(Report):
    """Matches that a job has found, and what matches stand for, of this report or of others."""

    job: JobName
    matches: list[ReportedMatch] = Field(max_length=MATCHES_PER_POST)
    groups: list[ReportedGroup] = Field(
        default=[],
        max_length=MATCHES_PER_POST,
        description="In any order; the same may be told again. Of several about one match that "
        "with the most matches holds.",
    )


class MatchReceipt(Report):
    """The result of posting matches."""

    added: int
    known: int = Field(description="Posted before; not added again.")
