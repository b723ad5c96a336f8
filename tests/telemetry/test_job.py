"""Spans and metrics of a real job, from `percept run` to the collector."""

from pathlib import Path

import pytest

from tests.processor_runtime.resilience.job_process import (
    JobProcess,
    job_document,
    write_documents,
    write_events,
)
from tests.telemetry.collector import collecting, quick, values

pytestmark = [pytest.mark.spark, pytest.mark.long]

PARTS = ["check source", "pin rules", "read and match", "decide alerts", "write outputs"]


@pytest.mark.parametrize("works", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_a_job_tells_of_its_batches_and_ends_with_or_without_a_collector(
    tmp_path: Path,
    works: bool,  # noqa: FBT001
) -> None:
    for name in ("in", "rules"):
        (tmp_path / name).mkdir()
    stream = {
        "name": "numbers",
        "schema": "kind STRING, value BIGINT, ts BIGINT",
        "event_time_column": "ts",
    }
    step = {"name": "a", "where": "value = 7777"}
    rule = {"id": "sevens", "stream": "numbers", "pattern": {"steps": [step], "within_ms": 1_000}}
    write_documents(tmp_path, "stream", stream)
    write_documents(tmp_path, "rules", rule)
    for number in range(3):
        events = [
            {"kind": "hush", "value": value, "ts": 10_000 * number + place}
            for place, value in enumerate([7777, 1, 2, 3])
        ]
        write_events(tmp_path, f"{number}", events)
    document = job_document(stream="numbers", trigger={"available_now": True})
    with collecting(is_slow=not works) as collector:
        with JobProcess(tmp_path, document, quick(collector.url)) as job:
            assert job.wait() == 0, job.text
        spans, metrics = collector.spans, collector.metrics
    if not works:
        assert job.text.count("traces do not reach the collector") <= 1
        return
    batches = [span for span in spans if span.name == "batch"]
    told = [values(span.attributes) for span in batches]
    assert sum(each["percept.batch.events"] for each in told) == 12
    assert {each["percept.job"] for each in told} == {"test"}
    assert all(each["percept.epoch"] > 0 for each in told)
    for batch in batches:
        parts = [span for span in spans if span.parent_span_id == batch.span_id]
        parts.sort(key=lambda span: span.start_time_unix_nano)
        assert [span.name for span in parts] == PARTS
    events = metrics["percept_job_events_total"].sum.data_points[0]
    matches = metrics["percept_job_matches_total"].sum.data_points[0]
    assert events.as_int == 12
    assert matches.as_int == sum(each["percept.batch.matches"] for each in told) > 0
    assert not any(b"hush" in body or b"7777" in body for body in collector.bodies)
