"""Where rules fail: read from the rows of their errors, and told to the service of a job."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from contract.reports import LEFT_OUT, FailedAt
from contract.service.tokens import Role
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.schedule.timeline import Quarantine
from processor_runtime.spark.failed_events import MOST_VERSIONS, failed_events
from processor_runtime.spark.plan.stages import OUTPUT_DDL
from tests.api.documents import STREAM
from tests.discoverers.rule_service import RuleService, serving
from tests.letters import followed
from tests.patience import eventually
from tests.processor_runtime.rule_documents import put_events, put_job, rule_of
from tests.processor_runtime.spark.finished_job import job

ENDS = followed(("fail", "action = 'fail'"), ("end", "action = 'end'"), within="1 hour")
LIMITS = {"partial_matches_per_key": 2}
RULE = rule_of("greedy", "logins", ENDS, key_by=["user"], limits=LIMITS)


def failed(
    rule: str, version: int, end_ms: int, key: str | None = None, events: str | None = None
) -> OutputRow:
    row = OutputRow("error", processor_id=rule, version=version, key=key, end_ms=end_ms)
    return row._replace(events=events, error='{"reason": "limit"}')


def test_the_event_that_stopped_a_version_is_told_and_no_other(spark: SparkSession) -> None:
    large = json.dumps({"note": "x" * 200_000})
    rows = [
        failed("p", 1, 5, '["ana"]', '{"n": 5}'),
        failed("p", 1, 7, '["eve", 2]', '{"n": 7}'),
        failed("p", 2, 7, '["eve"]', '{"n": 8}'),
        failed("p\"'`$", 1, 9, None, None),
        failed("large", 1, 9, json.dumps(["k" * 200_000]), large),
        OutputRow("error", events='{"raw": 1}', error="{}"),
        OutputRow("match", processor_id="p", version=1, end_ms=7, events="{}"),
    ]
    frame = spark.createDataFrame(rows, OUTPUT_DDL).repartition(3)
    failures = [
        Quarantine("p", 1, "d", "later", 7),
        Quarantine("p", 1, "d", "in another shard", 5),
        Quarantine("p\"'`$", 1, "d", "a window closed", 9),
        Quarantine("large", 1, "d", "too large", 9),
        Quarantine("silent", 1, "d", "a worker died", 9),
    ]
    assert failed_events(frame, failures) == {
        ("p", 1): FailedAt(key=["eve", 2], time_ms=7, event={"n": 7}),
        ("p\"'`$", 1): FailedAt(time_ms=9),
        ("large", 1): FailedAt(
            key=[f'{{"{LEFT_OUT}": "200004 bytes of key"}}'],
            time_ms=9,
            event={LEFT_OUT: "200012 bytes of events"},
        ),
    }
    assert failed_events(frame, []) == {}
    many = [Quarantine(f"q{number}", 1, "d", "", 0) for number in range(MOST_VERSIONS)]
    assert failed_events(frame, [*many, *failures]) == {}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[RuleService]:
    with serving(tmp_path) as service:
        yield service


@pytest.mark.long
@pytest.mark.parametrize(
    "outputs", [[{"type": "service"}], pytest.param([], marks=pytest.mark.nightly)]
)
def test_a_job_tells_its_service_where_a_rule_failed_if_it_tells_events(
    spark: SparkSession, tmp_path: Path, served: RuleService, outputs: list[dict[str, Any]]
) -> None:
    served.request("POST", "/v1/processors", json=RULE)
    put_job(tmp_path, STREAM, RULE)
    batches = []
    for number in range(6):
        at = f"1970-01-01T00:00:{number * 10:02}"
        fail = {"user": "eve", "action": "fail", "amount": number + 0.5, "ts": f"{at}.900Z"}
        batches.append([fail, {"user": "ana", "action": "none", "amount": 0.0, "ts": f"{at}.950Z"}])
    put_events(tmp_path / "in", batches)
    (tmp_path / "token").write_text(served.token_of[Role.JOB])
    console = {"type": "json", "path": str(tmp_path / "out"), "kinds": ["match"]}
    job(
        spark,
        tmp_path,
        stream="logins",
        outputs=[console, *outputs],
        service={"url": served.url, "token_file": str(tmp_path / "token")},
        time={"delay": 0},
        trigger={"available_now": True, "close_at_end": True},
    ).run()

    def quarantines() -> list[Any]:
        path = "/v1/changes?processor=greedy&action=processor.quarantine"
        items: list[Any] = served.request("GET", path).json()["items"]
        return items

    eventually(quarantines)
    (noted,) = quarantines()
    event = {"user": "eve", "action": "fail", "amount": 2.5}
    if outputs:
        told = noted["failed_at"]
        assert (told["key"], told["time"]) == (["eve"], "1970-01-01T00:00:20.900Z")
        assert told["event"].items() >= event.items()
    else:
        assert noted["failed_at"] is None
