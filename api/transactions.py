"""The edge of a transaction: slices never commit.

A route that depends on `Write` is one transaction, committed before the answer is sent; one that
depends on `Read` only reads.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Query, Request
from sqlalchemy.orm import Session

from api.access.authentication import Principal, authenticated
from api.runtime import CurrentRuntime


@dataclass(slots=True)
class Writing:
    """A change under way: its transaction and who makes it, when and why.

    `new_epochs` collects what `api.streams.epochs` wrote; readers are told of it after the commit.
    """

    session: Session
    actor: str
    now_ms: int
    request_id: str = ""
    comment: str = ""
    new_epochs: dict[str, int] = field(default_factory=dict)
    actions: list[str] = field(default_factory=list)


def _reading(runtime: CurrentRuntime) -> Iterator[Session]:
    with runtime.database.reading() as session:
        yield session


def _writing(
    request: Request,
    runtime: CurrentRuntime,
    principal: Annotated[Principal, Depends(authenticated)],
    comment: Annotated[
        str, Query(max_length=1_000, pattern=r"^[^\x00]*$", description="Why; kept in the log.")
    ] = "",
) -> Iterator[Writing]:
    with runtime.database.writing() as session:
        writing = Writing(
            session, principal.name, runtime.now_ms(), request.state.request_id, comment
        )
        yield writing
    for action in writing.actions:
        runtime.metrics.changes.labels(action).inc()
    for stream, epoch in writing.new_epochs.items():
        runtime.metrics.epochs.labels(stream).set(epoch)
        runtime.bell.ring(stream)


# "function": the transaction has ended, well or not, before the answer is sent.
Read = Annotated[Session, Depends(_reading, scope="function")]
Write = Annotated[Writing, Depends(_writing, scope="function")]
