"""Which backtests a list shows."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from cep.definition.document import ProcessorId, StreamName
from contract.service.backtests import BacktestState


@dataclass(frozen=True, slots=True)
class BacktestFilter:
    """Which backtests are wanted; `None` = any."""

    stream: Annotated[StreamName | None, Query(description="Of this stream.")] = None
    processor: Annotated[ProcessorId | None, Query(description="Of this rule.")] = None
    content_hash: Annotated[
        str | None,
        Query(pattern="^[0-9a-f]{64}$", description="Of rules that say this, see `content_hash`."),
    ] = None
    state: Annotated[BacktestState | None, Query(description="In this state.")] = None
