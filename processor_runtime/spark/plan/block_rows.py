"""Event blocks as rows of a Spark frame: what is shuffled between the two stages.

key stage ──Arrow──► rows (shard, kind, …, data) ──shuffle──► pandas ──► matching stage

A row is thousands of events, so what Spark does per row costs nothing. Beside blocks, three
more kinds of rows travel along: finished rows of output, the counts of a partition, and questions
about keys. `until_ms` is the newest event time that a row tells of, `NO_EVENT_MS` if of none.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple
from typing import Any, Final

import pyarrow as pa
from pydantic_core import from_json, to_json

from cep.nfa.codec import pack, unpack
from processor_runtime.output.events.unusable_events import EARLIEST_MS
from processor_runtime.rows.event_block import Arrival, EventBlock
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.rows.shard_status import EventCounts
from processor_runtime.stages.asked_keys import KeyQuestion

DDL: Final = (
    "shard INT, kind STRING, batch_id BIGINT, position BIGINT, from_ms BIGINT, until_ms BIGINT, "
    "row_count INT, data BINARY"
)
SCHEMA: Final = pa.schema(
    [
        ("shard", pa.int32()),
        ("kind", pa.string()),
        ("batch_id", pa.int64()),
        ("position", pa.int64()),
        ("from_ms", pa.int64()),
        ("until_ms", pa.int64()),
        ("row_count", pa.int32()),
        ("data", pa.binary()),
    ]
)
NO_EVENT_MS: Final = EARLIEST_MS
_ROWS = "rows"
_COUNTS = "counts"
_EVENTS = "events:"
_ASKED = "asked"

BlockRow = tuple[int, str, int, int, int, int, int, bytes]
"""One row of `SCHEMA`."""


def event_row(shard: int, block: EventBlock) -> BlockRow:
    """Return a block as a row."""
    return (
        shard,
        _EVENTS + block.group,
        block.arrival.batch_id,
        block.arrival.position,
        block.from_ms,
        block.until_ms,
        block.count,
        block.data,
    )


def output_row(shard: int, rows: Sequence[OutputRow]) -> BlockRow:
    """Return finished rows of output as one row."""
    return (shard, _ROWS, 0, 0, 0, NO_EVENT_MS, len(rows), to_json(rows))


def counts_row(shard: int, counts: EventCounts, until_ms: int | None = None) -> BlockRow:
    """Return the counts of a partition as a row.

    `until_ms`: how far time has gone on, if not to the newest event.
    """
    newest_ms = counts.newest_ms if until_ms is None else until_ms
    newest_ms = NO_EVENT_MS if newest_ms is None else newest_ms
    return (shard, _COUNTS, 0, 0, 0, newest_ms, 0, to_json(asdict(counts)))


def question_row(shard: int, question: KeyQuestion) -> BlockRow:
    """Return a question about a key as a row."""
    return (shard, _ASKED, 0, 0, 0, NO_EVENT_MS, 0, pack(list(astuple(question))))


def record_batch(rows: Sequence[BlockRow]) -> pa.RecordBatch:
    """Return rows as one Arrow batch of `SCHEMA`."""
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array(column, type=field.type) for column, field in zip(columns, SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


class Received:
    """What a shard was sent in one batch, sorted by kind.

    `rows`: the rows of `SCHEMA`, each as a tuple.
    """

    def __init__(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self.blocks: list[EventBlock] = []
        self._output: list[bytes] = []
        self.counts = EventCounts()
        self.questions: dict[KeyQuestion, None] = {}
        for _, kind, batch_id, position, from_ms, until_ms, row_count, data in rows:
            if kind == _COUNTS:
                self.counts.add(EventCounts(**from_json(data)))
            elif kind == _ASKED:
                self.questions[KeyQuestion(*unpack(bytes(data)))] = None  # each partition asks
            elif kind == _ROWS:
                self._output.append(bytes(data))
            else:
                arrival = Arrival(int(batch_id), int(position))
                group = kind.removeprefix(_EVENTS)
                self.blocks.append(
                    EventBlock(
                        group, arrival, int(from_ms), int(until_ms), int(row_count), bytes(data)
                    )
                )

    def output_rows(self) -> Iterator[list[OutputRow]]:
        """Yield the finished rows of output, as many at a time as came together."""
        for data in self._output:
            yield [OutputRow(*row) for row in from_json(data)]
