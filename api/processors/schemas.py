"""The requests and answers about processors."""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from api.web.paging import SortOrder
from api.web.problems import Flaw
from cep.definition.document import StreamName, Tag
from cep.instants import Instant

PUBLISHED: Final = "published"
SCHEDULED: Final = "scheduled"
PAUSED: Final = "paused"
DELETED: Final = "deleted"
SHADOW: Final = "shadow"
State = Literal["published", "scheduled", "shadow", "paused", "deleted"]
SearchText = Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")]


@dataclass(frozen=True, slots=True)
class ProcessorFilter:
    """Which processors a list shows; `None` = any, but deleted ones only if asked for."""

    stream: Annotated[StreamName | None, Query(description="Of this stream.")] = None
    state: Annotated[State | None, Query(description="In this state; deleted only if named.")] = (
        None
    )
    tag: Annotated[Tag | None, Query(description="With this tag.")] = None
    owner: Annotated[SearchText | None, Query(description="Of this owner.")] = None
    text: Annotated[
        SearchText | None, Query(description="With this text in id, description or definition.")
    ] = None
    problem: Annotated[
        bool | None, Query(description="With warnings (true) or without any (false).")
    ] = None


class Sort(SortOrder):
    """The order of a list; `-` = descending."""

    ID = "id"
    ID_DESCENDING = "-id"
    CREATED = "created_at"
    CREATED_DESCENDING = "-created_at"
    UPDATED = "updated_at"
    UPDATED_DESCENDING = "-updated_at"
    OWNER = "owner"
    OWNER_DESCENDING = "-owner"


class ProcessorSummary(BaseModel):
    """One line of a list of processors."""

    id: str
    stream: str
    state: State = Field(
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


class PublishedVersion(BaseModel):
    """A published version."""

    version: int
    effective_from: Instant | None
    effective_until: Instant | None


class TriedVersion(BaseModel):
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


class VersionSummary(BaseModel):
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


class LabelsPatch(BaseModel):
    """Labels to change; others are not changed. No version or epoch is created."""

    model_config = ConfigDict(extra="forbid")

    description: Annotated[str, Field(max_length=10_000)] | None = None
    owner: Annotated[str, Field(max_length=200)] | None = None
    tags: Annotated[list[Tag], Field(max_length=50)] | None = None


class Rollback(BaseModel):
    """The version whose content becomes the newest one again, effective at once."""

    model_config = ConfigDict(extra="forbid")

    version: int = Field(ge=1, lt=2**31, strict=True)


class Difference(BaseModel):
    """One difference between two versions."""

    pointer: str = Field(description="Where; steps are named, not numbered.")
    change: Literal["added", "removed", "changed"]
    old: Any = None
    new: Any = None


class Comparison(BaseModel):
    """How two versions differ in meaning; spelling alone (10 minutes, 600000 ms) does not count."""

    old_version: int
    new_version: int
    differences: list[Difference]


class ValidationReport(BaseModel):
    """A document that would be accepted, and its warnings."""

    warnings: list[Flaw]
