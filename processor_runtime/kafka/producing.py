"""Records → a topic, each once while the process lives: librdkafka's idempotent producer.

records of a batch ──BatchProducer.send──► acknowledged by all replicas in sync, or an error
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from processor_runtime.kafka.cluster import KafkaFailed, error_text
from processor_runtime.kafka.setting_files import explained
from processor_runtime.kafka.settings import KafkaOptionError
from processor_runtime.kafka.troubles import Troubles

_USUAL: Final[Mapping[str, Any]] = {
    "enable.idempotence": True,
    # Kafka's Java client gives up after two minutes, librdkafka after five.
    "delivery.timeout.ms": 120_000,
    "linger.ms": 5,
    "log_level": 0,
    # To call back for each record costs as much as to write it.
    "delivery.report.only.error": True,
}
_POLL_SECONDS: Final = 0.5
_RECORDS_PER_POLL: Final = 1_000
_AN_OTHER_NAME: Final = "message.timeout.ms"


class Record(NamedTuple):
    """What one row becomes; the partition follows from the key."""

    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


@dataclass(slots=True)
class BatchProducer:
    """Writes batches to a topic, one after the other."""

    settings: Mapping[str, str] = field(repr=False)
    topic: str
    _producer: Producer | None = field(init=False, default=None, repr=False)
    _failure: str = field(init=False, default="")
    _troubles: Troubles = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._troubles = Troubles(self.settings)

    def send(self, records: Iterable[Record]) -> None:
        """Write records and wait until the brokers have all of them.

        Raises:
            KafkaOptionError: a setting is not known, or cannot be used.
            KafkaFailed: a record could not be written; some may have been.
        """
        self._failure = ""
        self._troubles.clear()
        producer = self._started()
        try:
            for sent, record in enumerate(records):
                self._produce(producer, record)
                if not sent % _RECORDS_PER_POLL:
                    self._poll(producer, 0)
            while len(producer):
                self._poll(producer, _POLL_SECONDS)
            self._check()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the connections, and of records that have not been written."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(0)
            self._producer = None

    def _started(self) -> Producer:
        self._producer = self._producer or producer_of(self.settings, self._troubles.note)
        return self._producer

    def _poll(self, producer: Producer, seconds: float) -> None:
        under_way = len(producer)
        producer.poll(seconds)
        if len(producer) < under_way and not self._failure:
            self._troubles.clear()  # brokers have answered
        self._check()

    def _produce(self, producer: Producer, record: Record) -> None:
        while True:
            try:
                producer.produce(
                    self.topic,
                    record.value,
                    record.key,
                    headers=list(record.headers),
                    on_delivery=self._delivered,
                )
            except BufferError:  # as much is under way as may be
                self._poll(producer, _POLL_SECONDS)
            except KafkaException as error:
                raise KafkaFailed(self._failure_text(error_text(error))) from None
            else:
                return

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None and not self._failure:
            self._failure = self._failure_text(error.str())

    def _check(self) -> None:
        if not self._failure and self._troubles.is_hopeless:
            self._failure = self._failure_text()
        if self._failure:
            raise KafkaFailed(self._failure)

    def _failure_text(self, reason: str = "") -> str:
        return f"topic {self.topic}: {self._troubles.message(reason)}"


def producer_of(settings: Mapping[str, str], note: Any = None) -> Producer:
    """Return a producer; it connects when it has something to write.

    `note`: called with errors that it recovers from.

    Raises:
        KafkaOptionError: librdkafka does not know a setting, or cannot use its value.
    """
    usual = dict(_USUAL)
    if _AN_OTHER_NAME in settings:
        del usual["delivery.timeout.ms"]
    try:
        return Producer({**usual, **settings, **({"error_cb": note} if note else {})})
    except KafkaException as error:
        raise KafkaOptionError(explained(settings, error_text(error))) from None
