"""Many events in one value: how they cross process borders and wait in state, without a row each.

frame of events ──encode_events──► EventBlock ──► shuffle, state ──decode_events──► frame
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

TIME: Final = "_time_ms"
"""Column with the event time in milliseconds; the columns of the stream follow."""

EventTuple = tuple[Any, ...]
"""One row of such a frame, which is what the matcher keeps of an event."""


@dataclass(frozen=True, slots=True, order=True)
class Arrival:
    """When events came: in which micro-batch, and where in it. Ordered."""

    batch_id: int
    position: int


@dataclass(frozen=True, slots=True)
class EventBlock:
    """Events of one selector group and shard that came together.

    `from_ms` and `until_ms` are the oldest and newest event time in it (inclusive), `data` the
    events as an Arrow IPC stream, in order of arrival.
    """

    group: str
    arrival: Arrival
    from_ms: int
    until_ms: int
    count: int
    data: bytes


def encode_events(group: str, arrival: Arrival, events: pl.DataFrame) -> EventBlock:
    """Return a frame, which has at least one row, as a block."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    # Half of what `DataFrame.write_ipc_stream` takes, and a third to read it. Of columns of the
    # newest form all texts would be written of which some once were a part.
    table, buffer = events.to_arrow(compat_level=pl.CompatLevel.oldest()), pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(buffer, table.schema, options=options) as stream:
        stream.write_table(table)
    times = events.get_column(TIME)
    # A column of a frame with rows always has a smallest and a greatest value.
    from_ms, until_ms = int(times.min()), int(times.max())  # type: ignore[arg-type]
    return EventBlock(
        group, arrival, from_ms, until_ms, len(events), buffer.getvalue().to_pybytes()
    )


def decode_events(data: bytes) -> pl.DataFrame:
    """Return the events of `EventBlock.data`."""
    import pyarrow as pa  # noqa: PLC0415 - an extra

    with pa.ipc.open_stream(data) as stream:
        return pl.DataFrame(stream.read_all())


def event_time_ms(event: EventTuple) -> int:
    """Return the time of an event."""
    time_ms: int = event[0]
    return time_ms


def event_fields(event: EventTuple, columns: Sequence[str]) -> dict[str, Any]:
    """Return the values of an event by the columns of its stream."""
    return dict(zip(columns, event[1:], strict=True))


def translation(
    written: Sequence[str], columns: Sequence[str]
) -> Callable[[EventTuple], EventTuple] | None:
    """Return how an event of a stream with other columns is read; `None` if they are the same.

    An event is the tuple of its time and its columns; one that it does not have is NULL.
    """
    if list(written) == list(columns):
        return None
    places = {name: place for place, name in enumerate(written, start=1)}
    chosen = [places.get(name) for name in columns]
    return lambda event: (
        event_time_ms(event),
        *(None if place is None else event[place] for place in chosen),
    )
