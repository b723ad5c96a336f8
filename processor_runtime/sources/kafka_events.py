"""Events in records of Kafka: the first stage reads the ranges that Spark has planned.

    rows (topic, partition, begin, end) ──reading──► records ──ValueReader──► frames of events

Source: FLIP-27 has a source planned in one place and read in others, in splits, in the same way.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl
import pyarrow as pa
from confluent_kafka import Message

from processor_runtime.kafka.offsets import RecordRange
from processor_runtime.kafka.reading import ReadingRules, messages_of
from processor_runtime.output.events.unusable_events import PLACE
from processor_runtime.sources.event_frames import EventFrames, in_kafka, malformed_text
from processor_runtime.sources.values import ValueReader

_RECORDS: Final = 20_000
_BYTES: Final = 16_000_000
"""So many records, and bytes of them, are decoded at once."""


@dataclass(frozen=True, slots=True)
class KafkaEvents:
    """Reads the events in ranges of records.

    Args:
        rules: how ranges are read.
        values: how values are.
        beside: columns of the stream that are not in the value: the name of the field of a record,
            and the type of the column.
        frames: gives events their time.
        skips_null: whether records without a value are left out.
    """

    rules: ReadingRules
    values: ValueReader
    beside: Mapping[str, tuple[str, pa.DataType]]
    frames: EventFrames
    skips_null: bool = False

    def __call__(
        self, batches: Iterable[pa.RecordBatch], now_ms: Callable[[], int]
    ) -> Iterator[pl.DataFrame]:
        """Yield events, those of a partition in their order; see `EventReader`.

        `batches`: columns `topic`, `partition`, `begin` and `end`.

        Raises:
            KafkaFailed: brokers do not answer, or records are gone.
        """
        for batch in batches:
            ranges = [RecordRange(**row) for row in batch.to_pylist()]
            for messages in self._blocks(ranges):
                yield self._events(messages, now_ms())

    def _blocks(self, ranges: Sequence[RecordRange]) -> Iterator[list[Message]]:
        block: list[Message] = []
        size = 0
        for part in messages_of(ranges, self.rules):
            block += part
            size += sum(map(len, part))
            if len(block) >= _RECORDS or size >= _BYTES:
                yield block
                block, size = [], 0
        if block:
            yield block

    def _events(self, messages: list[Message], now_ms: int) -> pl.DataFrame:
        raw = list(map(Message.value, messages))
        if self.skips_null and None in raw:
            messages = [
                each for each, value in zip(messages, raw, strict=True) if value is not None
            ]
            raw = list(map(Message.value, messages))
        decoded = self.values.read(raw)
        malformed = {
            row: malformed_text(*why, _place(messages[row]))
            for row, why in decoded.malformed.items()
        }
        columns = [
            _column(name, messages, field, data_type)
            for name, (field, data_type) in self.beside.items()
        ]
        events = decoded.columns.with_columns(columns)
        if self.frames.has_places:
            events = events.with_columns(_places(messages))
        return self.frames.of(events, now_ms, malformed)


def _place(message: Message) -> dict[str, Any]:
    return in_kafka(str(message.topic()), int(message.partition() or 0), int(message.offset() or 0))


def _places(messages: Sequence[Message]) -> pl.Series:
    fields = {
        "topic": pl.Series(map(Message.topic, messages), dtype=pl.String),
        "partition": pl.Series(map(Message.partition, messages), dtype=pl.Int32),
        "offset": pl.Series(map(Message.offset, messages), dtype=pl.Int64),
    }
    return pl.DataFrame(fields).to_struct(PLACE)


def _column(
    name: str, messages: Sequence[Message], field: str, data_type: pa.DataType
) -> pl.Series:
    read, as_read = FIELDS[field]
    values = list(map(read, messages))
    if _holds(data_type, pa.types.is_string) and _holds(as_read, pa.types.is_binary):
        values, as_read = list(map(_as_text, values)), data_type
    array = pa.array(values, as_read).cast(data_type)
    return pl.Series(name, pl.from_arrow(array))


def _holds(data_type: pa.DataType, is_so: Callable[[pa.DataType], bool]) -> bool:
    inner = (data_type.field(place).type for place in range(data_type.num_fields))
    return is_so(data_type) or any(_holds(each, is_so) for each in inner)


def _as_text(value: Any) -> Any:
    """Return bytes as text, those that are no UTF-8 replaced, at any depth."""
    match value:
        case bytes():
            return value.decode(errors="replace")
        case list():
            return list(map(_as_text, value))
        case dict():
            return {name: _as_text(each) for name, each in value.items()}
        case _:
            return value


def _timestamp(message: Message) -> int | None:
    kind, time_ms = message.timestamp()
    return time_ms * 1_000 if kind else None


def _headers(message: Message) -> list[dict[str, Any]] | None:
    headers: Any = message.headers()
    if headers is None:
        return None
    return [{"key": name, "value": value} for name, value in headers]


FIELDS: Final[Mapping[str, tuple[Callable[[Message], Any], pa.DataType]]] = {
    "key": (Message.key, pa.binary()),
    "topic": (Message.topic, pa.string()),
    "partition": (Message.partition, pa.int32()),
    "offset": (Message.offset, pa.int64()),
    "timestamp": (_timestamp, pa.timestamp("us", "UTC")),
    # librdkafka counts from 1 and has 0 for none; Kafka counts from 0 and has -1.
    "timestampType": (lambda message: message.timestamp()[0] - 1, pa.int32()),
    "headers": (
        _headers,
        pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    ),
}
"""What a record has beside its value, and the type of it, as Spark's connector has them."""
