"""Epochs: numbers and logs each change of what runs on a stream, and notifies waiting jobs."""

from api.audit.actions import Action
from api.audit.log import record
from api.store.notifications import notify_others
from api.streams.repository import next_epoch
from api.transactions import Writing


def record_epoch(  # noqa: PLR0913 - the columns of the log, by name
    writing: Writing,
    action: Action,
    *,
    stream: str,
    processor_id: str | None = None,
    old_version: int | None = None,
    new_version: int | None = None,
    subject: str = "",
) -> int:
    """Add a change of what runs on a stream and return the epoch it makes, or is part of.

    The row of the stream stays locked until the transaction ends, so that epochs have no gaps and
    each is made by one transaction.
    """
    begun = writing.new_epochs.get(stream) if writing.one_epoch else None
    epoch = next_epoch(writing.session, stream) if begun is None else begun
    record(
        writing,
        action,
        stream=stream,
        processor_id=processor_id,
        old_version=old_version,
        new_version=new_version,
        subject=subject,
        epoch=epoch,
    )
    if begun is None:
        notify_others(writing.session, stream)
        writing.new_epochs[stream] = epoch
    return epoch
