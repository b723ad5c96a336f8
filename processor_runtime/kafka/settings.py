"""Options of a job file → settings of librdkafka, and the options of the connector itself.

    kafka.bootstrap.servers, kafka.sasl.jaas.config, … ──client_settings──► bootstrap.servers, …

Options have the names of Spark's connector. Settings of Kafka's Java client that librdkafka has
under another name are translated, or refused with the name to write.
"""

import re
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Final

from processor_runtime.secret_names import secret_options

PREFIX: Final = "kafka."
BOOTSTRAP_SERVERS: Final = "kafka.bootstrap.servers"
SUBSCRIPTIONS: Final = ("subscribe", "subscribePattern", "assign")
SOURCE_OPTIONS: Final = (
    *SUBSCRIPTIONS,
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "maxOffsetsPerTrigger",
    "minPartitions",
    "failOnDataLoss",
    "includeHeaders",
    "kafkaConsumer.pollTimeoutMs",
)
MISSING_LIBRARY: Final = (
    "confluent_kafka is not installed; it comes with Percept's extra 'kafka': "
    "pip install 'percept[kafka]'. Or name Spark's own connector under packages"
)

_JAAS: Final = re.compile(
    r"""\s*[\w.]*\.(?:Plain|Scram)LoginModule\s+required\s(?=.*\busername="(?P<username>[^"]*)")"""
    r"""(?=.*\bpassword="(?P<password>[^"]*)").*;\s*""",
    re.DOTALL,
)
_JAAS_FORM: Final = (
    "only a PlainLoginModule or ScramLoginModule with username and password can be read from it. "
    "Write kafka.sasl.username and kafka.sasl.password, or the settings of librdkafka for "
    "the mechanism"
)
# What the Java client calls otherwise, or keeps in a form of its own.
_JAVA_NAMES: Final[Mapping[str, str]] = {
    "ssl.truststore.location": "ssl.ca.location, a PEM file",
    "ssl.truststore.password": "ssl.ca.location, a PEM file, which needs none",
    "ssl.truststore.type": "ssl.ca.location, a PEM file",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.keystore.type": "ssl.keystore.location, a PKCS#12 file",
    "max.request.size": "message.max.bytes",
    "max.partition.fetch.bytes": "fetch.message.max.bytes",
    "buffer.memory": "queue.buffering.max.kbytes",
    "sasl.login.callback.handler.class": "sasl.oauthbearer.method: oidc",
    "sasl.client.callback.handler.class": "sasl.oauthbearer.method: oidc",
}
# What makes a batch read exactly its records, and write them once.
_RESERVED: Final = (
    "enable.auto.commit",
    "enable.auto.offset.store",
    "auto.offset.reset",
    "enable.partition.eof",
    "enable.idempotence",
    "transactional.id",
    "key.deserializer",
    "value.deserializer",
    "key.serializer",
    "value.serializer",
)


class KafkaOptionError(ValueError):
    """An option cannot be used; the message names it, and never its value."""


def is_installed() -> bool:
    """Return whether the library of the extra `kafka` is there."""
    return find_spec("confluent_kafka") is not None


def check_source_options(options: Mapping[str, str]) -> None:
    """Check the names of the options of a source, and what can be said without its library.

    Raises:
        KafkaOptionError: one is not known, or cannot be used.
    """
    for name in options:
        if not name.startswith(PREFIX) and name not in SOURCE_OPTIONS:
            raise KafkaOptionError(f"{name} is not known. {near(name, SOURCE_OPTIONS)}")
    for name in ("maxOffsetsPerTrigger", "minPartitions", "kafkaConsumer.pollTimeoutMs"):
        if name in options and not re.fullmatch(r"[1-9]\d{0,17}", options[name]):
            raise KafkaOptionError(f"{name} is no whole number above 0")
    for name in ("failOnDataLoss", "includeHeaders"):
        if options.get(name, "true").lower() not in {"true", "false"}:
            raise KafkaOptionError(f"{name} is neither true nor false")
    client_settings(options)


def near(name: str, known: Iterable[str]) -> str:
    """Return which names there are, and the one that was probably meant."""
    from cep.pattern.problems import did_you_mean  # noqa: PLC0415 - takes a second to load

    return did_you_mean(name, known)


def check_output_options(options: Mapping[str, str]) -> None:
    """Check the names of the options of an output, as far as it is possible without the library.

    Raises:
        KafkaOptionError: one is not known, or cannot be used.
    """
    if unknown := [name for name in options if not name.startswith(PREFIX)]:
        raise KafkaOptionError(f"{unknown[0]} is not known. Settings begin with {PREFIX}")
    client_settings(options)


def client_settings(options: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of librdkafka that the options with `kafka.` in front stand for.

    Raises:
        KafkaOptionError: one of them is set by Percept, or is of the Java client alone.
    """
    settings: dict[str, str] = {}
    for option, value in options.items():
        if not option.startswith(PREFIX):
            continue
        name = option.removeprefix(PREFIX)
        if name in _RESERVED:
            raise KafkaOptionError(f"{option} is set by the job. Leave it out")
        if name in _JAVA_NAMES:
            raise KafkaOptionError(
                f"{option} is a setting of Kafka's Java client. Write {PREFIX}{_JAVA_NAMES[name]}; "
                "or name Spark's connector under packages, which uses that client"
            )
        if name == "sasl.jaas.config":
            settings |= _credentials(value)
        else:
            settings[name] = value
    return settings


def secret_values(options: Mapping[str, str]) -> frozenset[str]:
    """Return the values of options, and what is in them, that no message may contain."""
    hidden = set(secret_options(options))
    for value in options.values():
        if (found := _JAAS.fullmatch(value)) is not None:
            hidden.add(found["password"])
    return frozenset(filter(None, hidden))


def _credentials(jaas: str) -> dict[str, str]:
    found = _JAAS.fullmatch(jaas)
    if found is None:
        raise KafkaOptionError(f"kafka.sasl.jaas.config: {_JAAS_FORM}")
    return {"sasl.username": found["username"], "sasl.password": found["password"]}
