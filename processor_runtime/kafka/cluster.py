"""What a Kafka cluster holds: topics, partitions, their first and newest offsets.

    settings, subscription ──► Cluster ──► partitions · earliest · latest · offsets at a time

Asked by the driver before each batch. Brokers that cannot be reached for a moment are waited for.
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec

from processor_runtime.kafka.offsets import Place
from processor_runtime.kafka.setting_files import explained
from processor_runtime.kafka.settings import KafkaOptionError, near
from processor_runtime.kafka.troubles import Troubles

PATIENCE_SECONDS: Final = 120.0
"""How long brokers may take, unless `kafkaConsumer.pollTimeoutMs` says otherwise."""
Answer = TypeVar("Answer")
_ONE_REQUEST_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.5
_GRACE_SECONDS: Final = 5.0
"""Until a request that has run out of time is reported as such."""
_NO_OFFSET: Final = -1
_REMEDY: Final = "Look at kafka.bootstrap.servers, kafka.security.protocol and the network between"
# The library has no types here.
_EARLIEST: Final[Any] = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
_LATEST: Final[Any] = OffsetSpec.latest()  # type: ignore[no-untyped-call]
# Waiting does not help against these.
_FINAL: Final = (
    KafkaError._AUTHENTICATION,  # noqa: SLF001 - how librdkafka names its own errors
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
)


class KafkaFailed(RuntimeError):
    """Kafka does not give what was asked for; says where, why, and what to look at."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Which partitions are read: of named topics, of all that match, or named ones."""

    topics: tuple[str, ...] = ()
    pattern: str = ""
    places: tuple[Place, ...] = ()

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Subscription":
        """Return what the options subscribe to.

        Raises:
            KafkaOptionError: they name nothing, or are of another form.
        """
        if pattern := options.get("subscribePattern"):
            try:
                re.compile(pattern)
            except re.error as error:
                raise KafkaOptionError(f"subscribePattern: {error}") from None
            return cls(pattern=pattern)
        if "assign" in options:
            return cls(places=_assigned(options["assign"]))
        topics = tuple(filter(None, map(str.strip, options.get("subscribe", "").split(","))))
        if not topics:
            raise KafkaOptionError("subscribe names no topic")
        return cls(topics)


def patience_seconds(options: Mapping[str, str]) -> float:
    """Return how long brokers may take, by the options of a source."""
    return int(options.get("kafkaConsumer.pollTimeoutMs", PATIENCE_SECONDS * 1_000)) / 1_000


def _assigned(text: str) -> tuple[Place, ...]:
    try:
        places = tuple(
            (str(topic), int(partition))
            for topic, partitions in json.loads(text).items()
            for partition in partitions
        )
    except (AttributeError, TypeError, ValueError):
        places = ()
    if not places:
        raise KafkaOptionError('assign does not have the form {"topic": [0, 1]}')
    return places


