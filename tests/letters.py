"""Short ways to write what is published, what comes in, and what came out of a `Pipeline`."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_core import from_json

from contract.snapshot import SnapshotProcessor, SnapshotRollout, SnapshotVersion, StreamDefinition
from processor_runtime.rows.output_rows import OutputRow
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline

Document = dict[str, Any]


def stream(delay_ms: int = 0, order_by: Sequence[str] = ()) -> StreamDefinition:
    """Return a stream of one-letter events: user, name, price, and time in milliseconds."""
    return StreamDefinition(
        name="letters",
        version=1,
        schema="user STRING, name STRING, price BIGINT, ts BIGINT",
        event_time_column="ts",
        allowed_delay_ms=delay_ms,
        order_by=list(order_by),
    )


def letters(text: str, begin_ms: int, *, user: str = "u", every_ms: int = 1) -> list[Event]:
    """Return one event per letter, with its place as price; a blank only lets time pass."""
    return [
        event(letter, begin_ms + place * every_ms, user=user, price=place)
        for place, letter in enumerate(text)
        if letter != " "
    ]


def event(
    name: str, time_ms: int, *, user: str | None = "u", price: int | None = 0
) -> dict[str, Any]:
    return {"user": user, "name": name, "price": price, "ts": time_ms}


def followed(*steps: tuple[str, str], **more: Any) -> Document:
    """Return the document of a pattern: steps of a name and a condition, others in between."""
    documents: list[Document] = [
        {"name": name, "where": where} | ({"contiguity": "followed_by"} if place else {})
        for place, (name, where) in enumerate(steps)
    ]
    return {"steps": documents, **more}


def sequence(names: Sequence[str], *, within_ms: int | None = None, **more: Any) -> Document:
    """Return the document of a pattern: these names one after the other, others in between."""
    window = {} if within_ms is None else {"within_ms": within_ms}
    return followed(*((name, f"name = '{name}'") for name in names), **window, **more)


def with_step(pattern: Document, place: int, **keys: Any) -> Document:
    """Return a pattern of which one step has these keys, too."""
    steps = [step | keys if n == place else step for n, step in enumerate(pattern["steps"])]
    return pattern | {"steps": steps}


def absence(first: str, missing: str, within_ms: int) -> Document:
    """Return the document of a pattern: a letter, and another not after it within this time."""
    steps = [
        {"name": first, "where": f"name = '{first}'"},
        {"name": missing, "contiguity": "not_followed_by", "where": f"name = '{missing}'"},
    ]
    return {"steps": steps, "within_ms": within_ms}


def version(
    number: int,
    pattern: Document,
    *,
    from_ms: int | None = None,
    until_ms: int | None = None,
    **more: Any,
) -> SnapshotVersion:
    """Return a version, by default with the user as key."""
    return SnapshotVersion(
        version=number,
        effective_from_ms=from_ms,
        effective_until_ms=until_ms,
        definition={"pattern": pattern, "key_by": ["user"], **more},
    )


def processor(
    processor_id: str, *versions: SnapshotVersion, paused: bool = False
) -> SnapshotProcessor:
    return SnapshotProcessor(id=processor_id, paused=paused, versions=list(versions))


def job_of(
    *rules: SnapshotProcessor | SnapshotVersion,
    delay_ms: int = 0,
    rollouts: Iterable[SnapshotRollout] = (),
    **options: Any,
) -> Pipeline:
    """Return a job on the stream of letters with these rules; a version alone is one of `p`."""
    job = Pipeline(stream(delay_ms), Options(**options))
    published = (processor("p", r) if isinstance(r, SnapshotVersion) else r for r in rules)
    job.publish(*published, rollouts=rollouts)
    return job


def run_in_batches(job: Pipeline, events: Sequence[Event], batches: int, until_ms: int) -> Pipeline:
    """Run so many batches of about the same size, one up to a time, and one of nothing."""
    size = -(-len(events) // batches)
    for begin in range(0, len(events), size):
        job.batch(events[begin : begin + size])
    job.advance(until_ms)
    job.batch()
    return job


def pass_by(job: Pipeline, *times_ms: int) -> None:
    """Run a batch at each of these times, with an event that concerns nobody."""
    for time_ms in times_ms:
        job.batch(letters("z", time_ms))


def without(rows: Iterable[OutputRow], *processor_ids: str | None) -> list[OutputRow]:
    return [row for row in rows if row.processor_id not in processor_ids]


def errors(job: Pipeline, processor_id: str | None = None) -> list[dict[str, Any]]:
    return [from_json(row.error or "") for row in job.rows_of("error", processor_id)]


def taken(row: OutputRow) -> str:
    """Return the letters and times of what a row is about, first event first: `a1000 b1002`."""
    steps = from_json(row.events or "{}")
    events = sorted((e for step in steps.values() for e in step), key=lambda e: e["ts"])
    return " ".join(f"{e['name']}{e['ts']}" for e in events)


def spelled(rows: Iterable[OutputRow]) -> list[str]:
    """Return what rows of processors are about: `p1 match a1000 b1002`."""
    return [
        f"{row.processor_id}{row.version} {row.kind} {taken(row)}".strip()
        for row in rows
        if row.processor_id is not None
    ]


def contents(rows: Iterable[OutputRow]) -> Counter[OutputRow]:
    """Return rows without the epoch, which depends on how events came in batches."""
    return Counter(row._replace(epoch=None) for row in rows)
