"""What a job reports to the rule service: its identity, its status, its matches.

    job ──► registration · heartbeats · matches ──► rule service ──► dashboard, alerts

The models are the bodies of its requests and of the answers, so that a job does not depend on the
service. Texts that are too long or cannot be stored are corrected, never refused: a report must not
fail because of its content. docs/jobs.md explains how often to send what.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, field_validator
from pydantic_core import to_json

from cep.definition.document import ProcessorId

VERSIONS_PER_HEARTBEAT: Final = 1_000
MATCHES_PER_POST: Final = 500
PROBLEMS_PER_HEARTBEAT: Final = 10
OUTPUT_BYTES: Final = 16_000
EVENTS_BYTES: Final = 64_000

RunningState = Literal[
    "pending", "active", "shadow", "canary", "draining", "paused", "quarantined", "superseded"
]
DiscoveryStatus = Literal["unknown", "ok", "failing"]
TimeMode = Literal["events", "events_or_clock", "processing"]
MatchKind = Literal["match", "timeout", "shadow", "suppressed"]


def _shortened(limit: int, *, keep_end: bool = False) -> BeforeValidator:
    def mended(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        text = value.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
        if len(text) <= limit:
            return text
        return f"…{text[1 - limit :]}" if keep_end else f"{text[: limit - 1]}…"

    return BeforeValidator(mended)


JobName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="Its name on its stream, the same after every restart.",
        examples=["fraud-job"],
    ),
]
InstanceId = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_-]{8,64}$",
        description="New at every start of the job, such as a UUID.",
        examples=["6f1c1f0e-5a0b-4a30-9d0f-0d3d3f5f2b11"],
    ),
]
# The years 1 to 9999, which `cep.instants.iso_text` can write.
EventTimeMs = Annotated[int, Field(strict=True, ge=-62_135_510_400_000, le=253_402_128_000_000)]
Count = Annotated[int, Field(strict=True, ge=0, lt=2**53)]
Version = Annotated[int, Field(strict=True, ge=1, lt=2**31)]
ErrorText = Annotated[str, _shortened(1_000)]
Traceback = Annotated[str, _shortened(4_000, keep_end=True)]
ShortText = Annotated[str, _shortened(200)]


class _Report(BaseModel):
    # A newer job may add keys; a service that does not know them still reads the rest.
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class JobRegistration(_Report):
    """One start of a job; the instance before it, if it still runs somewhere, is superseded."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "instance_id": "6f1c1f0e-5a0b-4a30-9d0f-0d3d3f5f2b11",
                    "properties": {"percept": "0.1.0", "spark": "4.3.0", "host": "driver-1"},
                }
            ]
        }
    )

    instance_id: InstanceId
    properties: dict[ShortText, ShortText] = Field(
        default={}, max_length=20, description="Information for operators: versions, host, links."
    )


class RegisteredJob(_Report):
    """The answer to a registration: under which id to report, and how often."""

    id: str
    heartbeat_seconds: float = Field(description="Send a heartbeat this often.")
    stale_after_seconds: float = Field(description="Without a heartbeat for this long it is stale.")
    versions_per_heartbeat: int
    matches_per_post: int


class Counters(_Report):
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
    shadow: Count = Field(
        default=0,
        description="Finds that do not count: of a version in shadow, or on keys whose share "
        "another version has. They are in no other number.",
    )
    suppressed: Count = Field(
        default=0,
        description="Matches that did not go out, as `alert.suppress` says; in no other number.",
    )


class RunningVersion(_Report):
    """The status of one version of a processor in the job."""

    processor_id: ProcessorId
    version: Version
    state: RunningState = Field(
        description="superseded = no longer runs: replaced, deleted, or its interval has ended. "
        "It is reported once, and again if its last events are counted later."
    )
    active_from_ms: EventTimeMs | None = Field(
        default=None, description="The event time from which it is, or will be, active."
    )
    active_until_ms: EventTimeMs | None = Field(
        default=None, description="The first event time at which it is no longer active."
    )
    counters: Counters = Counters()
    partial_matches: Count = Field(default=0, description="Started and still open.")
    state_bytes: Count = 0
    last_match_ms: EventTimeMs | None = Field(default=None, description="End of its newest match.")
    error: ErrorText = Field(default="", description="Why it is quarantined; cut at 1,000.")
    traceback: Traceback = Field(default="", description="The last 4,000 characters are kept.")


