"""All SQL that reads the change log."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from sqlalchemy import select
from sqlalchemy.orm import Session

from api.audit.tables import Change
from cep.definition.document import ProcessorId, StreamName


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """Which changes a list shows; `None` = any."""

    stream: Annotated[StreamName | None, Query(description="Of this stream.")] = None
    processor: Annotated[ProcessorId | None, Query(description="Of this processor.")] = None
    action: Annotated[
        str | None, Query(pattern=r"^[a-z]+\.[a-z]+$", description="Such as `processor.publish`.")
    ] = None
    actor: Annotated[
        str | None,
        Query(max_length=100, pattern=r"^[^\x00]*$", description="By a token of this name."),
    ] = None
    actor_id: Annotated[
        str | None, Query(pattern="^[0-9a-f]{16}$", description="By the token of this id.")
    ] = None
    epoch: Annotated[int | None, Query(ge=1, lt=2**53, description="With `stream`.")] = None


def changes_below(
    session: Session, wanted: ChangeFilter, below_id: int, limit: int
) -> Sequence[Change]:
    """Return changes that meet a filter, newest first, with ids below a given one."""
    columns = (
        (Change.stream, wanted.stream),
        (Change.processor_id, wanted.processor),
        (Change.action, wanted.action),
        (Change.actor, wanted.actor),
        (Change.actor_id, wanted.actor_id),
        (Change.epoch, wanted.epoch),
    )
    conditions = [column == value for column, value in columns if value is not None]
    query = (
        select(Change)
        .where(Change.id < below_id, *conditions)
        .order_by(Change.id.desc())
        .limit(limit)
    )
    return session.scalars(query).all()
