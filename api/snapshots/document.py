"""Writes snapshots: the same publications always make the same bytes (`contract.snapshot`)."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from api.snapshots.repository import PublishedVersion
from contract.canonical import canonical_json
from contract.snapshot import FORMAT


def processor_entries(versions: Iterable[PublishedVersion]) -> Iterator[tuple[str, bytes]]:
    """Yield each processor's id and its part of the snapshot; versions come by id and version."""
    for processor_id, group in groupby(versions, key=lambda published: published[0]):
        published = list(group)
        paused = canonical_json(published[0][1])
        texts = ",".join(_version_text(each) for each in published)
        entry = f'{{"id":{canonical_json(processor_id)},"paused":{paused},"versions":[{texts}]}}'
        yield processor_id, entry.encode()


def snapshot_bytes(stream_definition: str, epoch: int, entries: Iterable[bytes]) -> bytes:
    """Return the whole snapshot; the parts are canonical JSON already and are only joined."""
    head = f'{{"epoch":{epoch},"format":{FORMAT},"processors":['
    tail = f'],"stream":{stream_definition}}}'
    return b"".join([head.encode(), b",".join(entries), tail.encode()])


def _version_text(published: PublishedVersion) -> str:
    _, _, version, from_ms, until_ms, definition = published
    return (
        f'{{"definition":{definition},"effective_from_ms":{canonical_json(from_ms)},'
        f'"effective_until_ms":{canonical_json(until_ms)},"version":{version}}}'
    )
