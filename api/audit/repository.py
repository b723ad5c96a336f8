"""All SQL of the change log, but for what adds to it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from api.audit.tables import Change, FailedEvent
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


def failed_events(session: Session, change_ids: Iterable[int]) -> dict[int, str]:
    """Return where versions failed, as JSON, by the change that tells of it."""
    query = select(FailedEvent).where(FailedEvent.change_id.in_(list(change_ids)))
    return {each.change_id: each.content for each in session.scalars(query)}


def forget_failed_events_but(session: Session, processor_id: str, kept: int) -> None:
    """Delete where versions of a rule failed, except for its newest quarantines."""
    of_rule = FailedEvent.processor_id == processor_id
    newest = (
        select(FailedEvent.change_id)
        .where(of_rule)
        .order_by(FailedEvent.change_id.desc())
        .limit(kept)
    )
    outdated = list(
        session.scalars(
            select(FailedEvent.change_id).where(of_rule, FailedEvent.change_id.not_in(newest))
        )
    )
    session.execute(delete(FailedEvent).where(FailedEvent.change_id.in_(outdated)))