class DiscoveryReport(_Report):
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


class Heartbeat(_Report):
    """The status of the job, and of the processors that have changed since the heartbeat before.

    `versions` contains only what has changed; other versions stay as last reported. `report_parts`
    chooses what to send.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "instance_id": "6f1c1f0e-5a0b-4a30-9d0f-0d3d3f5f2b11",
                    "sequence": 17,
                    "epoch": 3,
                    "batch_id": 120,
                    "watermark_ms": 1800000000000,
                    "newest_event_ms": 1800000005000,
                    "time_mode": "events",
                    "events_per_second": 48211.5,
                    "batch_duration_ms": 1830,
                    "backlog_events": 0,
                    "counters": {"events": 9812200, "matches": 41, "late": 3},
                    "versions": [
                        {
                            "processor_id": "failed-logins",
                            "version": 2,
                            "state": "active",
                            "active_from_ms": 1799999000001,
                            "counters": {"events": 51200, "matches": 41},
                            "partial_matches": 312,
                            "last_match_ms": 1799999990000,
                        }
                    ],
                    "held_versions": 1,
                }
            ]
        }
    )

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
    events_per_second: float = Field(default=0, strict=True, ge=0, le=1e12)
    batch_duration_ms: Count | None = None
    batch_running_ms: Count | None = Field(
        default=None,
        description="How long the batch under way has been running; null between batches. "
        "Heartbeats are sent while a batch hangs, too.",
    )
    backlog_events: Count | None = Field(default=None, description="Known at the source, unread.")
    counters: Counters = Counters()
    partial_matches: Count = 0
    state_bytes: Count = 0
    discovery: DiscoveryReport = DiscoveryReport()
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


class HeartbeatAnswer(_Report):
    """The answer of the service to a heartbeat."""

    resend_all: bool = Field(
        description="The service does not have `held_versions` versions: report all again."
    )
    newest_epoch: int = Field(description="The newest epoch of the stream.")


class JobStop(_Report):
    """A job announces that it stops, so that missing heartbeats raise no alarm."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "instance_id": "6f1c1f0e-5a0b-4a30-9d0f-0d3d3f5f2b11",
                    "reason": "stopped by its operator",
                }
            ]
        }
    )

    instance_id: InstanceId
    reason: ErrorText = ""


class ReportedMatch(_Report):
    """One match, or one partial match that ran out of time."""

    match_id: str = Field(
        pattern=r"^[A-Za-z0-9_-]{16,128}$",
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
        limit = OUTPUT_BYTES if info.field_name == "output" else EVENTS_BYTES
        if (given := len(to_json(value))) > limit:
            raise ValueError(f"{given} bytes of JSON, the limit is {limit}; send less of it")
        return value


class MatchReport(_Report):
    """Matches that a job has found."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "job": "fraud-job",
                    "matches": [
                        {
                            "match_id": "7d1f3b6e9a5c4d20",
                            "processor_id": "failed-logins",
                            "version": 2,
                            "epoch": 3,
                            "key": ["eve"],
                            "start_ms": 1799999900000,
                            "end_ms": 1799999990000,
                            "output": {"user": "eve", "failures": 3},
                            "events": {"login": [{"user": "eve", "action": "login"}]},
                        }
                    ],
                }
            ]
        }
    )

    job: JobName
    matches: list[ReportedMatch] = Field(max_length=MATCHES_PER_POST)


class MatchReceipt(_Report):
    """The result of posting matches."""

    added: int
    known: int = Field(description="Posted before; not added again.")
