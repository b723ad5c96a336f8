"""Which matches a list shows, in which order."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from pydantic import Field

from api.processors.filters import SearchText
from api.web.paging import SortOrder
from cep.definition.document import ProcessorId
from cep.instants import Instant
from contract.report_values import JobName
from contract.reports import MatchKind
from contract.service.matches import Assignee, TriageStatus

KeyText = Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")]


@dataclass(frozen=True, slots=True)
class MatchFilter:
    """Which matches are wanted; `None` = any."""

    processor: Annotated[ProcessorId | None, Query(description="Of this processor.")] = None
    version: Annotated[int | None, Query(ge=1, lt=2**31, description="Of this version.")] = None
    job: Annotated[JobName | None, Query(description="Found by this job.")] = None
    kind: Annotated[
        MatchKind | None,
        Query(description="Matches, or timeouts; what did not go out only if named."),
    ] = None
    key: Annotated[
        KeyText | None,
        Query(description="Of this key; its values are joined by a comma and a space."),
    ] = None
    key_prefix: Annotated[
        KeyText | None, Query(description="Of keys that begin so; written as for `key`.")
    ] = None
    group: Annotated[
        str | None,
        Query(
            pattern=r"^[0-9a-f]{16,64}$",
            description="Of this group, the `group_id` of a match; those that did not go out only "
            "with `kind=grouped`.",
        ),
    ] = None
    since: Annotated[Instant | None, Query(description="Ended at this event time or later.")] = None
    until: Annotated[Instant | None, Query(description="Ended before this event time.")] = None
    text: Annotated[SearchText | None, Query(description="With this text in the output.")] = None
    status: Annotated[
        TriageStatus | None, Query(description="In this status; untouched ones are open.")
    ] = None
    assignee: Annotated[
        Assignee | None, Query(min_length=1, description="Assigned to this name.")
    ] = None
    unassigned: Annotated[bool | None, Query(description="Assigned to nobody, or not.")] = None


class MatchSort(SortOrder):
    """The order of a list; `-` = descending."""

    ARRIVAL_DESCENDING = "-number"
    END = "end"
    END_DESCENDING = "-end"
