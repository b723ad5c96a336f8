"""The rules of a stream, beside what runs."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from cep.definition.document import ProcessorId
from cep.instants import Instant
from contract.service.bases import Answer, OrNewer, Request
from contract.service.jobs import JobSummary, RunningInJob
from contract.service.pages import Page
from contract.service.processors import ProcessorSummary, PublishedVersion
from contract.service.triage import TriageCounts

Standing = Literal["quarantined", "active", "paused", "draining", "pending", "shadow", "absent"]
RuleProblem = Literal["errors", "behind", "warnings"]
MOST_AT_ONCE: Final = 500


class RuleLine(ProcessorSummary):
    """One rule: its published versions, and its state in the job."""

    key_by: list[str] | None = Field(description="Of the newest version; null = one global key.")
    published: list[PublishedVersion] = Field(description="What jobs are given, lowest first.")
    standing: OrNewer[Standing]
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
    standings: dict[OrNewer[Standing], int] = Field(
        description="How many meet it by standing, ignoring its `standing` and `problem`."
    )
    problems: dict[OrNewer[RuleProblem], int] = Field(description="Likewise, by problem.")
    job: JobSummary | None = Field(description="The job whose reports were used; null = none.")
    jobs: list[JobSummary] = Field(description="All jobs of the stream, by name.")


class RuleExport(Answer):
    """The documents of some rules of a stream, as files for `percept apply` have them."""

    items: list[dict[str, Any]] = Field(
        description="One for each published version, by rule and version. Labels and `paused` are "
        "in the first of each rule; what is only tried is left out."
    )
    next_cursor: str | None = Field(description="Null on the last page.")
    epoch: int = Field(description="The newest epoch of the stream: of all pages, if none is made.")


class LabelCount(Answer):
    """How many rules of a stream have a label."""

    value: str
    count: int


class RuleLabels(Answer):
    """The labels in use on a stream, the most frequent first; at most 200 of each.

    The others are found by a text in them.
    """

    owners: list[LabelCount]
    tags: list[LabelCount]


class RuleSelection(Request):
    """Some rules of one stream."""

    ids: Annotated[list[ProcessorId], Field(min_length=1, max_length=MOST_AT_ONCE)]


class SelectionResult(Answer):
    """The result of a change of several rules."""

    changed: list[str] = Field(description="Ids; the others already had the wanted state.")
