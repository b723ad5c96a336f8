"""Everything at a glance: jobs with their last hour, rules by state, what needs attention."""

from typing import Any

import pytest

from tests.api.documents import ANY_STATE, STREAM
from tests.api.jobs import ReportingJob
from tests.api.running import START_MS, Publish, ServiceUnderTest

MINUTE_MS = 60_000
UNREADABLE = {"status": "ok", "unreadable": 2, "problems": ["a.yaml: …", "b.yaml: …"]}
DELAY_MS = STREAM["allowed_delay_ms"]


def beat(job: ReportingJob, *versions: dict[str, Any], **fields: Any) -> None:
    now_ms = job.service.clock()
    times = {"watermark_ms": now_ms - DELAY_MS, "newest_event_ms": now_ms}
    job.beat(*versions, **{"epoch": 2, "events_per_second": 100.0} | times | fields)


def overview(service: ServiceUnderTest) -> dict[str, Any]:
    body: dict[str, Any] = service.get("/v1/overview")
    return body


def concerns(service: ServiceUnderTest) -> list[str]:
    return [item["concern"] for item in overview(service)["attention"]]


def test_an_empty_service_has_nothing_to_show(service: ServiceUnderTest) -> None:
    body = overview(service)
    assert body["streams"] == body["attention"] == []
    assert body["attention_left_out"] == body["jobs_left_out"] == 0


def test_jobs_are_shown_with_their_last_hour_and_rules_by_state(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    publish()
    publish(id="paused-rule")
    with_stream.client.post("/v1/processors/paused-rule/pause", headers=ANY_STATE)
    publish(id="deleted-rule")
    with_stream.client.delete("/v1/processors/deleted-rule", headers=ANY_STATE)
    job = ReportingJob(with_stream)
    beat(job, epoch=6, counters={"events": 100, "matches": 2})
    with_stream.clock.time_ms += MINUTE_MS
    beat(job, epoch=6, counters={"events": 250, "matches": 3})

    (stream,) = overview(with_stream)["streams"]

    assert stream["name"] == "logins"
    assert stream["allowed_delay_ms"] == DELAY_MS
    assert stream["rules"] == {"published": 1, "paused": 1}
    (job,) = stream["jobs"]
    assert job["state"] == "running"
    assert job["history"]["series"]["events"][-2:] == [100, 150]
    assert job["history"]["series"]["matches"][-2:] == [2, 1]
    assert len(job["history"]["times"]) == 61
    assert concerns(with_stream) == []


def test_a_silent_job_needs_attention_until_it_stops_on_purpose(
    with_stream: ServiceUnderTest,
) -> None:
    job = ReportingJob(with_stream)
    beat(job)
    with_stream.clock.time_ms += MINUTE_MS

    (item,) = overview(with_stream)["attention"]
    assert (item["concern"], item["urgency"], item["job"]) == ("job_stale", "bad", "main")
    assert item["at"] == "2027-01-15T08:00:00.000Z"

    beat(job, failing_outputs=[{"name": "hook", "error": "answered 403", "lost_rows": 3}])
    ReportingJob(with_stream, instance="instance-2")  # started again, it has written nothing yet
    (item,) = overview(with_stream)["attention"]
    told = "The output 'hook' cannot be written and has lost 3 rows: answered 403"
    assert (item["concern"], item["detail"]) == ("output_failing", told)
    job = ReportingJob(with_stream, instance="instance-3")
    beat(job)
    assert concerns(with_stream) == []

    job.stop()
    assert concerns(with_stream) == []


def test_rules_that_no_job_runs_need_attention(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    assert concerns(with_stream) == []
    publish()
    assert concerns(with_stream) == ["no_job"]
    beat(ReportingJob(with_stream))
    assert concerns(with_stream) == []


def test_quarantined_versions_come_with_their_error_before_all_else(
    with_rule: ServiceUnderTest,
) -> None:
    broken = {
        "processor_id": "failed-logins",
        "version": 1,
        "state": "quarantined",
        "error": "TypeError: <b>no</b>",
    }
    beat(ReportingJob(with_rule), broken, watermark_ms=START_MS - 10**8)

    first, second = overview(with_rule)["attention"]

    assert first["concern"] == "quarantined"
    assert first["detail"] == "TypeError: <b>no</b>"
    assert (first["processor_id"], first["version"]) == ("failed-logins", 1)
    assert second["concern"] == "watermark_behind"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"watermark_ms": START_MS - DELAY_MS - 5 * MINUTE_MS}, []),
        ({"watermark_ms": START_MS - DELAY_MS - 5 * MINUTE_MS - 1}, ["watermark_behind"]),
        ({"watermark_ms": START_MS + MINUTE_MS}, []),
        ({"watermark_ms": START_MS + MINUTE_MS + 1}, ["watermark_ahead"]),
        ({"watermark_ms": None}, []),
        ({"backlog_events": 6_000}, []),
        ({"backlog_events": 6_001}, ["backlog"]),
        ({"batch_running_ms": 120_000}, []),
        ({"batch_running_ms": 120_001, "batch_duration_ms": 1_000}, ["batch_hangs"]),
        ({"batch_running_ms": 120_001, "batch_duration_ms": 60_000}, []),
        ({"batch_running_ms": 600_001, "batch_duration_ms": 60_000}, ["batch_hangs"]),
        ({"discovery": {"status": "ok"}}, []),
        ({"discovery": {"status": "failing", "error": "no route"}}, ["discovery_failing"]),
        ({"discovery": UNREADABLE}, ["rules_unreadable"]),
        ({"failing_outputs": [{"name": "db", "error": "no route"}]}, ["output_failing"]),
    ],
)
def test_a_job_that_lags_needs_attention(
    with_stream: ServiceUnderTest, fields: dict[str, Any], expected: list[str]
) -> None:
    beat(ReportingJob(with_stream), **fields)
    assert concerns(with_stream) == expected


