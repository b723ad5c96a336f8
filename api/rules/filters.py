"""Which rules of a stream a list shows, in which order."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from api.processors.filters import SearchText
from api.web.paging import SortOrder
from cep.definition.document import Severity, Tag
from contract.service.rules import RuleProblem, Standing


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
