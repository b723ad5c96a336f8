"""The newest snapshot of each stream in memory, updated with the changes since."""

from dataclasses import dataclass, field
from threading import Lock

from sqlalchemy.orm import Session

from api.list_store.repository import versions_at
from api.snapshots.document import (
    Entry,
    lists_part,
    processor_entries,
    snapshot_bytes,
    snoozes_part,
)
from api.snapshots.repository import processors_changed_since, published_versions
from api.snooze_store.repository import snoozes_at
from api.streams import repository as streams
from api.streams.tables import Stream

_QUERY_PARAMETERS = 1_000


@dataclass(frozen=True, slots=True)
class ServedSnapshot:
    """One serialized snapshot; `etag` is that of the stream at its epoch."""

    etag: str
    epoch: int
    body: bytes


@dataclass(slots=True)
class _Kept:
    lock: Lock = field(default_factory=Lock)
    served: ServedSnapshot | None = None
    entries: dict[str, Entry] = field(default_factory=dict)


def snapshot_etag(stream: Stream, epoch: int) -> str:
    """Return the tag of a snapshot: the epoch, and which database counted it."""
    return f"{stream.uid}.{epoch}"


class SnapshotCache:
    """The newest snapshots; one epoch is built once, however many readers wait for it."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._lock = Lock()

    def newest(self, session: Session, stream: Stream) -> ServedSnapshot:
        """Return the snapshot of a stream at the epoch its record shows."""
        etag = snapshot_etag(stream, stream.epoch)
        with self._lock:
            kept = self._kept.setdefault(stream.name, _Kept())
        served = kept.served
        if served is not None and served.etag == etag:
            return served
        with kept.lock:
            served = kept.served
            if served is None or served.etag.split(".")[0] != stream.uid:
                kept.entries = _all_entries(session, stream.name, stream.epoch)
            elif served.epoch >= stream.epoch:
                return served  # another reader has seen a newer epoch
            else:
                _update(kept.entries, session, stream.name, served.epoch, stream.epoch)
            kept.served = _served(session, stream, stream.epoch, kept.entries)
            return kept.served


def snapshot_at(session: Session, stream: Stream, epoch: int) -> ServedSnapshot:
    """Return the snapshot of a stream at any epoch it has had, built from the store."""
    return _served(session, stream, epoch, _all_entries(session, stream.name, epoch))


def _served(
    session: Session, stream: Stream, epoch: int, entries: dict[str, Entry]
) -> ServedSnapshot:
    definition = streams.definition_at(session, stream.name, epoch) or "{}"
    in_order = (entries[processor_id] for processor_id in sorted(entries))
    lists = lists_part(versions_at(session, stream.name, epoch))
    snoozes = snoozes_part(snoozes_at(session, stream.name, epoch))
    body = snapshot_bytes(definition, epoch, in_order, lists, snoozes)
    return ServedSnapshot(snapshot_etag(stream, epoch), epoch, body)


def _all_entries(session: Session, stream: str, epoch: int) -> dict[str, Entry]:
    return dict(processor_entries(published_versions(session, stream, epoch)))


def _update(
    entries: dict[str, Entry], session: Session, stream: str, known_epoch: int, epoch: int
) -> None:
    changed = sorted(processors_changed_since(session, stream, known_epoch))
    for start in range(0, len(changed), _QUERY_PARAMETERS):
        some = changed[start : start + _QUERY_PARAMETERS]
        for processor_id in some:
            entries.pop(processor_id, None)
        entries.update(processor_entries(published_versions(session, stream, epoch, some)))
