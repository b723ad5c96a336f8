"""Writes the change log; every slice that changes anything calls `record` in its transaction."""

from api.audit.actions import Action
from api.audit.tables import Change
from api.transactions import Writing


def record(  # noqa: PLR0913 - the columns of the log, by name
    writing: Writing,
    action: Action,
    *,
    stream: str | None = None,
    processor_id: str | None = None,
    old_version: int | None = None,
    new_version: int | None = None,
    subject: str = "",
    epoch: int | None = None,
) -> Change:
    """Add a change to the log; one of what runs on a stream goes through `api.streams.epochs`.

    Args:
        writing: the current write transaction.
        action: what was done.
        stream: the stream concerned, if one is.
        processor_id: the processor concerned, if one is.
        old_version: the version before.
        new_version: the version after.
        subject: what else was changed, such as the id of a token.
        epoch: the epoch that the change makes, if it changes what runs.
    """
    writing.actions.append(action)
    change = Change(
        at_ms=writing.now_ms,
        actor=writing.actor,
        actor_id=writing.actor_id,
        action=action,
        stream=stream,
        epoch=epoch,
        processor_id=processor_id,
        old_version=old_version,
        new_version=new_version,
        subject=subject,
        comment=writing.comment,
        request_id=writing.request_id,
    )
    writing.session.add(change)
    return change