@dataclass(slots=True)
class Cluster:
    """The brokers that settings lead to, as a client that only asks."""

    settings: Mapping[str, str]
    patience_seconds: float = PATIENCE_SECONDS
    _client: AdminClient = field(init=False, repr=False)
    _troubles: Troubles = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._client, self._troubles = _client_of(self.settings)

    def partitions(self, subscription: Subscription) -> list[Place]:
        """Return the partitions there are to read, sorted.

        Raises:
            KafkaOptionError: a topic or partition that is named does not exist.
            KafkaFailed: the brokers do not tell.
        """
        if subscription.pattern:
            wanted = re.compile(subscription.pattern)
            found = self._metadata(None)
            return sorted(
                (name, number)
                for name, numbers in found.items()
                if wanted.fullmatch(name)
                for number in numbers
            )
        topics = subscription.topics or {topic for topic, _ in subscription.places}
        found = {}
        for topic in topics:
            found |= self._metadata(topic)
        there = {(topic, number) for topic, numbers in found.items() for number in numbers}
        if missing := set(subscription.places) - there:
            topic, number = min(missing)
            raise KafkaOptionError(f"assign: topic {topic} has no partition {number}")
        return sorted(subscription.places or there)

    def earliest(self, places: Iterable[Place]) -> dict[Place, int]:
        """Return the offset of the first record of each partition."""
        return self._offsets(dict.fromkeys(places, _EARLIEST))

    def latest(self, places: Iterable[Place]) -> dict[Place, int]:
        """Return the end of each partition: one more than the offset of its newest record."""
        return self._offsets(dict.fromkeys(places, _LATEST))

    def at_time(self, times_ms: Mapping[Place, int]) -> dict[Place, int | None]:
        """Return of each partition the first record of this time or later; `None` = there is none.

        `times_ms`: since 1970, by partition.
        """
        specs = {place: OffsetSpec.for_timestamp(time_ms) for place, time_ms in times_ms.items()}
        found = self._offsets(specs)
        return {place: None if each == _NO_OFFSET else each for place, each in found.items()}

    @property
    def _request_seconds(self) -> float:
        return min(_ONE_REQUEST_SECONDS, self.patience_seconds)

    def _metadata(self, topic: str | None) -> dict[str, list[int]]:
        """Return the partitions of a topic, or of all topics."""

        def ask() -> dict[str, list[int]]:
            answer = self._client.list_topics(topic, timeout=self._request_seconds).topics
            for each in answer.values():
                if each.error is not None and topic is not None:
                    raise KafkaException(each.error)
            return {
                name: sorted(each.partitions) for name, each in answer.items() if not each.error
            }

        try:
            return self._patiently(ask, f"the topic {topic}" if topic else "the topics")
        except _Unknown:
            message = f"there is no topic {topic}, or it may not be read."
            raise KafkaOptionError(f"{message} {near(topic or '', self._metadata(None))}") from None

    def _offsets(self, specs: Mapping[Place, Any]) -> dict[Place, int]:
        if not specs:
            return {}

        def ask() -> dict[Place, int]:
            asked = {TopicPartition(*place): spec for place, spec in specs.items()}
            # Records of a transaction that is open are left to a later batch.
            isolation = IsolationLevel.READ_COMMITTED
            if self.settings.get("isolation.level") == "read_uncommitted":
                isolation = IsolationLevel.READ_UNCOMMITTED
            answers = self._client.list_offsets(
                asked, isolation_level=isolation, request_timeout=self._request_seconds
            )
            return {
                (each.topic, each.partition): answer.result(
                    self._request_seconds + _GRACE_SECONDS
                ).offset
                for each, answer in answers.items()
            }

        topics = ", ".join(sorted({topic for topic, _ in specs}))
        try:
            return self._patiently(ask, f"the offsets of {topics}")
        except _Unknown:
            raise KafkaFailed(f"Kafka has no topic {topics} any more") from None

    def _patiently(self, ask: Callable[[], Answer], what: str) -> Answer:
        deadline = time.monotonic() + self.patience_seconds
        self._troubles.clear()
        while True:
            try:
                return ask()
            except (KafkaException, TimeoutError) as error:
                code = error.args[0].code() if isinstance(error, KafkaException) else None
                if code in {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC}:  # noqa: SLF001
                    raise _Unknown from None
                self._client.poll(0)
                is_over = code in _FINAL or time.monotonic() >= deadline
                if is_over or self._troubles.is_hopeless:
                    raise KafkaFailed(self._failure(error, what)) from None
            time.sleep(_PAUSE_SECONDS)

    def _failure(self, error: BaseException, what: str) -> str:
        servers = self.settings.get("bootstrap.servers", "")
        message = self._troubles.message(error_text(error), _REMEDY)
        return f"Kafka at {servers} does not tell {what}: {message}"


_clients: Final[dict[tuple[Any, ...], tuple[AdminClient, Troubles]]] = {}
"""The clients of this process, and what goes wrong with each.

None is ever let go: if an answer that comes late is the last to know of a client, the client ends
in a thread of the library, and the library then ends the process.
"""


def _client_of(settings: Mapping[str, str]) -> tuple[AdminClient, Troubles]:
    key = (os.getpid(), *sorted(settings.items()))
    if key not in _clients:
        troubles = Troubles(settings)
        conf: dict[str, Any] = {**settings, "log_level": 0, "error_cb": troubles.note}
        try:
            _clients[key] = AdminClient(conf), troubles
        except KafkaException as error:
            raise KafkaOptionError(explained(settings, error_text(error))) from None
    return _clients[key]


class _Unknown(Exception):
    """There is no such topic."""


def error_text(error: BaseException) -> str:
    """Return what librdkafka says, in one line."""
    if isinstance(error, KafkaException) and isinstance(error.args[0], KafkaError):
        return str(error.args[0].str())
    return str(error) or "no answer in time"
