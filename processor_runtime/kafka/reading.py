"""Ranges of records → Arrow, in a worker of Spark: exactly the records of the ranges.

    ranges of a task ──► one consumer ──► messages by range ──► record batches

A worker keeps its consumer from one task to the next: connecting takes longer than a small batch.
It belongs to no group; positions are kept in the checkpoint of the job.
"""

import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from processor_runtime.kafka.cluster import PATIENCE_SECONDS, KafkaFailed, error_text
from processor_runtime.kafka.offsets import RecordRange
from processor_runtime.kafka.setting_files import explained
from processor_runtime.kafka.settings import KafkaOptionError
from processor_runtime.kafka.troubles import Troubles

_ROWS_PER_BATCH: Final = 20_000
_BYTES_PER_BATCH: Final = 16_000_000
_MESSAGES_PER_CALL: Final = 1_000
_POLL_SECONDS: Final = 0.5
_TRUNCATED_AFTER_SECONDS: Final = 10.0
"""A new leader may not know immediately how far the records go that are on all replicas."""
_MICROSECONDS: Final = 1_000
_OUT_OF_RANGE: Final = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)  # noqa: SLF001
_FATAL: Final = (
    KafkaError._AUTHENTICATION,  # noqa: SLF001
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001
)
_USUAL: Final[Mapping[str, Any]] = {
    "group.id": "percept",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "log_level": 0,
    # The records of a range are there: a broker that waits for more only delays the next range.
    "fetch.wait.max.ms": 50,
    # What is fetched beyond the end of a range is thrown away.
    "queued.max.messages.kbytes": 16_384,
}


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """How ranges are read.

    `fails_on_loss`: whether it is an error that records of a range are gone.
    """

    settings: Mapping[str, str] = field(repr=False)
    fails_on_loss: bool = True
    patience_seconds: float = PATIENCE_SECONDS

    @property
    def consumer_settings(self) -> dict[str, Any]:
        """Settings of the consumer, those that were given before the usual ones."""
        reset = "error" if self.fails_on_loss else "earliest"
        return {**_USUAL, **self.settings, "auto.offset.reset": reset}


def check_consumer(settings: Mapping[str, str]) -> None:
    """Let librdkafka check settings, without any connection.

    Raises:
        KafkaOptionError: it does not know one, or cannot use its value.
    """
    try:
        Consumer({**ReadingRules(settings).consumer_settings, "bootstrap.servers": ""}).close()
    except KafkaException as error:
        raise KafkaOptionError(explained(settings, error_text(error))) from None


