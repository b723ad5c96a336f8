"""The tables of jobs: each job, its starts, what it runs, and a short history of its counters."""

from sqlalchemy import BigInteger, Float, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from api.store.database import Name, Record

_JOB = "jobs.id"


class Counted:
    """The counters that jobs and their processors have in common."""

    events: Mapped[int] = mapped_column(BigInteger, default=0)
    matches: Mapped[int] = mapped_column(BigInteger, default=0)
    timeouts: Mapped[int] = mapped_column(BigInteger, default=0)
    errors: Mapped[int] = mapped_column(BigInteger, default=0)
    late: Mapped[int] = mapped_column(BigInteger, default=0)
    left_out: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    dropped: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    released: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    shadow: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    suppressed: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    grouped: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    unsuppressed: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")


class Job(Counted, Record):
    """One job of a stream, through all its restarts, as its newest instance reports it.

    Counters are totals since that instance started. `sequence` is that of its newest heartbeat. As
    JSON, `discovery` is its `contract.reports.DiscoveryReport`, `sources` a list of `SourceReport`
    and `failing_outputs` one of `OutputReport`, which stays after an end until another instance
    reports.
    """

    __tablename__ = "jobs"
    __table_args__ = (UniqueConstraint("stream", "name"),)

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    stream: Mapped[str] = mapped_column(Name, ForeignKey("streams.name"))
    name: Mapped[str] = mapped_column(Name)
    instance_id: Mapped[str] = mapped_column(String(64))
    properties: Mapped[str] = mapped_column(Text)
    registered_at_ms: Mapped[int] = mapped_column(BigInteger)
    heartbeat_at_ms: Mapped[int | None] = mapped_column(BigInteger)
    stopped_at_ms: Mapped[int | None] = mapped_column(BigInteger)
    stop_reason: Mapped[str] = mapped_column(Text, default="")
    sequence: Mapped[int] = mapped_column(BigInteger, default=0)
    epoch: Mapped[int | None] = mapped_column(BigInteger)
    batch_id: Mapped[int | None] = mapped_column(BigInteger)
    watermark_ms: Mapped[int | None] = mapped_column(BigInteger)
    newest_event_ms: Mapped[int | None] = mapped_column(BigInteger)
    time_mode: Mapped[str | None] = mapped_column(String(20))
    silent_since_ms: Mapped[int | None] = mapped_column(BigInteger)
    events_per_second: Mapped[float] = mapped_column(Float, default=0)
    batch_duration_ms: Mapped[int | None] = mapped_column(BigInteger)
    batch_running_ms: Mapped[int | None] = mapped_column(BigInteger)
    backlog_events: Mapped[int | None] = mapped_column(BigInteger)
    malformed_events: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    malformed_reason: Mapped[str] = mapped_column(Text, default="", server_default="")
    partial_matches: Mapped[int] = mapped_column(BigInteger, default=0)
    state_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    discovery: Mapped[str] = mapped_column(Text, default="{}", server_default="{}")
    sources: Mapped[str] = mapped_column(Text, default="[]", server_default="[]")
    failing_outputs: Mapped[str] = mapped_column(Text, default="[]", server_default="[]")


class JobInstance(Record):
    """One start of a job; an instance that has ended never comes back."""

    __tablename__ = "job_instances"

    job_id: Mapped[str] = mapped_column(
        String(16), ForeignKey(_JOB, ondelete="CASCADE"), primary_key=True
    )
    instance_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    registered_at_ms: Mapped[int] = mapped_column(BigInteger)
    ended_at_ms: Mapped[int | None] = mapped_column(BigInteger)
    end_reason: Mapped[str] = mapped_column(Text, default="")


class HeldVersion(Counted, Record):
    """The last report of a job on one version of a processor, which may be unknown here.

    `since_ms` is when this state was first reported. `steps` is its funnel, a list of
    `contract.reports.StepReport` as JSON.
    """

    __tablename__ = "held_versions"

    job_id: Mapped[str] = mapped_column(
        String(16), ForeignKey(_JOB, ondelete="CASCADE"), primary_key=True
    )
    processor_id: Mapped[str] = mapped_column(Name, primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    state: Mapped[str] = mapped_column(String(16))
    since_ms: Mapped[int] = mapped_column(BigInteger)
    reported_at_ms: Mapped[int] = mapped_column(BigInteger)
    active_from_ms: Mapped[int | None] = mapped_column(BigInteger)
    active_until_ms: Mapped[int | None] = mapped_column(BigInteger)
    partial_matches: Mapped[int] = mapped_column(BigInteger)
    state_bytes: Mapped[int] = mapped_column(BigInteger)
    last_match_ms: Mapped[int | None] = mapped_column(BigInteger)
    throttled_until_ms: Mapped[int | None] = mapped_column(BigInteger)
    interpreted_reason: Mapped[str] = mapped_column(Text, default="", server_default="")
    error: Mapped[str] = mapped_column(Text)
    traceback: Mapped[str] = mapped_column(Text)
    steps: Mapped[str] = mapped_column(Text, default="[]", server_default="[]")


class LastMatch(Record):
    """The event time of the newest match of a processor in a job, through all its restarts."""

    __tablename__ = "last_matches"

    job_id: Mapped[str] = mapped_column(
        String(16), ForeignKey(_JOB, ondelete="CASCADE"), primary_key=True
    )
    processor_id: Mapped[str] = mapped_column(Name, primary_key=True)
    end_ms: Mapped[int] = mapped_column(BigInteger)


class JobBucket(Counted, Record):
    """What a job counted from `start_ms` on, for one minute; gauges are the newest in it."""

    __tablename__ = "job_buckets"

    job_id: Mapped[str] = mapped_column(
        String(16), ForeignKey(_JOB, ondelete="CASCADE"), primary_key=True
    )
    start_ms: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    watermark_delay_ms: Mapped[int | None] = mapped_column(BigInteger)
    batch_duration_ms: Mapped[int | None] = mapped_column(BigInteger)
    backlog_events: Mapped[int | None] = mapped_column(BigInteger)
    partial_matches: Mapped[int | None] = mapped_column(BigInteger)
    state_bytes: Mapped[int | None] = mapped_column(BigInteger)


class ProcessorBucket(Counted, Record):
    """What a processor counted in a job from `start_ms` on, for five minutes; none if nothing.

    Both indexes contain the whole key: one is for removing old buckets, one for reading a series.
    """

    __tablename__ = "processor_buckets"
    __table_args__ = (Index(None, "job_id", "processor_id", "start_ms"),)

    job_id: Mapped[str] = mapped_column(
        String(16), ForeignKey(_JOB, ondelete="CASCADE"), primary_key=True
    )
    start_ms: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    processor_id: Mapped[str] = mapped_column(Name, primary_key=True)
