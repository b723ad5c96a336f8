"""TLS and SASL: who may, reads and writes all; who may not is told why, soon, without secrets."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.processor_runtime.kafka.brokers import Brokers

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")
from processor_runtime.kafka import troubles
from processor_runtime.kafka.cluster import Cluster, KafkaFailed, Subscription
from processor_runtime.kafka.offsets import RecordRange
from processor_runtime.kafka.producing import BatchProducer, Record, producer_of
from processor_runtime.kafka.reading import ReadingRules, check_consumer, messages_of
from processor_runtime.kafka.settings import KafkaOptionError
from tests.processor_runtime.kafka.certificates import Authority
from tests.processor_runtime.kafka.secured import Protection, guarded

# Guards, in a thread, end while librdkafka still opens connections to them from threads of its own.
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")]

PASSWORD, WRONG, KEY_PASSWORD = "hush-hush", "wrong-hush", "key-hush"
PATIENCE_SECONDS = 3.0
LOGIN = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "percept",
    "sasl.password": PASSWORD,
}


@dataclass
class Certificates:
    """Those of one authority, and another that nobody trusts."""

    folder: Path

    def __post_init__(self) -> None:
        self.ours, self.other = (Authority(self.folder, name) for name in ("ours", "other"))
        self.broker = self.ours.sign("broker")
        self.client = self.ours.sign("client", password=KEY_PASSWORD)

    @property
    def trust(self) -> dict[str, str]:
        return {"security.protocol": "SSL", "ssl.ca.location": str(self.ours.certificate)}

    @property
    def own(self) -> dict[str, str]:
        return {
            "ssl.certificate.location": str(self.client.certificate),
            "ssl.key.location": str(self.client.key),
            "ssl.key.password": KEY_PASSWORD,
        }


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(troubles, "_SILENCE_SECONDS", 0.5)


def write(settings: dict[str, str], topic: str, *values: bytes) -> None:
    producer = BatchProducer(settings | {"delivery.timeout.ms": "3000"}, topic)
    producer.send([Record(None, value) for value in values])
    producer.close()


def read(settings: dict[str, str], topic: str, end: int) -> list[bytes]:
    rules = ReadingRules(settings, patience_seconds=PATIENCE_SECONDS)
    found = messages_of([RecordRange(topic, 0, 0, end)], rules)
    return [each.value() or b"" for batch in found for each in batch]


def ends(settings: dict[str, str], topic: str) -> dict[Any, int]:
    cluster = Cluster(settings, PATIENCE_SECONDS)
    return cluster.latest(cluster.partitions(Subscription((topic,))))


def failures(settings: dict[str, str]) -> Iterator[str]:
    """Yield what the three that talk to brokers say."""
    for attempt in (
        lambda: ends(settings, "secret"),
        lambda: write(settings, "secret", b"x"),
        lambda: read(settings, "secret", 1),
    ):
        with pytest.raises(KafkaFailed) as error:
            attempt()
        text = str(error.value)
        assert not [each for each in (PASSWORD, WRONG, KEY_PASSWORD) if each in text]
        yield text


@contextmanager
def secured(kafka: Brokers, protection: Protection) -> Iterator[dict[str, str]]:
    with guarded(kafka.servers, protection) as servers:
        yield {"bootstrap.servers": servers}


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_user_over_tls_reads_all_that_it_has_written(
    kafka: Brokers, certificates: Certificates, mechanism: str
) -> None:
    topic = f"of-{mechanism}"
    kafka.create(topic, 1)
    # What looks like the address of a broker is a record like any other.
    values = [f"{n} {kafka.servers}".encode() for n in range(1_000)]
    protection = Protection(certificates.broker, None, mechanism, {"percept": PASSWORD})
    with secured(kafka, protection) as servers:
        settings = servers | certificates.trust | LOGIN | {"sasl.mechanism": mechanism}
        write(settings, topic, *values)
        assert ends(settings, topic) == {(topic, 0): 1_000}
        assert read(settings, topic, 1_000) == values
        refused = settings | {"sasl.password": WRONG}
        for text in failures(refused):
            assert "Invalid username or password" in text
            assert "Look at kafka.sasl.mechanism, kafka.sasl.username and kafka.sasl.pass" in text
    assert [each.value() for each in kafka.records(topic, [0])] == values


def test_a_client_is_known_by_its_certificate(kafka: Brokers, certificates: Certificates) -> None:
    kafka.create("mutual", 1)
    protection = Protection(certificates.broker, certificates.ours.certificate)
    with secured(kafka, protection) as servers:
        settings = servers | certificates.trust
        write(settings | certificates.own, "mutual", b"1", b"2")
        assert read(settings | certificates.own, "mutual", 2) == [b"1", b"2"]
        for text in failures(settings):
            assert "kafka.ssl.certificate.location and kafka.ssl.key.location" in text


def test_a_certificate_of_a_foreign_authority_is_refused_and_told_to_be_so(
    kafka: Brokers, certificates: Certificates
) -> None:
    kafka.create("strangers", 1)
    stranger = certificates.other.sign("stranger", password=KEY_PASSWORD)
    protection = Protection(certificates.broker, certificates.ours.certificate)
    with secured(kafka, protection) as servers:
        settings = servers | certificates.trust | certificates.own
        foreign = {
            "ssl.certificate.location": str(stranger.certificate),
            "ssl.key.location": str(stranger.key),
        }
        for text in failures(settings | foreign):
            assert re.search(r"127\.0\.0\.1:\d+ does not take the certificate", text), text
            assert "(unknown ca)" in text
            assert "kafka.ssl.certificate.location and kafka.ssl.key.location" in text
            assert "the authority that the brokers trust" in text
        # Nothing came through, and whoever has the right one is let in.
        assert ends(settings, "strangers") == {("strangers", 0): 0}


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("authority", r"cannot be trusted: .*issuer certificate\. Let kafka\.ssl\.ca\.location be"),
        ("host", r"not valid for '127\.0\.0\.1'\. Write the host in kafka\.bootstrap\.servers as"),
        ("expired", r"cannot be trusted: certificate has expired\. Renew the certificate"),
        ("plain", r"127\.0\.0\.1:\d+ speaks TLS, and the job does not\. Write kafka\.security"),
        ("mechanism", r"Unsupported SASL mechanism.*Look at kafka\.sasl\.mechanism"),
    ],
)
def test_why_there_is_no_connection_is_told_with_where_and_how_to_mend_it(
    kafka: Brokers, certificates: Certificates, case: str, told: str
) -> None:
    trust, broker, ours = certificates.trust, certificates.broker, certificates.ours
    other = {"ssl.ca.location": str(certificates.other.certificate)}
    settings, server, mechanism = {
        "authority": (trust | other, broker, ""),
        "host": (trust, ours.sign("elsewhere", "kafka.example"), ""),
        "expired": (trust, ours.sign("expired", days=0), ""),
        "plain": ({}, broker, ""),
        "mechanism": (trust | LOGIN, broker, "SCRAM-SHA-256"),
    }[case]
    protection = Protection(server, None, mechanism, {"percept": PASSWORD})
    with secured(kafka, protection) as servers:
        for text in failures(servers | settings):
            assert re.search(told, text), text


def test_brokers_without_tls_are_told_of_when_waiting_is_over(
    kafka: Brokers, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("processor_runtime.kafka.diagnosis._TIMEOUT_SECONDS", 1.0)
    for text in failures(kafka.settings | certificates.trust):
        assert "does not answer in TLS. Write the port of a TLS listener" in text


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"ssl.ca.location": "/no/ca.pem"}, r"kafka\.ssl\.ca\.location: there is no file /no/ca"),
        ({"ssl.key.location": "/no/key"}, r"kafka\.ssl\.key\.location: there is no file /no/key"),
        ({"ssl.key.password": WRONG}, r"is encrypted, and kafka\.ssl\.key\.password is not its"),
        ({"ssl.key.password": ""}, r"its password, kafka\.ssl\.key\.password, is missing"),
        ({"ssl.key.location": "other"}, r"kafka\.ssl\.key\.location: .* is not the key of"),
        ({"ssl.ca.location": "text"}, r"kafka\.ssl\.ca\.location: .* is no PEM file of cert"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_before_any_connection(
    certificates: Certificates, tmp_path: Path, changed: dict[str, str], told: str
) -> None:
    (tmp_path / "text").write_text("no certificate", encoding="utf-8")
    named = {"other": str(certificates.broker.key), "text": str(tmp_path / "text")}
    changes = {name: named.get(value, value) for name, value in changed.items()}
    settings = certificates.trust | certificates.own | changes
    for check in (check_consumer, producer_of):
        with pytest.raises(KafkaOptionError, match=told) as error:
            check(settings)
        assert WRONG not in str(error.value)
    # A worker on a machine without the file.
    with pytest.raises(KafkaFailed, match=rf"the worker on \S+: .*{told}"):
        read(settings, "secret", 1)