def test_a_job_that_does_not_take_up_changes_needs_attention_after_a_minute(
    with_rule: ServiceUnderTest,
) -> None:
    job = ReportingJob(with_rule)
    beat(job, epoch=1)
    assert concerns(with_rule) == []

    with_rule.clock.time_ms += MINUTE_MS + 1
    beat(job, epoch=1)
    assert concerns(with_rule) == ["epoch_behind"]

    beat(job, epoch=2)
    assert concerns(with_rule) == []


def test_a_job_that_does_not_take_up_changes_is_told_after_the_clock_was_set_back(
    with_rule: ServiceUnderTest,
) -> None:
    job = ReportingJob(with_rule)
    with_rule.clock.time_ms -= 60 * MINUTE_MS
    beat(job, epoch=1)
    assert concerns(with_rule) == ["epoch_behind"]


def test_what_begins_or_ends_within_the_hour_is_told_the_next_first(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    beat(ReportingJob(with_stream))
    publish(id="later", effective_from="2027-01-15T08:50:00Z")
    publish(id="ends", effective_until="2027-01-15T08:10:00Z")
    publish(
        id="both", effective_from="2027-01-15T08:20:00Z", effective_until="2027-01-15T08:30:00Z"
    )
    publish(id="tomorrow", effective_from="2027-01-16T08:00:00Z")
    publish(id="paused-one", effective_from="2027-01-15T08:20:00Z")
    with_stream.client.post("/v1/processors/paused-one/pause", headers=ANY_STATE)

    items = overview(with_stream)["attention"]

    assert [(item["processor_id"], item["concern"]) for item in items] == [
        ("ends", "ends_soon"),
        ("both", "starts_soon"),
        ("both", "ends_soon"),
        ("later", "starts_soon"),
    ]
    assert {item["urgency"] for item in items} == {"info"}


def test_of_very_many_items_the_number_left_out_is_told(
    with_stream: ServiceUnderTest,
) -> None:
    broken = [
        {"processor_id": f"rule-{number}", "version": 1, "state": "quarantined"}
        for number in range(130)
    ]
    beat(ReportingJob(with_stream), *broken)
    body = overview(with_stream)
    assert len(body["attention"]) == 100
    assert body["attention_left_out"] == 30
    assert body["quarantined"] == 130
