"""Processors, their versions, and how these differ."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, GetPydanticSchema
from pydantic_core import core_schema

from cep.definition.document import ProcessorDocument, Tag
from cep.instants import Instant
from contract.service.bases import Answer, OrNewer, Request
from contract.service.problems import Flaw

PUBLISHED: Final = "published"
SCHEDULED: Final = "scheduled"
PAUSED: Final = "paused"
DELETED: Final = "deleted"
SHADOW: Final = "shadow"
State = Literal["published", "scheduled", "shadow", "paused", "deleted"]

# Any mapping passes, and is described as a processor document: the check of the document says more
# about what is wrong than the framework would, and all of it at once.
ProcessorBody = Annotated[
    dict[str, Any],
    GetPydanticSchema(
        get_pydantic_core_schema=lambda _type, _handler: core_schema.dict_schema(
            core_schema.str_schema(), core_schema.any_schema()
        ),
        get_pydantic_json_schema=lambda _schema, handler: handler(
            ProcessorDocument.__pydantic_core_schema__
        ),
    ),
]


class ProcessorSummary(Answer):
    """One line of a list of processors."""

    id: str
    stream: str
    state: OrNewer[State] = Field(
        description="scheduled = published, with a version that begins later than now; "
        "shadow = not published yet, only tried."
    )
    version: int = Field(
        description="The newest version that is or was published; if none was, the one tried."
    )
    revision: int = Field(description="Counts every change; the ETag.")
    description: str
    owner: str
    tags: list[str]
    severity: str | None
    warning_count: int
    created_at: Instant
    created_by: str
    updated_at: Instant
    updated_by: str

    @property
    def etag(self) -> str:
        """The state this was read in, for `if_match`."""
        return str(self.revision)


class PublishedVersion(Answer):
    """A published version."""

    version: int
    effective_from: Instant | None
    effective_until: Instant | None


class TriedVersion(Answer):
    """The version that is tried beside what is published."""

    version: int
    share_percent: float = Field(
        description="For which share of the keys its finds count; 0 = it only runs in shadow."
    )


class ProcessorView(ProcessorSummary):
    """A processor with its newest version."""

    published: list[PublishedVersion] = Field(description="What jobs are given, lowest first.")
    rollout: TriedVersion | None = Field(
        default=None, description="The version that is tried beside it; see `…/rollout`."
    )
    warnings: list[Flaw] = Field(description="What is allowed but rarely intended.")
    document: dict[str, Any] = Field(description="Version `version`, as a PUT takes it.")
    lists: list[str] = Field(description="Lists of its stream that version `version` names.")
    withdrawn: list[int] = Field(
        default=[],
        description="Scheduled versions whose place this change has taken; empty in other answers.",
    )

    @property
    def is_paused(self) -> bool:
        """Whether jobs do not run it."""
        return self.state == PAUSED

    @property
    def newest_is_published(self) -> bool:
        """Whether the newest version is published; false once it was cancelled."""
        return any(published.version == self.version for published in self.published)


class VersionSummary(Answer):
    """One line of the history of a processor."""

    version: int
    effective_from: Instant | None
    effective_until: Instant | None
    is_published: bool = Field(description="Whether it is published now.")
    was_only_tried: bool = Field(
        description="Whether jobs have run it as a shadow or a canary, and never for all keys."
    )
    restored_version: int | None = Field(description="The version it was rolled back to.")
    created_at: Instant
    created_by: str
    comment: str


class VersionView(VersionSummary):
    """One version, whole."""

    warnings: list[Flaw]
    document: dict[str, Any] = Field(description="Content and schedule, without the labels.")
    lists: list[str] = Field(description="Lists of its stream that it names.")


class LabelsPatch(Request):
    """Labels to change; others are not changed. No version or epoch is created."""

    description: Annotated[str, Field(max_length=10_000)] | None = None
    owner: Annotated[str, Field(max_length=200)] | None = None
    tags: Annotated[list[Tag], Field(max_length=50)] | None = None


class Rollback(Request):
    """The version whose content becomes the newest one again, effective at once."""

    version: int = Field(ge=1, lt=2**31, strict=True)


class Difference(Answer):
    """One difference between two versions."""

    pointer: str = Field(description="Where; steps are named, not numbered.")
    change: OrNewer[Literal["added", "removed", "changed"]]
    old: Any = None
    new: Any = None


class Comparison(Answer):
    """How two versions differ in meaning; spelling alone (10 minutes, 600000 ms) does not count."""

    old_version: int
    new_version: int
    differences: list[Difference]


class ValidationReport(Answer):
    """A document that would be accepted, and its warnings."""

    warnings: list[Flaw]
