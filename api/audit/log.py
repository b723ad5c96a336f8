"""Writes the change log; every slice that changes anything calls `record` in its transaction."""

from api.audit.tables import Change
from api.notifications import notify_others
from api.streams.repository import next_epoch
from api.transactions import Writing


def record(  # noqa: PLR0913 - the columns of the log, by name
    writing: Writing,
    action: str,
    *,
    stream: str | None = None,
    processor_id: str | None = None,
    old_version: int | None = None,
    new_version: int | None = None,
    subject: str = "",
) -> None:
    """Add a change that leaves what runs as it is, such as a new token or new labels.

    Args:
        writing: the change under way.
        action: `<what>.<verb>`, such as `token.create`.
        stream: the stream concerned, if one is.
        processor_id: the processor concerned, if one is.
        old_version: the version before.
        new_version: the version after.
        subject: what else was changed, such as the id of a token.
    """
    _add(writing, action, stream, None, processor_id, old_version, new_version, subject)


def record_epoch(  # noqa: PLR0913 - the columns of the log, by name
    writing: Writing,
    action: str,
    *,
    stream: str,
    processor_id: str | None = None,
    old_version: int | None = None,
    new_version: int | None = None,
) -> int:
    """Add a change of what runs on a stream and return the epoch it makes.

    The row of the stream stays locked until the transaction ends, so that epochs are without gaps
    and no two changes share one.
    """
    epoch = next_epoch(writing.session, stream)
    _add(writing, action, stream, epoch, processor_id, old_version, new_version, "")
    notify_others(writing.session, stream)
    writing.new_epochs[stream] = epoch
    return epoch


def _add(  # noqa: PLR0913, PLR0917 - the columns of the log
    writing: Writing,
    action: str,
    stream: str | None,
    epoch: int | None,
    processor_id: str | None,
    old_version: int | None,
    new_version: int | None,
    subject: str,
) -> None:
    writing.actions.append(action)
    writing.session.add(
        Change(
            at_ms=writing.now_ms,
            actor=writing.actor,
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
    )
