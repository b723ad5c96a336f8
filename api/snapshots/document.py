"""Writes snapshots: the same publications always make the same bytes (`contract.snapshot`)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from api.list_store.tables import ListVersion
from api.snapshots.repository import PublishedVersion
from api.snooze_store.tables import Snooze
from contract.canonical import canonical_json
from contract.snapshot import FORMAT


@dataclass(frozen=True, slots=True)
class Entry:
    """The parts of one processor in a snapshot; each is empty if there is none."""

    published: bytes = b""
    rollout: bytes = b""


def processor_entries(versions: Iterable[PublishedVersion]) -> Iterator[tuple[str, Entry]]:
    """Yield each processor's id and its parts of the snapshot; versions come by id and version."""
    for processor_id, group in groupby(versions, key=lambda published: published[0]):
        everything = list(group)
        published = [each for each in everything if each[-1] is None]
        tried = next((each for each in everything if each[-1] is not None), None)
        yield processor_id, Entry(_published(published), _rollout(tried))


def lists_part(versions: Iterable[ListVersion]) -> bytes:
    """Return the lists of a snapshot, empty if there is none; versions come by name and version."""
    lists = [
        {
            "name": name,
            "type": group[0].data_type,
            "versions": [
                {
                    "version": each.version,
                    "effective_from_ms": each.effective_from_ms,
                    "digest": each.digest,
                    "count": each.count,
                }
                for each in group
            ],
        }
        for name, found in groupby(versions, key=lambda version: version.name)
        if (group := list(found))
    ]
    return canonical_json(lists).encode() if lists else b""


def snoozes_part(snoozes: Iterable[Snooze]) -> bytes:
    """Return the snoozes of a snapshot, empty if there is none."""
    written = [
        {"id": each.processor_id, "key": each.key_text, "until_ms": each.until_ms}
        for each in snoozes
    ]
    return canonical_json(written).encode() if written else b""


def snapshot_bytes(
    stream_definition: str,
    epoch: int,
    entries: Iterable[Entry],
    lists: bytes = b"",
    snoozes: bytes = b"",
) -> bytes:
    """Return the whole snapshot; the parts are canonical JSON already and are only joined."""
    everything = list(entries)
    rollouts = b",".join(entry.rollout for entry in everything if entry.rollout)
    named = f'"lists":{lists.decode()},' if lists else ""
    head = f'{{"epoch":{epoch},"format":{FORMAT},{named}"processors":['
    published = b",".join(entry.published for entry in everything if entry.published)
    # As it was before there were any, so that older epochs keep their bytes.
    tried = b'],"rollouts":[' + rollouts if rollouts else b""
    snoozed = b'],"snoozes":' + snoozes.removesuffix(b"]") if snoozes else b""
    tail = f'],"stream":{stream_definition}}}'
    return b"".join([head.encode(), published, tried, snoozed, tail.encode()])


def _published(versions: Sequence[PublishedVersion]) -> bytes:
    if not versions:
        return b""
    name, paused = canonical_json(versions[0][0]), canonical_json(versions[0][1])
    texts = ",".join(map(_version_text, versions))
    return f'{{"id":{name},"paused":{paused},"versions":[{texts}]}}'.encode()


def _rollout(tried: PublishedVersion | None) -> bytes:
    if tried is None or tried[1]:
        return b""
    name, text = canonical_json(tried[0]), _version_text(tried)
    return f'{{"id":{name},"share":{tried[-1]},"version":{text}}}'.encode()


def _version_text(published: PublishedVersion) -> str:
    _, _, version, from_ms, until_ms, definition, _ = published
    return (
        f'{{"definition":{definition},"effective_from_ms":{canonical_json(from_ms)},'
        f'"effective_until_ms":{canonical_json(until_ms)},"version":{version}}}'
    )
