"""docs/sources.md: a Python data source of a user's own, by name, on a real Redis server."""

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.fences import ROOT, fences
from tests.letters import followed
from tests.processor_runtime.resilience.job_process import JobProcess, job_document
from tests.processor_runtime.rule_documents import put_job, rule_of, stream_of
from tests.processor_runtime.written_rows import written

redis = pytest.importorskip("redis", reason="the client of Redis is not installed")

pytestmark = [pytest.mark.spark, pytest.mark.long]

URL = "redis://127.0.0.1:6379/0"
STREAM = stream_of("payments", "card STRING, amount DOUBLE, ts TIMESTAMP")
LARGE = followed(("large", "amount > 100"))
RULE = rule_of("large", "payments", LARGE, key_by=["card"], select={"amount": "large.amount"})


@pytest.fixture
def server() -> Iterator[Any]:
    client = redis.Redis.from_url(URL, socket_timeout=5)
    try:
        client.ping()
    except redis.exceptions.ConnectionError:
        missing = f"no Redis server answers at {URL}"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
    yield client
    client.close()


@pytest.fixture
def stream(server: Any) -> Iterator[str]:
    name = f"percept-test-{uuid.uuid4().hex}"
    yield name
    server.delete(name)


def give(server: Any, stream: str, *amounts: float) -> None:
    for minute, amount in enumerate(amounts):
        event = {"card": "4711", "amount": amount, "ts": f"2026-11-23T10:{minute:02}:00Z"}
        server.xadd(stream, {"event": json.dumps(event)})


@pytest.mark.nightly
def test_the_job_of_the_page_reads_a_redis_stream_once_and_goes_on_where_it_ended(
    server: Any, stream: str, tmp_path: Path
) -> None:
    (page,) = (
        each.text
        for each in fences("docs/sources.md")
        if each.language == "yaml" and each.heading == "Redis Streams"
    )
    document = yaml.safe_load(page) | {"spark": job_document()["spark"]}
    document["source"]["options"]["maxRows"] = 2
    environment = {"REDIS_URL": URL, "REDIS_STREAM": stream}
    environment["PYTHONPATH"] = str(ROOT / "examples/redis_streams")
    put_job(tmp_path, STREAM, RULE)
    give(server, stream, 1, 200, 30, 400, 50)
    server.xadd(stream, {"event": "{broken"})
    with JobProcess(tmp_path, document, environment) as job:
        assert job.wait() == 0, job.text
    rows = written(tmp_path)
    assert [row["output"]["amount"] for row in rows if row["kind"] == "match"] == [200, 400]
    (broken,) = (row for row in rows if row["kind"] == "error")
    assert broken["events"]["raw"] == "{broken"
    assert {row["kind"] for row in rows} == {"match", "error"}

    more = {"card": "1", "amount": 600, "ts": "2026-11-23T11:00:00Z"}
    server.xadd(stream, {"event": json.dumps(more)})
    with JobProcess(tmp_path, document, environment) as job:
        assert job.wait() == 0, job.text
    amounts = [row["output"]["amount"] for row in written(tmp_path) if row["kind"] == "match"]
    assert amounts == [200, 400, 600]
