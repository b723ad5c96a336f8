"""All SQL about streams."""

from collections.abc import Sequence

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from api.streams.tables import Stream, StreamVersion


def stream_of(session: Session, name: str) -> Stream | None:
    """Return a stream."""
    return session.get(Stream, name)


def locked_stream(session: Session, name: str) -> Stream | None:
    """Return a stream whose row nobody else can lock until this transaction ends.

    Every change of a stream locks it first and then reads what it changes. On SQLite the writing
    transaction has locked the whole store already.
    """
    # Key share: rows that refer to the stream can be added meanwhile, by matches and heartbeats.
    return session.scalar(select(Stream).where(Stream.name == name).with_for_update(key_share=True))


def lists_need_approvals(session: Session, name: str) -> bool:
    """Return whether the approvals that a stream asks for are needed for its lists, too."""
    query = select(Stream.lists_need_approvals).where(Stream.name == name)
    return bool(session.scalar(query))


def required_approvals(session: Session, name: str) -> int:
    """Return how many approvals a stream asks for, as the store has it at this moment."""
    query = select(Stream.required_approvals).where(Stream.name == name)
    return session.scalars(query).one()


def next_epoch(session: Session, name: str) -> int:
    """Increment a stream's epoch and return it."""
    counted = (
        update(Stream)
        .where(Stream.name == name)
        .values(epoch=Stream.epoch + 1)
        .returning(Stream.epoch)
    )
    return session.execute(counted, execution_options={"synchronize_session": False}).scalar_one()


def streams_after(session: Session, name: str, limit: int) -> Sequence[Stream]:
    """Return streams by name, starting after `name`."""
    query = select(Stream).where(Stream.name > name).order_by(Stream.name).limit(limit)
    return session.scalars(query).all()


def definition_at(session: Session, name: str, epoch: int) -> str | None:
    """Return the canonical JSON of a stream's definition at an epoch."""
    query = (
        select(StreamVersion.definition)
        .where(StreamVersion.stream == name, StreamVersion.epoch <= epoch)
        .order_by(StreamVersion.epoch.desc())
        .limit(1)
    )
    return session.scalar(query)
