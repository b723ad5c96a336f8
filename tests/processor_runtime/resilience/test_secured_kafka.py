"""`percept run` over TLS with a login: the example of the page, and where no secret may be left."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
import yaml

from tests.docs.fences import fences
from tests.letters import followed
from tests.patience import eventually
from tests.processor_runtime.kafka.brokers import Brokers, brokers
from tests.processor_runtime.kafka.card_testing import PAYMENTS, write_rules
from tests.processor_runtime.kafka.certificates import Authority
from tests.processor_runtime.kafka.registry import Registry, record, registry
from tests.processor_runtime.kafka.secured import Protection, guarded
from tests.processor_runtime.resilience.job_process import JobProcess, job_document
from tests.processor_runtime.resilience.service_job import ServiceJob
from tests.processor_runtime.rule_documents import stream_of
from tests.processor_runtime.written_rows import written

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

pytestmark = [pytest.mark.spark, pytest.mark.long]

PAGE: Final = "docs/kafka.md"
FOLDER: Final = "/etc/percept/tls"
MECHANISM: Final = "SCRAM-SHA-512"
SECRETS: Final[Mapping[str, str]] = {
    "KAFKA_PASSWORD": "hush-of-the-user",
    "KAFKA_KEY_PASSWORD": "hush-of-the-key",
    "REGISTRY_PASSWORD": "hush-of-the-registry",
}
WRONG: Final = "hush-that-is-wrong"
SMALL_SPARK: Final = job_document()["spark"]
STREAM: Final = stream_of("payments", "card STRING, cents BIGINT, ts BIGINT")
PAIR: Final = followed(("small", "cents < 200"), ("large", "cents > 10000"))
AVRO: Final = json.dumps(record("Payment", card="string", cents="long", ts="long"))


@dataclass
class Secured:
    """Brokers that take only who has a certificate of ours, and the password."""

    behind: Brokers
    servers: str

    @property
    def variables(self) -> dict[str, str]:
        return {"KAFKA_SERVERS": self.servers, "KAFKA_USER": "percept", **SECRETS}


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[Secured]:
    ca = Authority(tmp_path, "ca")
    ca.sign("client", password=SECRETS["KAFKA_KEY_PASSWORD"])
    users = {"percept": SECRETS["KAFKA_PASSWORD"]}
    protection = Protection(ca.sign("broker"), ca.certificate, MECHANISM, users)
    with brokers() as cluster, guarded(cluster.servers, protection) as servers:
        for topic in ("payments", "alerts"):
            cluster.create(topic, 1)
        yield Secured(cluster, servers)


def example(folder: Path) -> dict[str, Any]:
    """Return the secured job of the page, with a client's certificate, all of them in a folder."""
    job_file, *_ = (each.text for each in fences(PAGE) if each.language == "yaml")
    security = "".join(
        each.text for each in fences(PAGE) if (each.heading, each.language) == ("Security", "yaml")
    )
    write_rules(folder / "rules")
    job = yaml.safe_load(job_file)
    for part in (job["source"], job["outputs"][0]):
        part["options"] |= yaml.safe_load(security.replace(FOLDER, str(folder)))
    return dict(job) | {"spark": SMALL_SPARK}


@pytest.mark.nightly
def test_the_secured_job_of_the_page_finds_the_alert_and_says_why_it_is_refused(
    kafka: Secured, tmp_path: Path
) -> None:
    kafka.behind.give("payments", 0, *PAYMENTS)
    document = example(tmp_path)
    with JobProcess(tmp_path, document, kafka.variables | {"KAFKA_PASSWORD": WRONG}) as job:
        assert job.wait() == 1
        assert "Invalid username or password" in job.text
        assert WRONG not in job.text
    assert kafka.behind.records("alerts", [0]) == []
    with JobProcess(tmp_path, document, kafka.variables) as job:
        assert job.wait() == 0, job.text
    (alert,) = (json.loads(each.text) for each in fences(PAGE) if each.language == "json")
    (found,) = kafka.behind.records("alerts", [0])
    assert json.loads(found.value()).items() >= alert.items()
    assert written(tmp_path) == []


