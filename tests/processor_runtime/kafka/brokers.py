"""Kafka brokers in this process: librdkafka's mock cluster, which speaks the real protocol.

    with brokers() as cluster: cluster.create("payments", 4); cluster.give("payments", 0, b"…")

It keeps some 5 MB of each partition, creates topics of four partitions when they are asked for, and
makes the errors it is told to. It is called through C: the library's Python has no names for this.
"""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

confluent_kafka = pytest.importorskip(
    "confluent_kafka", reason="the extra 'kafka' is not installed"
)

_POINTER: Final = ctypes.c_void_p
_FUNCTIONS: Final[dict[str, tuple[Any, list[Any]]]] = {
    "conf_new": (_POINTER, []),
    "conf_set": (ctypes.c_int, [_POINTER, *[ctypes.c_char_p] * 3, ctypes.c_size_t]),
    "new": (_POINTER, [ctypes.c_int, _POINTER, ctypes.c_char_p, ctypes.c_size_t]),
    "destroy": (None, [_POINTER]),
    "mock_cluster_new": (_POINTER, [_POINTER, ctypes.c_int]),
    "mock_cluster_destroy": (None, [_POINTER]),
    "mock_cluster_bootstraps": (ctypes.c_char_p, [_POINTER]),
    "mock_topic_create": (ctypes.c_int, [_POINTER, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]),
    "mock_topic_delete": (ctypes.c_int, [_POINTER, ctypes.c_char_p]),
    "mock_partition_delete_records": (
        ctypes.c_int,
        [_POINTER, ctypes.c_char_p, ctypes.c_int32, ctypes.c_int64],
    ),
    "mock_push_request_errors_array": (
        None,
        [_POINTER, ctypes.c_int16, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int)],
    ),
    "mock_broker_set_down": (ctypes.c_int, [_POINTER, ctypes.c_int32]),
    "mock_broker_set_up": (ctypes.c_int, [_POINTER, ctypes.c_int32]),
}
_BROKERS: Final = 3
PRODUCE, FETCH, LIST_OFFSETS, METADATA = 0, 1, 2, 3
"""Kinds of requests, by their numbers in the protocol."""


def _library() -> Any:
    package = Path(confluent_kafka.__file__).parent
    places = [package.parent / "confluent_kafka.libs", package / ".dylibs"]
    found = [path for place in places for path in place.glob("librdkafka*")]
    if not found:
        pytest.skip("this build of confluent-kafka does not bring librdkafka with it")
    library = ctypes.CDLL(str(found[0]))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, f"rd_kafka_{name}")
        function.restype, function.argtypes = result, arguments
    return library


@dataclass
class Brokers:
    """A cluster that runs."""

    servers: str
    _library: Any
    _cluster: Any

    @property
    def settings(self) -> dict[str, str]:
        return {"bootstrap.servers": self.servers}

    @property
    def options(self) -> dict[str, str]:
        """The same as options of a job file."""
        return {"kafka.bootstrap.servers": self.servers}

    def create(self, topic: str, partitions: int) -> None:
        """Create a topic."""
        self._mock("topic_create", topic.encode(), partitions, _BROKERS)

    def delete(self, topic: str) -> None:
        self._mock("topic_delete", topic.encode())

    def forget(self, topic: str, partition: int, before: int) -> None:
        """Delete the records before an offset, as retention does."""
        self._mock("partition_delete_records", topic.encode(), partition, before)

    def fail(self, request: int, *codes: int) -> None:
        """Answer the next requests of a kind with errors; 0 is none."""
        errors = (ctypes.c_int * len(codes))(*codes)
        self._mock("push_request_errors_array", request, len(codes), errors)

    def stop(self) -> None:
        for broker in range(1, _BROKERS + 1):
            self._mock("broker_set_down", broker)

    def start(self) -> None:
        for broker in range(1, _BROKERS + 1):
            self._mock("broker_set_up", broker)

    def give(self, topic: str, partition: int, *values: bytes | None, **more: Any) -> None:
        """Write records; they are there when this returns."""
        # What a broker refuses is sent again, by an idempotent producer in order.
        in_order = {"linger.ms": 0, "enable.idempotence": True}
        producer = confluent_kafka.Producer({**self.settings, **in_order, "log_level": 0})
        for value in values:
            producer.produce(topic, value, partition=partition, **more)
        assert producer.flush(30) == 0

    def records(self, topic: str, partitions: Sequence[int] = (0, 1, 2, 3)) -> list[Any]:
        """Return all records of a topic, partition by partition."""
        consumer = confluent_kafka.Consumer(
            {**self.settings, "group.id": "test", "enable.partition.eof": True, "log_level": 0}
        )
        found: list[Any] = []
        for partition in partitions:
            consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0)])
            while (message := consumer.poll(10)) is not None and message.error() is None:
                found.append(message)
        consumer.close()
        return found

    def _mock(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, f"rd_kafka_mock_{name}")(self._cluster, *arguments)
        assert not code, confluent_kafka.KafkaError(code).str()


@contextmanager
def brokers() -> Iterator[Brokers]:
    """Run three brokers."""
    library = _library()
    why = ctypes.create_string_buffer(512)
    conf = library.rd_kafka_conf_new()
    library.rd_kafka_conf_set(conf, b"log_level", b"0", why, len(why))
    client = library.rd_kafka_new(0, conf, why, len(why))
    assert client, why.value
    cluster = library.rd_kafka_mock_cluster_new(client, _BROKERS)
    try:
        yield Brokers(library.rd_kafka_mock_cluster_bootstraps(cluster).decode(), library, cluster)
    finally:
        library.rd_kafka_mock_cluster_destroy(cluster)
        library.rd_kafka_destroy(client)
