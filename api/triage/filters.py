"""Which matches are counted, and whose labels are exported."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from cep.definition.document import ProcessorId
from cep.instants import Instant
from contract.reports import MatchKind


@dataclass(frozen=True, slots=True)
class CountFilter:
    """Which matches are counted; `None` = any."""

    processor: Annotated[ProcessorId | None, Query(description="Of this rule.")] = None
    version: Annotated[int | None, Query(ge=1, lt=2**31, description="Of this version.")] = None
    kind: Annotated[
        MatchKind | None, Query(description="Of this kind; left out = matches and timeouts.")
    ] = None


@dataclass(frozen=True, slots=True)
class LabelFilter:
    """Which labels are exported; `None` = any."""

    processor: Annotated[ProcessorId | None, Query(description="Of this rule.")] = None
    version: Annotated[int | None, Query(ge=1, lt=2**31, description="Of this version.")] = None
    since: Annotated[
        Instant | None, Query(description="Of matches that ended at this event time or later.")
    ] = None
    until: Annotated[
        Instant | None, Query(description="Of matches that ended before this event time.")
    ] = None
