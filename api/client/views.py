"""The answers of the service as models; keys added by a newer service are ignored."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from api.client.errors import Flaw
from cep.definition.document import ProcessorId
from cep.instants import Instant
from contract.reports import RunningState


class View(BaseModel):
    """A part of an answer; keys that are not known are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Difference(View):
    """One difference between what runs and what is proposed, or would run."""

    pointer: str
    change: str
    old: Any = None
    new: Any = None


class Stream(View):
    """A stream; `etag` names its definition, for `if_match`, and is empty in lists."""

    name: ProcessorId
    ddl: str = Field(alias="schema")
    event_time_column: str
    allowed_delay_ms: int
    order_by: list[str]
    description: str
    version: int
    epoch: int
    required_approvals: int = 0
    lists_need_approvals: bool = True
    etag: str = ""

    @property
    def document(self) -> dict[str, Any]:
        """The stream document, without keys that have their default."""
        optional = {
            "allowed_delay_ms": self.allowed_delay_ms,
            "order_by": self.order_by,
            "description": self.description,
        }
        return {
            "name": self.name,
            "schema": self.ddl,
            "event_time_column": self.event_time_column,
            **{key: value for key, value in optional.items() if value},
        }


class ProcessorLine(View):
    """One line of a list of processors."""

    id: ProcessorId
    stream: ProcessorId
    state: str = Field(description="published, scheduled, shadow, paused or deleted.")
    version: int = Field(description="The newest version.")
    revision: int = Field(description="Counts every change.")
    description: str
    owner: str
    tags: list[str]
    severity: str | None
    warning_count: int
    updated_at: Instant
    updated_by: str

    @property
    def etag(self) -> str:
        """The state this was read in, for `if_match`."""
        return str(self.revision)


class PublishedVersion(View):
    """A published version; times are milliseconds of event time."""

    version: int
    effective_from: Instant | None
    effective_until: Instant | None


class TriedVersion(View):
    """The version that is tried beside what is published; see `Client.rollout`."""

    version: int
    share_percent: float


class Processor(ProcessorLine):
    """A processor with its newest version."""

    published: list[PublishedVersion]
    rollout: TriedVersion | None = None
    warnings: list[Flaw]
    document: dict[str, Any] = Field(description="The newest version, as `publish_document` takes.")
    withdrawn: list[int] = Field(
        default=[], description="Scheduled versions whose place this change has taken."
    )

    @property
    def is_paused(self) -> bool:
        """Whether jobs do not run it."""
        return self.state == "paused"

    @property
    def newest_is_published(self) -> bool:
        """Whether the newest version is published; false once it was cancelled."""
        return any(published.version == self.version for published in self.published)


class VersionLine(View):
    """One line of the history of a processor."""

    version: int
    effective_from: Instant | None
    effective_until: Instant | None
    is_published: bool
    was_only_tried: bool
    restored_version: int | None
    created_at: Instant
    created_by: str
    comment: str


class Version(VersionLine):
    """One version, whole."""

    warnings: list[Flaw]
    document: dict[str, Any]


class RunningVersion(View):
    """The status of one version in a job."""

    version: int
    state: RunningState
    active_from: Instant | None
    error: str
    traceback: str


class JobLine(View):
    """A job and its state: starting, running, stale or stopped."""

    id: str
    name: str
    state: str


class RunningJob(View):
    """One processor in one job."""

    job: JobLine
    versions: list[RunningVersion]

    def version(self, number: int) -> RunningVersion | None:
        """Return the status of one version in the job, if it has reported any."""
        return next((version for version in self.versions if version.version == number), None)


class Running(View):
    """The versions of one processor that the jobs of a stream run."""

    processor_id: str
    stream: str
    state: str
    jobs: list[RunningJob]
