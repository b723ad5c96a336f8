"""Which processors a list shows, in which order."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from pydantic import Field

from api.web.paging import SortOrder
from cep.definition.document import StreamName, Tag
from contract.service.processors import State

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
