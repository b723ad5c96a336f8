"""docs/why.md: every request on the page is answered as the page says."""

import json
from pathlib import Path

from api.diagnosis.explanations import ExplanationRequest
from tests.api.running import START_MS, ServiceUnderTest
from tests.api.test_diagnosis import HEALTHY, read
from tests.api.test_jobs import ReportingJob, running
from tests.api.test_jobs_page import EXCHANGE
from tests.api.test_serve import shows

PAGE = Path(__file__).parents[2] / "docs" / "why.md"
FAIL = {
    "name": "fail",
    "reached": 410,
    "events": 1_230,
    "timed_out": 398,
    "last_event_ms": START_MS - 2_000,
}


OPEN = {
    "batch_id": 18,
    "watermark_ms": START_MS + 4_000,
    "open": 1,
    "partial_matches": [
        {
            "version": 1,
            "steps": [
                {
                    "name": "fail",
                    "count": 2,
                    "first_ms": START_MS + 1_000,
                    "last_ms": START_MS + 3_000,
                }
            ],
            "started_ms": START_MS + 1_000,
            "last_ms": START_MS + 3_000,
            "expires_ms": START_MS + 601_000,
            "awaited": ["fail"],
        }
    ],
}


def test_every_request_is_answered_as_shown(with_rule: ServiceUnderTest) -> None:
    job = ReportingJob(with_rule)
    report = running(steps=[FAIL], partial_matches=12, counters={"events": 1_230})
    job.beat(
        report,
        **HEALTHY | {"counters": {"events": 91_000}},
    )
    exchanges = EXCHANGE.findall(PAGE.read_text(encoding="utf-8"))
    assert [method for method, *_ in exchanges] == ["GET", "GET", "GET", "POST"]
    ExplanationRequest.model_validate_json(exchanges[-1][3])  # a worker answers it
    for _, path, _, shown in exchanges[:-1]:
        what = path.removeprefix("/v1/processors/failed-logins/")
        given = read(with_rule, what)
        if what.startswith("partial-matches"):
            (question,) = job.beat(report)["asked_keys"]
            job.tell({"id": question["id"], **OPEN})
            given = read(with_rule, what)
        assert shows(json.loads(shown), given), given
