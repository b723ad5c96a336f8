"""Which proposals a list shows."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from pydantic import Field

from cep.definition.document import ProcessorId, StreamName
from cep.definition.list_documents import ListName
from contract.service.proposals import State

_Name = Annotated[str, Field(max_length=100, pattern=r"^[^\x00]*$")]


@dataclass(frozen=True, slots=True)
class ProposalFilter:
    """Which proposals a list shows; `None` = any."""

    stream: Annotated[StreamName | None, Query(description="Of this stream.")] = None
    processor: Annotated[ProcessorId | None, Query(description="Of this rule.")] = None
    list_name: Annotated[ListName | None, Query(alias="list", description="Of this list.")] = None
    state: Annotated[State | None, Query(description="In this state.")] = None
    author: Annotated[_Name | None, Query(description="By a token of this name.")] = None
    mine: Annotated[
        bool | None, Query(description="By whoever asks (true) or by others (false).")
    ] = None
