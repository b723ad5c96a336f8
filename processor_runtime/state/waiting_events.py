"""Events of one selector group and shard that wait until the watermark has passed them.

    blocks as they came ──add──► state ──take(watermark)──► events in order of time

A block is kept encoded until the watermark reaches its first event: each event is written once and
read about once, however long the allowed delay.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import polars as pl

from processor_runtime.rows.event_block import (
    TIME,
    Arrival,
    EventBlock,
    decode_events,
    encode_events,
)
from processor_runtime.state.keyed_state import KeyedState


@dataclass(frozen=True, slots=True)
class WaitingBlock:
    """The name under which a block is kept in the state, and the times and size of its events."""

    name: str
    arrival: Arrival
    from_ms: int
    until_ms: int
    count: int
    size_bytes: int


@dataclass(slots=True)
class WaitingEvents:
    """The waiting blocks, during one batch of one shard."""

    group: str
    state: KeyedState
    blocks: list[WaitingBlock]
    _names: Iterator[str] = field(init=False)

    def __post_init__(self) -> None:
        used = {block.name for block in self.blocks}
        self._names = (name for name in map("w{}".format, count(1)) if name not in used)

    def add(self, block: EventBlock) -> None:
        """Keep a block."""
        name = next(self._names)
        self.state.put(name, block.data)
        self.blocks.append(
            WaitingBlock(
                name, block.arrival, block.from_ms, block.until_ms, block.count, len(block.data)
            )
        )

    def take(
        self, watermark_ms: int, arrived: Iterable[EventBlock], order_by: Sequence[str]
    ) -> pl.DataFrame | None:
        """Return the events up to the watermark, `None` if there are none; the others are kept.

        Events are in order of time, those of equal time by `order_by`, else as they arrived.
        """
        due: list[tuple[Arrival, pl.DataFrame]] = []
        kept = []
        for waiting in self.blocks:
            if waiting.from_ms > watermark_ms:
                kept.append(waiting)
                continue
            data = self.state.get(waiting.name)
            self.state.delete(waiting.name)
            if data is None:
                raise LookupError(f"the state has lost the waiting events {waiting.name}")
            due.append((waiting.arrival, decode_events(data)))
        self.blocks = kept
        for block in arrived:
            if block.from_ms > watermark_ms:
                self.add(block)
            else:
                due.append((block.arrival, decode_events(block.data)))
        if not due:
            return None
        return self._in_order(due, watermark_ms, order_by)

    def _in_order(
        self, due: list[tuple[Arrival, pl.DataFrame]], watermark_ms: int, order_by: Sequence[str]
    ) -> pl.DataFrame:
        due.sort(key=lambda item: item[0])
        ready = []
        for arrival, events in due:
            later = events.filter(pl.col(TIME) > watermark_ms)
            if len(later):
                self.add(encode_events(self.group, arrival, later))
                events = events.filter(pl.col(TIME) <= watermark_ms)  # noqa: PLW2901 - the rest
            ready.append(events)
        # The columns of the stream may have changed while some events were waiting.
        events = pl.concat(ready, how="diagonal_relaxed")
        if _are_in_order(events, order_by):
            return events
        return events.sort(TIME, *order_by, maintain_order=True)

    @property
    def next_ms(self) -> int | None:
        """The time of the oldest waiting event; `None` if there is none."""
        return min((block.from_ms for block in self.blocks), default=None)

    @property
    def count(self) -> int:
        """How many events are waiting."""
        return sum(block.count for block in self.blocks)

    @property
    def size_bytes(self) -> int:
        """How many bytes they take in the state."""
        return sum(block.size_bytes for block in self.blocks)


def _are_in_order(events: pl.DataFrame, order_by: Sequence[str]) -> bool:
    """Return whether events are in order as they are; not if that takes a closer look.

    As those of one file or partition often are, and to see it takes a tenth of sorting them.
    """
    is_equal, falls = pl.lit(value=True), pl.lit(value=False)
    for name in (TIME, *order_by):
        column = events.get_column(name)
        if not column.dtype.is_integer() or column.null_count():
            return False
        value, before = pl.col(name), pl.col(name).shift(1)
        falls |= is_equal & (value < before)
        is_equal &= value == before
    return not events.select(falls.any()).item()


def blocks_as_values(blocks: Iterable[WaitingBlock]) -> list[Any]:
    """Return the waiting blocks as plain values, for the header of the shard."""
    return [
        [
            block.name,
            block.arrival.batch_id,
            block.arrival.position,
            block.from_ms,
            block.until_ms,
            block.count,
            block.size_bytes,
        ]
        for block in blocks
    ]


def blocks_from_values(values: Iterable[Any]) -> list[WaitingBlock]:
    """Return what `blocks_as_values` wrote."""
    return [
        WaitingBlock(name, Arrival(batch_id, position), *numbers)
        for name, batch_id, position, *numbers in values
    ]