def secret_job(schemas: Registry, folder: Path, service: str) -> dict[str, Any]:
    """Return a job with every kind of secret, whose plans are in Spark's log."""
    options = {
        "kafka.bootstrap.servers": "${KAFKA_SERVERS}",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.ssl.ca.location": str(folder / "ca.pem"),
        "kafka.ssl.certificate.location": str(folder / "client.crt"),
        "kafka.ssl.key.location": str(folder / "client.key"),
        "kafka.ssl.key.password": "${KAFKA_KEY_PASSWORD}",
        "kafka.sasl.mechanism": MECHANISM,
        "kafka.sasl.username": "${KAFKA_USER}",
        "kafka.sasl.password": "${KAFKA_PASSWORD}",
    }
    login = {"url": schemas.url, "basic.auth.user.info": "percept:${REGISTRY_PASSWORD}"}
    # Copies, as a job file has no aliases.
    avro, of_output = ({"value_format": "avro", "schema_registry": dict(login)} for _ in range(2))
    return job_document(
        stream="payments",
        source={
            "format": "kafka",
            "options": options | {"subscribe": "payments", "startingOffsets": "earliest"},
            **avro,
        },
        discoverer={"type": "http", "url": service, "token_env": "PERCEPT_TOKEN"},
        service={"url": service, "token_env": "PERCEPT_TOKEN"},
        outputs=[
            {"type": "kafka", "topic": "alerts", "options": options, **of_output},
            {"type": "json", "path": "out", "kinds": ["match", "late", "error"]},
        ],
        spark=SMALL_SPARK | {"spark.sql.planChangeLog.level": "WARN"},
    )


def give(kafka: Secured, schemas: Registry, *payments: tuple[str, int]) -> None:
    """Write payments, a second after the other; the last only lets time go on."""
    write = AvroSerializer(SchemaRegistryClient({"url": schemas.url}), AVRO)
    context = SerializationContext("payments", MessageField.VALUE)
    for second, (card, cents) in enumerate([*payments, ("none", 1_000)]):
        event = {"card": card, "cents": cents, "ts": 1_000 * second}
        kafka.behind.give("payments", 0, write(event, context))


def places_with(texts: Mapping[str, bytes], secret: str) -> list[str]:
    forms = secret.encode(), b64encode(f"percept:{secret}".encode())
    return [place for place, text in texts.items() if any(form in text for form in forms)]


@pytest.mark.nightly
def test_a_job_leaves_no_secret_in_logs_checkpoint_metrics_plans_and_errors(
    kafka: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERCEPT_HEARTBEAT_SECONDS", "0.5")
    own = ServiceJob(tmp_path)
    with registry() as schemas, own.service(), own.client() as client:
        client.register_stream(STREAM)
        client.publish("payments", "tested-card", pattern=PAIR, key_by=["card"])
        give(kafka, schemas, ("4711", 100), ("4711", 25_000))
        document = secret_job(schemas, tmp_path, own.url)
        variables = kafka.variables | {"PERCEPT_TOKEN": own.token}
        with JobProcess(tmp_path, document, variables) as job:
            job.wait_until(lambda: kafka.behind.records("alerts", [0]) != [])
            job.wait_until(lambda: reported(own).get("state") == "running")
            shown = asked(own)
            (alert,) = kafka.behind.records("alerts", [0])
            read = AvroDeserializer(SchemaRegistryClient({"url": schemas.url}))
            context = SerializationContext("alerts", MessageField.VALUE)
            row: Any = read(alert.value(), context)
            assert (row["processor_id"], row["key"]) == ("tested-card", '["4711"]')
            # What is read next cannot be: the registry ends the job, and its query with a plan.
            schemas.fails_with = 401
            schemas.schemas.append({"id": 999, "subject": "other", "version": 1, "schema": AVRO})
            kafka.behind.give("payments", 0, b"\x00\x00\x00\x03\xe7\x02a")
            assert job.wait() == 1
            assert "the schema registry refuses: not now" in job.text
        eventually(lambda: reported(own).get("state") != "running")
        shown |= {f"{place}, ended": text for place, text in asked(own).items()}
        login = b64encode(f"percept:{SECRETS['REGISTRY_PASSWORD']}".encode()).decode()
        assert f"Basic {login}" in schemas.authorizations
    left = shown | {
        str(path.relative_to(tmp_path)): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert {"/metrics", "spark.log", "run-00.log", "checkpoint/sources/0/0"} <= left.keys()
    # Plans are there, with the options that are no secrets; those of the registry are in no plan.
    assert b"kafka.sasl.username=percept" in left["spark.log"]
    found = [(name, places_with(left, secret)) for name, secret in SECRETS.items()]
    assert found == [(name, []) for name in SECRETS]


def reported(own: ServiceJob) -> dict[str, Any]:
    (found,) = json.loads(asked(own)["/v1/streams/payments/jobs"]) or [{}]
    return dict(found)


def asked(own: ServiceJob) -> dict[str, bytes]:
    """Return what the service shows."""
    headers = {"Authorization": f"Bearer {own.token}"}
    paths = ("/metrics", "/v1/streams/payments/jobs", "/v1/streams/payments/matches")
    return {path: httpx2.get(f"{own.url}{path}", headers=headers).content for path in paths}
