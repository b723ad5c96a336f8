"""Ranges of records → messages, in a worker: exactly the records of the ranges.

    ranges of a task ──► one consumer ──► messages of each range

A worker keeps its consumer from one task to the next: connecting takes longer than a small batch.
It belongs to no group; positions are kept in the checkpoint of the job.
"""

import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from processor_runtime.kafka.cluster import (
    PATIENCE_SECONDS,
    KafkaFailed,
    error_text,
    patience_seconds,
)
from processor_runtime.kafka.offsets import RecordRange
from processor_runtime.kafka.setting_files import explained
from processor_runtime.kafka.settings import KafkaOptionError, client_settings
from processor_runtime.kafka.troubles import Troubles

_MESSAGES_PER_CALL: Final = 1_000
_POLL_SECONDS: Final = 0.5
_ERROR: Final = methodcaller("error")
_TOPIC: Final = methodcaller("topic")
_PARTITION: Final = methodcaller("partition")
_TRUNCATED_AFTER_SECONDS: Final = 10.0
"""A new leader may not know immediately how far the records go that are on all replicas."""
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

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "ReadingRules":
        """Return what the options of a source say.

        Raises:
            KafkaOptionError: one of them cannot be used.
        """
        fails_on_loss = options.get("failOnDataLoss", "true").lower() == "true"
        return cls(client_settings(options), fails_on_loss, patience_seconds(options))

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


def messages_of(ranges: Sequence[RecordRange], rules: ReadingRules) -> Iterator[list[Message]]:
    """Yield the messages of ranges as they come, those of one partition in their order.

    `ranges`: of any partitions, each range once.

    Raises:
        KafkaFailed: brokers do not answer, or records are gone.
    """
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
    _places: int = field(init=False)
    _topics: int = field(init=False)

    def __post_init__(self) -> None:
        self._places, self._topics = len(self.left), len({topic for topic, _ in self.left})

    def __iter__(self) -> Iterator[list[Message]]:
        heard = time.monotonic()
        while self.left:
            # A call for many waits until there are many.
            first = self.consumer.poll(_POLL_SECONDS)
            rest = self.consumer.consume(_MESSAGES_PER_CALL, 0) if first is not None else []
            found = [] if first is None else self._of_ranges([first, *rest])
            if found:
                heard = time.monotonic()
                self.troubles.clear()
                yield found
                continue
            is_over = time.monotonic() - heard > self.rules.patience_seconds
            if is_over or self.troubles.is_hopeless:
                message = self.troubles.message("no record came in time")
                raise KafkaFailed(f"{min(self.left.values())}: {message}")

    def _of_ranges(self, messages: list[Message]) -> list[Message]:
        """Return those that belong to a range; most often all are of the middle of one."""
        first, last = messages[0], messages[-1]
        wanted = self.left.get((str(first.topic()), int(first.partition() or 0)))
        if wanted is not None and self._are_of_one_partition(messages):
            # Those of a partition come in their order.
            is_inside = wanted.begin <= int(first.offset() or 0)
            if is_inside and int(last.offset() or 0) < wanted.end - 1:
                return messages
        return [each for each in messages if self._takes(each)]

    def _are_of_one_partition(self, messages: list[Message]) -> bool:
        """Return whether all are records of one partition."""
        if any(map(_ERROR, messages)):
            return False
        # Those of a range that is complete may still come.
        if self._topics > 1 and len(set(map(_TOPIC, messages))) > 1:
            return False
        return self._places == 1 or len(set(map(_PARTITION, messages))) == 1

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
