"""Spans and metrics of a real service process, as a collector gets them."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import httpx2
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.api.documents import STREAM, processor_document
from tests.api.running import postgresql_schema_named
from tests.api.serving import Served, served
from tests.patience import FAR_LONGER_SECONDS, eventually
from tests.ports import free_port
from tests.telemetry.collector import Collector, collecting, quick, values

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
TRACED = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=hush"}
HUSH = "hush"
SERVER = Span.SPAN_KIND_SERVER


def use(service: Served) -> None:
    """Make requests that have secrets wherever a client can put them."""
    with httpx2.Client(base_url=service.url, headers=service.authorization | TRACED) as client:
        made = client.put("/v1/streams/logins", json=STREAM, headers={"If-None-Match": "*"})
        assert made.status_code == 201, made.text
        rule = processor_document(
            description=HUSH,
            pattern={"steps": [{"name": "a", "where": f"action = '{HUSH}'"}], "within": "1 min"},
        )
        created = client.post("/v1/processors", json=rule)
        assert created.status_code == 201, created.text
        listed = client.get(
            f"/v1/processors?q={HUSH}&token={HUSH}",
            headers={"X-Secret": HUSH, "Cookie": f"session={HUSH}", "X-Request-ID": "one"},
        )
        assert listed.status_code in {200, 422}, listed.text
        assert client.get(f"/v1/streams/{HUSH}").status_code == 404
        assert client.get(f"/nowhere/{HUSH}").status_code == 404
        broken = {"traceparent": f"00-{HUSH * 1_000}"}
        assert client.get("/v1/streams", headers=broken).status_code == 200
        refused = {"Authorization": f"Bearer {HUSH}"}
        assert client.get("/v1/streams/logins", headers=refused).status_code == 401
        assert client.request("BREW", "/v1/processors").status_code == 405


def requests_to(collector: Collector, method: str, route: str) -> list[Span]:
    return collector.named(f"{method} {route}")


@pytest.mark.long
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_a_collector_gets_requests_statements_and_metrics_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    if store == "sqlite":
        check_what_is_sent(tmp_path, monkeypatch, "sqlite:///percept.db", "sqlite")
        return
    with postgresql_schema_named(f"telemetry_{free_port()}") as url:
        check_what_is_sent(tmp_path, monkeypatch, url, "postgresql")


def set_all(monkeypatch: pytest.MonkeyPatch, variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def check_what_is_sent(
    folder: Path, monkeypatch: pytest.MonkeyPatch, store: str, system: str
) -> None:
    with collecting() as collector:
        set_all(monkeypatch, quick(collector.url))
        with served(folder, store, free_port()) as service:
            use(service)
            token = service.token
            page = httpx2.get(f"{service.url}/metrics", headers=service.authorization).text
            eventually(lambda: collector.named("GET /metrics"))
            eventually(lambda: len(has_counted(collector)) == 1)
            service.stop()
    (created,) = requests_to(collector, "POST", "/v1/processors")
    assert created.kind == SERVER
    assert created.trace_id.hex() == TRACE
    assert created.parent_span_id.hex() == PARENT
    assert not created.trace_state
    attributes = values(created.attributes)
    assert attributes.pop("percept.request_id")
    assert attributes == {
        "http.request.method": "POST",
        "http.route": "/v1/processors",
        "http.response.status_code": 201,
        "url.scheme": "http",
    }
    statements = [span for span in collector.spans if span.parent_span_id == created.span_id]
    texts = [values(span.attributes)["db.query.text"] for span in statements]
    assert {values(span.attributes)["db.system.name"] for span in statements} == {system}
    assert any(text.startswith("INSERT INTO processors") for text in texts), texts
    assert all(span.kind == Span.SPAN_KIND_CLIENT for span in statements)
    (listed,) = requests_to(collector, "GET", "/v1/processors")
    assert values(listed.attributes)["percept.request_id"] == "one"
    statuses = [
        values(span.attributes)["http.response.status_code"] for span in requests(collector)
    ]
    assert {201, 401, 404, 405} <= set(statuses)
    (alone,) = requests_to(collector, "GET", "/v1/streams")
    assert alone.trace_id.hex() != TRACE
    assert not alone.parent_span_id
    (other,) = requests_to(collector, "HTTP", "/v1/processors")
    assert values(other.attributes)["http.request.method"] == "_OTHER"
    for secret in (HUSH, token, token.removeprefix("percept_")):
        assert not any(secret.encode() in body for body in collector.bodies)
    assert {each["service.name"] for each in collector.resources} == {"percept-service"}
    names = set(re.findall(r"^# TYPE (\w+) (?:gauge|counter|histogram)", page, re.MULTILINE))
    assert {name for name in names if not name.endswith("_created")} <= collector.metrics.keys()
    lines = [json.loads(line) for line in service.log.read_text().splitlines() if line[:1] == "{"]
    assert TRACE in {line.get("trace_id") for line in lines if line["event"] == "request"}


def requests(collector: Collector) -> list[Span]:
    return [span for span in collector.spans if span.kind == SERVER]


def has_counted(collector: Collector) -> list[int]:
    """Return how often a rule was created, as the metrics have it: all equal the same source."""
    metric = collector.metrics.get("percept_http_request_seconds")
    return [
        point.count
        for point in ([] if metric is None else metric.histogram.data_points)
        if values(point.attributes)["route"] == "/v1/processors"
        and values(point.attributes)["method"] == "POST"
    ]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["dead", "slow", "refusing"])
def test_the_service_works_and_stops_whatever_the_collector_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with collecting(is_slow=kind == "slow", status=500) as collector:
        url = f"http://127.0.0.1:{free_port()}" if kind == "dead" else collector.url
        # Who waited for the collector would be noticed.
        waiting = {
            "OTEL_EXPORTER_OTLP_TIMEOUT": f"{FAR_LONGER_SECONDS:.0f}",
            "OTEL_BSP_MAX_QUEUE_SIZE": "20",
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "5",
        }
        set_all(monkeypatch, quick(url) | waiting)
        with served(tmp_path, "sqlite:///percept.db", free_port()) as service:
            with httpx2.Client(base_url=service.url) as client:
                for _ in range(50):
                    assert client.get("/healthz").status_code == 200
            if kind != "slow":
                eventually(lambda: "traces do not reach" in service.log.read_text())
                eventually(lambda: "metrics do not reach" in service.log.read_text())
            else:
                eventually(lambda: {"/v1/traces", "/v1/metrics"} == set(collector.requests))
            service.stop()
            log = service.log.read_text(encoding="utf-8")
    told = [json.loads(line) for line in log.splitlines() if "OpenTelemetry" in line]
    assert len(told) == (0 if kind == "slow" else 2), log
    assert url not in log
    assert "opentelemetry" not in log