def batches_of(
    ranges: Sequence[RecordRange], rules: ReadingRules, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Yield the records of ranges, those of one partition in their order.

    `ranges`: of any partitions, each range once. `schema`: columns of `COLUMNS`, in any order.

    Raises:
        KafkaFailed: brokers do not answer, or records are gone.
    """
    messages: list[Message] = []
    size = 0
    for part in messages_of(ranges, rules):
        messages += part
        size += sum(map(len, part))
        if len(messages) >= _ROWS_PER_BATCH or size >= _BYTES_PER_BATCH:
            yield record_batch(messages, schema)
            messages, size = [], 0
    if messages:
        yield record_batch(messages, schema)


def messages_of(ranges: Sequence[RecordRange], rules: ReadingRules) -> Iterator[list[Message]]:
    """Yield the messages of ranges as they come."""
    consumer, troubles = _consumer(rules)
    troubles.clear()
    try:
        for together in _rounds(ranges):
            consumer.assign([TopicPartition(*each.place, each.begin) for each in together])
            left = {each.place: each for each in together}
            yield from _RangeReader(consumer, rules, left, troubles)
            # Otherwise they are still paused when they are assigned again.
            consumer.resume([TopicPartition(*each.place) for each in together])
            consumer.unassign()
    except BaseException:
        # Whatever it still holds is not for the next task.
        _drop_consumer()
        raise


def _rounds(ranges: Sequence[RecordRange]) -> Iterator[list[RecordRange]]:
    """Yield what can be read side by side: of each partition one range."""
    left = list(ranges)
    while left:
        together = {each.place: each for each in reversed(left)}
        yield list(together.values())
        left = [each for each in left if each not in together.values()]


@dataclass(slots=True)
class _RangeReader:
    """Takes messages until every range is complete."""

    consumer: Consumer
    rules: ReadingRules
    left: dict[tuple[str, int], RecordRange]
    troubles: Troubles
    _ended_at: dict[tuple[str, int], float] = field(default_factory=dict)

    def __iter__(self) -> Iterator[list[Message]]:
        heard = time.monotonic()
        while self.left:
            # A call for many waits until there are many.
            first = self.consumer.poll(_POLL_SECONDS)
            rest = self.consumer.consume(_MESSAGES_PER_CALL, 0) if first is not None else []
            taken = [each for each in (first, *rest) if each is not None and self._takes(each)]
            if taken:
                heard = time.monotonic()
                self.troubles.clear()
                yield taken
                continue
            is_over = time.monotonic() - heard > self.rules.patience_seconds
            if is_over or self.troubles.is_hopeless:
                message = self.troubles.message("no record came in time")
                raise KafkaFailed(f"{min(self.left.values())}: {message}")

    def _takes(self, message: Any) -> bool:
        """Return whether a message belongs to a range; end the range if it lies after it."""
        if (error := message.error()) is not None:
            self._note(message, error)
            return False
        place = (message.topic(), message.partition())
        wanted = self.left.get(place)
        if wanted is None:
            return False
        offset = message.offset()
        if offset >= wanted.end - 1:
            self._complete(wanted)
        return bool(wanted.begin <= offset < wanted.end)

    def _note(self, message: Any, error: KafkaError) -> None:
        code = error.code()
        wanted = self.left.get((message.topic() or "", message.partition() or 0))
        if code == KafkaError._PARTITION_EOF:  # noqa: SLF001
            if wanted is not None:
                self._at_end(wanted, message.offset())
        elif code in _OUT_OF_RANGE:
            raise KafkaFailed(_lost(wanted or min(self.left.values())))
        elif code in _FATAL:
            raise KafkaFailed(f"{wanted or min(self.left.values())}: {error.str()}")
        else:
            self.troubles.note(error)

    def _at_end(self, wanted: RecordRange, offset: int) -> None:
        """Note that the partition has no more records; what is missing does not exist, or not yet.

        The last offsets of a range may be of no record: ends of transactions, compacted ones.
        """
        if offset >= wanted.end:
            self._complete(wanted)
            return
        since = self._ended_at.setdefault(wanted.place, time.monotonic())
        if time.monotonic() - since < _TRUNCATED_AFTER_SECONDS:
            # It is reported once, and again if asked again.
            self.consumer.seek(TopicPartition(*wanted.place, max(offset, wanted.begin)))
        elif self.rules.fails_on_loss:
            raise KafkaFailed(f"{_lost(wanted)} The partition ends at {offset}")
        else:
            self._complete(wanted)

    def _complete(self, done: RecordRange) -> None:
        self.left.pop(done.place, None)
        if self.left:
            self.consumer.pause([TopicPartition(*done.place)])


def _lost(wanted: RecordRange) -> str:
    return (
        f"{wanted}: these records, or some of them, are gone from Kafka: too old for the "
        "retention of the topic, or the topic was created anew. Write failOnDataLoss: false under "
        "source.options to go on without them."
    )


def record_batch(messages: Sequence[Message], schema: pa.Schema) -> pa.RecordBatch:
    """Return messages as columns, those of a schema."""
    return pa.RecordBatch.from_arrays(
        [pa.array(_COLUMNS[each.name](messages), type=each.type) for each in schema], schema=schema
    )


_COLUMNS: Final[Mapping[str, Any]] = {
    "key": lambda messages: [each.key() for each in messages],
    "value": lambda messages: [each.value() for each in messages],
    "topic": lambda messages: [each.topic() for each in messages],
    "partition": lambda messages: [each.partition() for each in messages],
    "offset": lambda messages: [each.offset() for each in messages],
    "timestamp": lambda messages: [_timestamp(each) for each in messages],
    # librdkafka counts from 1 and has 0 for none; Kafka counts from 0 and has -1.
    "timestampType": lambda messages: [each.timestamp()[0] - 1 for each in messages],
    "headers": lambda messages: [_headers(each) for each in messages],
}


def _timestamp(message: Message) -> int | None:
    kind, time_ms = message.timestamp()
    return time_ms * _MICROSECONDS if kind else None


def _headers(message: Message) -> list[dict[str, Any]] | None:
    headers: Any = message.headers()
    if headers is None:
        return None
    return [{"key": name, "value": value} for name, value in headers]


_kept: dict[str, Any] = {}
"""The consumer of this process, what goes wrong with it, and what it was made with."""


def _consumer(rules: ReadingRules) -> tuple[Consumer, Troubles]:
    made_with = (os.getpid(), rules.consumer_settings)
    if _kept.get("made_with") != made_with:
        _drop_consumer()
        troubles = Troubles(rules.settings)
        try:
            consumer = Consumer({**rules.consumer_settings, "error_cb": troubles.note})
        except KafkaException as error:
            # The driver could use them: it has files that this machine lacks.
            message = explained(rules.settings, error_text(error))
            raise KafkaFailed(f"the worker on {socket.gethostname()}: {message}") from None
        _kept.update(consumer=consumer, troubles=troubles, made_with=made_with)
    return _kept["consumer"], _kept["troubles"]


def _drop_consumer() -> None:
    consumer, made_with = _kept.pop("consumer", None), _kept.pop("made_with", (0,))
    # After a fork it belongs to the other process.
    if consumer is not None and made_with[0] == os.getpid():
        consumer.close()
