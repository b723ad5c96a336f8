"""The client of a schema registry, from settings of a job file, and what it says when it fails.

schema_registry of a source or an output ──► Confluent's client ──► failures in words
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError
from httpx2 import TransportError

from processor_runtime.kafka.cluster import KafkaFailed
from processor_runtime.kafka.settings import KafkaOptionError

# What the client does not take as text.
_NUMBERS: Final = (
    "timeout",
    "cache.capacity",
    "cache.latest.ttl.sec",
    "max.retries",
    "retries.wait.ms",
    "retries.max.wait.ms",
)


def registry_client(settings: Mapping[str, str]) -> SchemaRegistryClient:
    """Return a client; it connects when it is asked for something.

    `settings`: of Confluent's client, `url` among them.

    Raises:
        KafkaOptionError: it does not know one, or cannot use its value.
    """
    try:
        given: dict[str, Any] = dict(settings)
        return SchemaRegistryClient(
            given | {name: float(given[name]) for name in _NUMBERS if name in given}
        )
    except (TypeError, ValueError) as error:
        raise KafkaOptionError(f"schema_registry: {error}") from None


@contextmanager
def registry_failures(where: str) -> Iterator[None]:
    """Raise what a registry answers, or that it does not, as an error of Kafka.

    `where`: its settings are, such as `source.schema_registry`.

    Raises:
        KafkaFailed: the registry refuses, or cannot be reached.
    """
    try:
        yield
    except SchemaRegistryError as error:
        raise KafkaFailed(f"the schema registry refuses: {error.error_message}") from None
    except TransportError as error:
        raise KafkaFailed(
            f"the schema registry cannot be reached: {error}. Look at the url under {where}"
        ) from None
