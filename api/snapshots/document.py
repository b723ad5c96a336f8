"""Writes snapshots: the same publications always make the same bytes (`contract.snapshot`)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from api.snapshots.repository import PublishedVersion
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


def snapshot_bytes(stream_definition: str, epoch: int, entries: Iterable[Entry]) -> bytes:
    """Return the whole snapshot; the parts are canonical JSON already and are only joined."""
    everything = list(entries)
    rollouts = b",".join(entry.rollout for entry in everything if entry.rollout)
    head = f'{{"epoch":{epoch},"format":{FORMAT},"processors":['
    published = b",".join(entry.published for entry in everything if entry.published)
    # As it was before there were any, so that older epochs keep their bytes.
    tried = b'],"rollouts":[' + rollouts if rollouts else b""
    tail = f'],"stream":{stream_definition}}}'
    return b"".join([head.encode(), published, tried, tail.encode()])


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
