"""The requests and answers about the rules of a stream."""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from api.jobs.schemas import JobSummary, RunningInJob
from api.processors.schemas import ProcessorSummary, PublishedVersion, SearchText
from api.triage.schemas import TriageCounts
from api.web.paging import Page, SortOrder
from cep.definition.document import ProcessorId, Severity, Tag
from cep.instants import Instant

Standing = Literal["quarantined", "active", "paused", "draining", "pending", "shadow", "absent"]
RuleProblem = Literal["errors", "behind", "warnings"]

MOST_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """Which rules of a stream are wanted; `None` = any, deleted ones never."""

    text: Annotated[
        SearchText | None, Query(description="With this text in id, description or definition.")
    ] = None
    standing: Annotated[
        Standing | None,
        Query(description="Its state in the job; absent = the job runs no version of it."),
    ] = None
    tag: Annotated[
        list[Tag] | None,
        Query(max_length=20, description="With this tag; of several, with all of them."),
    ] = None
    owner: Annotated[SearchText | None, Query(description="Of this owner.")] = None
    severity: Annotated[Severity | None, Query(description="Of this severity.")] = None
    problem: Annotated[
        RuleProblem | None,
        Query(
            description="errors = quarantined or counting errors; behind = the job has not "
            "applied its newest change; warnings = allowed but rarely intended."
        ),
    ] = None


class RuleSort(SortOrder):
    """The order of the rules; `-` = descending."""

    ID = "id"
    ID_DESCENDING = "-id"
    STANDING = "standing"
    STANDING_DESCENDING = "-standing"
    SEVERITY = "severity"
    SEVERITY_DESCENDING = "-severity"
    OWNER = "owner"
    OWNER_DESCENDING = "-owner"
    UPDATED = "updated_at"
    UPDATED_DESCENDING = "-updated_at"
    MATCHES = "matches_last_hour"
    MATCHES_DESCENDING = "-matches_last_hour"
    LAST_MATCH = "last_match"
    LAST_MATCH_DESCENDING = "-last_match"
    PARTIAL_MATCHES = "partial_matches"
    PARTIAL_MATCHES_DESCENDING = "-partial_matches"
    ERRORS = "errors"
    ERRORS_DESCENDING = "-errors"
    FALSE_POSITIVES = "false_positive_rate"
    FALSE_POSITIVES_DESCENDING = "-false_positive_rate"


class RuleLine(ProcessorSummary):
    """One rule: its published versions, and its state in the job."""

    key_by: list[str] | None = Field(description="Of the newest version; null = one global key.")
    published: list[PublishedVersion] = Field(description="What jobs are given, lowest first.")
    standing: Standing
    running: RunningInJob | None = Field(description="Null = the stream has no job.")
    matches: list[int] = Field(description="Per five minutes of the last hour, oldest first.")
    triage: TriageCounts
    snoozed_until: Instant | None = Field(
        description="Until which event time its matches go to nobody; null = they are not snoozed "
        "for all keys."
    )


class RulesPage(Page[RuleLine]):
    """Some rules of a stream, how many there are, and the job whose reports were used."""

    total: int = Field(description="How many rules meet the filter.")
    standings: dict[Standing, int] = Field(
        description="How many meet it by standing, ignoring its `standing` and `problem`."
    )
    problems: dict[RuleProblem, int] = Field(description="Likewise, by problem.")
    job: JobSummary | None = Field(description="The job whose reports were used; null = none.")
    jobs: list[JobSummary] = Field(description="All jobs of the stream, by name.")


class RuleExport(BaseModel):
    """The documents of some rules of a stream, as files for `percept apply` have them."""

    items: list[dict[str, Any]] = Field(
        description="One for each published version, by rule and version. Labels and `paused` are "
        "in the first of each rule; what is only tried is left out."
    )
    next_cursor: str | None = Field(description="Null on the last page.")
    epoch: int = Field(description="The newest epoch of the stream: of all pages, if none is made.")


class LabelCount(BaseModel):
    """How many rules of a stream have a label."""

    value: str
    count: int


class RuleLabels(BaseModel):
    """The labels in use on a stream, the most frequent first; at most 200 of each.

    The others are found by a text in them.
    """

    owners: list[LabelCount]
    tags: list[LabelCount]


class RuleSelection(BaseModel):
    """Some rules of one stream."""

    model_config = ConfigDict(extra="forbid")

    ids: Annotated[list[ProcessorId], Field(min_length=1, max_length=MOST_AT_ONCE)]


class SelectionResult(BaseModel):
    """The result of a change of several rules."""

    changed: list[str] = Field(description="Ids; the others already had the wanted state.")
