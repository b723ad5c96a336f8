"""Everything at a glance: jobs with their last hour, rules by state, what needs attention."""

from typing import Any

import pytest

from tests.api.documents import STREAM
from tests.api.jobs import ReportingJob, running
from tests.api.running import START_MS, Service

MINUTE_MS = 60_000
UNREADABLE = {"status": "ok", "unreadable": 2, "problems": ["a.yaml: …", "b.yaml: …"]}
DELAY_MS = STREAM["allowed_delay_ms"]


def beat(job: ReportingJob, *versions: dict[str, Any], **fields: Any) -> None:
    now_ms = job.service.clock()
    times = {"watermark_ms": now_ms - DELAY_MS, "newest_event_ms": now_ms}
    job.beat(*versions, **{"epoch": 2, "events_per_second": 100.0} | times | fields)


def overview(service: Service) -> dict[str, Any]:
    body: dict[str, Any] = service.get("/v1/overview")
    return body


def concerns(service: Service) -> list[str]:
    return [item["concern"] for item in overview(service)["attention"]]


def test_rules_that_no_job_runs_need_attention(service: Service) -> None:
    body = overview(service)
    assert body["streams"] == body["attention"] == []
    assert body["attention_left_out"] == body["jobs_left_out"] == 0
    service.begin_with_stream()
    assert concerns(service) == []
    service.publish()
    assert concerns(service) == ["no_job"]
    beat(ReportingJob(service))
    assert concerns(service) == []


def test_jobs_are_shown_with_their_last_hour_and_rules_by_state(with_rule: Service) -> None:
    with_rule.publish(id="paused-rule")
    with_rule.done("POST", "/v1/processors/paused-rule/pause")
    with_rule.publish(id="deleted-rule")
    with_rule.done("DELETE", "/v1/processors/deleted-rule")
    job = ReportingJob(with_rule)
    beat(job, epoch=6, counters={"events": 100, "matches": 2})
    with_rule.clock.time_ms += MINUTE_MS
    beat(job, epoch=6, counters={"events": 250, "matches": 3})
    (stream,) = overview(with_rule)["streams"]
    assert (stream["name"], stream["allowed_delay_ms"]) == ("logins", DELAY_MS)
    assert stream["rules"] == {"published": 1, "paused": 1}
    (shown,) = stream["jobs"]
    series = shown["history"]["series"]
    assert (shown["state"], series["events"][-2:]) == ("running", [100, 150])
    assert series["matches"][-2:] == [2, 1]
    assert len(shown["history"]["times"]) == 61
    assert concerns(with_rule) == []


def test_a_silent_job_needs_attention_until_it_stops_on_purpose(with_stream: Service) -> None:
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


def test_quarantined_versions_come_first_and_of_very_many_the_number_left_out_is_told(
    with_rule: Service,
) -> None:
    error = "TypeError: <b>no</b>"
    broken = running(state="quarantined", error=error)
    beat(ReportingJob(with_rule), broken, watermark_ms=START_MS - 10**8)
    first, second = overview(with_rule)["attention"]
    assert (first["concern"], first["detail"]) == ("quarantined", error)
    assert (first["processor_id"], first["version"]) == ("failed-logins", 1)
    assert second["concern"] == "watermark_behind"
    many = [running(f"rule-{number}", state="quarantined") for number in range(130)]
    beat(ReportingJob(with_rule, instance="instance-2"), *many)
    body = overview(with_rule)
    assert (len(body["attention"]), body["attention_left_out"]) == (100, 30)
    assert body["quarantined"] == 130


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
    with_stream: Service, fields: dict[str, Any], expected: list[str]
) -> None:
    beat(ReportingJob(with_stream), **fields)
    assert concerns(with_stream) == expected


def test_a_job_that_does_not_take_up_changes_needs_attention_after_a_minute(
    with_rule: Service,
) -> None:
    job = ReportingJob(with_rule)
    for later_ms, epoch, told in (
        (0, 1, []),
        (MINUTE_MS + 1, 1, ["epoch_behind"]),
        (0, 2, []),
        (-60 * MINUTE_MS, 1, ["epoch_behind"]),  # the clock is set back
    ):
        with_rule.clock.time_ms += later_ms
        beat(job, epoch=epoch)
        assert concerns(with_rule) == told


def test_what_begins_or_ends_within_the_hour_is_told_the_next_first(with_stream: Service) -> None:
    beat(ReportingJob(with_stream))
    begin, end = "effective_from", "effective_until"
    for name, times in {
        "later": {begin: "2027-01-15T08:50:00Z"},
        "ends": {end: "2027-01-15T08:10:00Z"},
        "both": {begin: "2027-01-15T08:20:00Z", end: "2027-01-15T08:30:00Z"},
        "tomorrow": {begin: "2027-01-16T08:00:00Z"},
        "paused-one": {begin: "2027-01-15T08:20:00Z"},
    }.items():
        with_stream.publish(id=name, **times)
    with_stream.done("POST", "/v1/processors/paused-one/pause")
    items = overview(with_stream)["attention"]
    assert [(item["processor_id"], item["concern"]) for item in items] == [
        ("ends", "ends_soon"),
        ("both", "starts_soon"),
        ("both", "ends_soon"),
        ("later", "starts_soon"),
    ]
    assert {item["urgency"] for item in items} == {"info"}
