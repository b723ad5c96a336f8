"""A job registers, reports and stops, whatever happens to the service meanwhile."""

import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from contract.asked_keys import KeyAnswer
from contract.reports import OutputReport
from discoverers import DiscovererHealth, HealthStatus, ProcessorProblem
from discoverers.clock import Backoff, Clock
from processor_runtime.driver.job_status import JobStatus, Totals, VersionStatus
from processor_runtime.reporting import JobReporter, ReportingJob, RuleService, ServiceRefused
from tests.api.documents import processor_document
from tests.discoverers.rule_service import RuleService as ServedRuleService
from tests.patience import PATIENCE_SECONDS, eventually

JOBS = "/v1/streams/logins/jobs"
FAILED = VersionStatus(
    processor_id="failed-logins",
    version=1,
    state="active",
    active_from_ms=1_000,
    totals=Totals(events=50, matches=3),
    partial_matches=12,
    last_match_ms=5_000,
)
STATUS = JobStatus(
    epoch=2,
    batch_id=17,
    watermark_ms=4_000,
    newest_event_ms=9_000,
    events_per_second=48_211.5,
    batch_duration_ms=1_830,
    totals=Totals(events=91_000, matches=3),
    versions=(FAILED,),
)


# Pauses of seconds would make slow tests.
EAGER = Clock(wait=lambda event, seconds: event.wait(seconds / 100))


def reporter(
    service: RuleService,
    instance_id: str = "instance-1",
    superseded: list[str] | None = None,
    **more: Any,
) -> JobReporter:
    told = superseded if superseded is not None else []
    job = ReportingJob("logins", "main", instance_id, {"host": "driver-1"})
    return JobReporter(service, job, told.append, **{"clock": EAGER} | more)


def job_in(served: ServedRuleService) -> dict[str, Any]:
    jobs = served.request("GET", JOBS).json()
    nothing: dict[str, Any] = {"state": "unknown", "instance_id": "", "batch_id": None}
    return dict(jobs[0]) if jobs else nothing | {"versions": {}}


@pytest.fixture
def reporting(served: ServedRuleService, rules: RuleService) -> Iterator[JobReporter]:
    """A reporter whose first report the service has taken."""
    with reporter(rules) as running:
        running.update(STATUS)
        eventually(lambda: job_in(served)["state"] == "running")
        yield running


def versions_in(served: ServedRuleService) -> list[dict[str, Any]]:
    path = f"/v1/jobs/{job_in(served)['id']}/versions?limit=500"
    items: list[dict[str, Any]] = served.request("GET", path).json()["items"]
    return items


@pytest.mark.usefixtures("reporting")
def test_the_service_knows_the_newest_batch_and_what_runs(served: ServedRuleService) -> None:
    job = job_in(served)
    assert job["properties"] == {"host": "driver-1"}
    assert (job["epoch"], job["batch_id"]) == (2, 17)
    assert job["watermark"] == "1970-01-01T00:00:04.000Z"
    assert job["counters"]["events"] == 91_000
    (version,) = versions_in(served)
    assert (version["state"], version["partial_matches"]) == ("active", 12)


def test_the_service_knows_how_the_source_of_rules_fares_between_two_batches(
    served: ServedRuleService, rules: RuleService
) -> None:
    health = [DiscovererHealth(HealthStatus.OK, last_success_ms=1_800_000_000_000)]
    with reporter(rules, discovery=lambda: health[-1]) as reporting:
        reporting.update(STATUS)
        eventually(lambda: job_in(served)["state"] == "running")
        assert job_in(served)["discovery"]["status"] == "ok"
        problems = (ProcessorProblem("rules/a.yaml", "no pattern"),) * 12
        failing, error = HealthStatus.FAILING, "OSError: no such folder"
        health.append(replace(health[0], status=failing, last_error=error, problems=problems))
        eventually(lambda: job_in(served)["discovery"]["status"] == "failing")
        told = job_in(served)["discovery"]
        assert told["error"] == "OSError: no such folder"
        assert told["last_success"] == "2027-01-15T08:00:00.000Z"
        assert (told["unreadable"], len(told["problems"])) == (12, 10)
        assert told["problems"][0] == "rules/a.yaml: no pattern"


def test_heartbeats_tell_for_how_long_a_batch_has_been_running(
    served: ServedRuleService, reporting: JobReporter
) -> None:
    assert job_in(served)["batch_running_ms"] is None
    reporting.batch_begins()
    eventually(lambda: (job_in(served)["batch_running_ms"] or 0) > 100)
    reporting.update(STATUS)
    eventually(lambda: job_in(served)["batch_running_ms"] is None)


def _is_told(served: ServedRuleService, path: str, count: int) -> bool:
    return bool(served.request("GET", path).json()["jobs"][0]["open"] == count)


def test_a_key_that_somebody_asks_about_is_told_of_after_each_batch(
    served: ServedRuleService, reporting: JobReporter
) -> None:
    served.publish(processor_document())
    path = "/v1/processors/failed-logins/partial-matches?key=eve"
    assert not reporting.asked
    served.request("GET", path)
    eventually(lambda: [each.key for each in reporting.asked] == [["eve"]])
    asked = reporting.asked[0]
    for batch_id in (18, 19):
        told = KeyAnswer(id=asked.id, batch_id=batch_id, open=batch_id)
        reporting.update(replace(STATUS, batch_id=batch_id, answers=(told,)))
        eventually(partial(_is_told, served, path, batch_id))


def test_a_job_says_that_it_starts_runs_and_has_ended_on_purpose_with_its_last_numbers(
    served: ServedRuleService, rules: RuleService
) -> None:
    with reporter(rules) as reporting:
        eventually(lambda: job_in(served)["state"] == "starting")
        reporting.update(STATUS)
        eventually(lambda: job_in(served)["state"] == "running")
        reporting.update(replace(STATUS, totals=Totals(events=92_000)))
    job = job_in(served)
    assert (job["state"], job["stop_reason"]) == ("stopped", "stopped")
    assert job["counters"]["events"] == 92_000


def test_a_job_that_dies_of_an_error_is_silent_so_that_its_silence_is_seen(
    served: ServedRuleService, rules: RuleService
) -> None:
    failing: list[OutputReport] = []

    def job_that_fails() -> None:
        with reporter(rules, failing_outputs=lambda: failing) as reporting:
            reporting.update(STATUS)
            eventually(lambda: job_in(served)["state"] == "running")
            failing.append(OutputReport(name="db", error="no route to host"))
            raise ValueError("a batch has failed")

    with pytest.raises(ValueError, match="a batch has failed"):
        job_that_fails()
    assert job_in(served)["state"] == "running"  # and stale, after six heartbeats
    assert job_in(served)["failing_outputs"] == [each.model_dump() for each in failing]


def test_a_service_that_is_down_is_reported_to_when_it_is_back(
    served: ServedRuleService, reporting: JobReporter, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "percept.reporting")
    served.stop()
    reporting.update(replace(STATUS, epoch=3))
    eventually(lambda: reporting.consecutive_failures >= 4)
    reporting.update(replace(STATUS, epoch=4, batch_id=99))
    served.start()
    eventually(lambda: job_in(served)["batch_id"] == 99)
    assert [version["state"] for version in versions_in(served)] == ["active"]
    assert len([each for each in caplog.records if "takes no reports" in each.message]) == 1


def test_an_outage_however_long_leaves_nothing_behind_in_memory() -> None:
    transport = httpx2.MockTransport(
        lambda request: httpx2.Response(200 if request.method == "PUT" else 503, json=REGISTERED)
    )
    service = RuleService("http://127.0.0.1", lambda: "token", transport=transport)
    reporting = reporter(service)
    for number in range(300):  # ten new versions between any two tries, none of them answered
        versions = tuple(replace(FAILED, version=10 * number + each + 1) for each in range(10))
        reporting.update(replace(STATUS, epoch=number, versions=versions))
        try:
            reporting._report()
        except ServiceRefused as error:
            reporting._failed(error)
    assert len(reporting._versions._unanswered) <= 30


@pytest.mark.long
def test_a_job_that_the_service_has_forgotten_registers_again_and_tells_everything(
    served: ServedRuleService, reporting: JobReporter
) -> None:
    first_id = job_in(served)["id"]
    served.request("DELETE", f"/v1/jobs/{first_id}")
    reporting.update(replace(STATUS, epoch=3))
    eventually(lambda: job_in(served)["state"] == "running")
    assert job_in(served)["id"] != first_id
    eventually(lambda: len(versions_in(served)) == 1)


@pytest.mark.long
def test_a_superseded_instance_is_told_once_and_reports_no_more(
    served: ServedRuleService, rules: RuleService
) -> None:
    superseded: list[str] = []
    with reporter(rules, superseded=superseded) as old:
        old.update(STATUS)
        eventually(lambda: job_in(served)["state"] == "running")
        with reporter(rules, "instance-2") as new:
            new.update(STATUS)
            eventually(lambda: job_in(served)["instance_id"] == "instance-2")
            old.update(replace(STATUS, epoch=3))
            eventually(lambda: superseded)
    assert superseded == ["the instance instance-2 of job 'main' has taken over"]
    # The old one has not announced the stop of the new one.
    assert job_in(served)["stop_reason"] == "stopped"
    assert job_in(served)["instance_id"] == "instance-2"


MANY = tuple(replace(FAILED, processor_id=f"rule-{number}") for number in range(2_500))


@pytest.mark.long
def test_versions_that_do_not_fit_into_one_heartbeat_are_all_told(
    served: ServedRuleService, rules: RuleService
) -> None:
    with reporter(rules) as reporting:
        reporting.update(replace(STATUS, versions=MANY))
        eventually(lambda: job_in(served)["versions"].get("active") == 2_500)


def test_a_quarantine_is_told_with_its_error(served: ServedRuleService, rules: RuleService) -> None:
    broken = replace(FAILED, state="quarantined", error="KeyError: 'amount'", traceback="x" * 9_000)
    with reporter(rules) as reporting:
        reporting.update(replace(STATUS, versions=(broken,)))
        eventually(lambda: job_in(served)["state"] == "running")
        (version,) = versions_in(served)
        assert version["error"] == "KeyError: 'amount'"
        assert len(version["traceback"]) == 4_000


REGISTERED = {
    "id": "0123456789abcdef",
    "heartbeat_seconds": 5.0,
    "stale_after_seconds": 30.0,
    "versions_per_heartbeat": 1000,
    "matches_per_post": 500,
}


@dataclass
class ScriptedService:
    """Answers registrations and heartbeats, after the refusals it is given."""

    refusals: list[httpx2.Response] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    jobs: list[dict[str, str]] = field(default_factory=list)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.tokens.append(request.headers["Authorization"])
        if request.method == "GET":
            return httpx2.Response(200, json=self.jobs)
        if self.refusals:
            return self.refusals.pop(0)
        if request.url.path.endswith("/heartbeats"):
            self.bodies.append(httpx2.Response(200, content=request.content).json())
            return httpx2.Response(200, json={"resend_all": False, "newest_epoch": 2})
        return httpx2.Response(200, json=REGISTERED)

    def rules(self, token_file: Path | None = None) -> RuleService:
        def token() -> str:
            return token_file.read_text() if token_file else "token"

        return RuleService("http://127.0.0.1", token, transport=httpx2.MockTransport(self))


def clock_of(pauses: list[float]) -> Clock:
    """Return one whose waits take no time but for the turn of another thread."""

    def wait(event: threading.Event, seconds: float) -> bool:
        pauses.append(seconds)
        return event.wait(0.001)

    return Clock(wait=wait)


def test_failures_are_followed_by_growing_pauses_and_by_those_the_service_asks_for() -> None:
    down = [httpx2.Response(502) for _ in range(4)]
    overloaded = httpx2.Response(503, headers={"Retry-After": "77"})
    script = ScriptedService(refusals=[*down, overloaded])
    pauses: list[float] = []
    backoff = Backoff(first_seconds=1, limit_seconds=4, jitter=lambda: 1.0)
    with reporter(script.rules(), clock=clock_of(pauses), backoff=backoff) as reporting:
        reporting.update(STATUS)
        eventually(lambda: script.bodies)
    assert pauses[:5] == [1, 2, 4, 4, 77]


def test_the_parts_of_a_report_follow_each_other_sooner_than_heartbeats_do() -> None:
    script = ScriptedService()
    pauses: list[float] = []
    reporting = reporter(script.rules(), clock=clock_of(pauses))
    reporting.update(replace(STATUS, versions=MANY))
    with reporting:
        eventually(lambda: len(script.bodies) > 3)
    assert [len(body["versions"]) for body in script.bodies[:4]] == [1_000, 1_000, 500, 0]
    assert pauses[:3] == [0.2, 0.2, 5.0]


def test_a_conflict_that_is_no_other_instance_does_not_stop_the_job() -> None:
    too_many = httpx2.Response(409, json={"detail": "The stream has 100 jobs."})
    script = ScriptedService(refusals=[too_many])
    superseded: list[str] = []
    with reporter(script.rules(), superseded=superseded) as reporting:
        reporting.update(STATUS)
        eventually(lambda: script.bodies)
    assert superseded == []


def test_the_token_is_read_for_every_request_once_there_is_one(tmp_path: Path) -> None:
    token_file = tmp_path / "token"
    script = ScriptedService()
    with reporter(script.rules(token_file)) as reporting:
        reporting.update(STATUS)
        eventually(lambda: reporting.consecutive_failures)
        token_file.write_text("old")
        eventually(lambda: script.bodies)
        token_file.write_text("new")
        reporting.update(replace(STATUS, epoch=3))
        eventually(lambda: "Bearer new" in script.tokens)
    assert script.tokens[0] == "Bearer old"


def reported(script: ScriptedService, status: JobStatus) -> dict[str, Any]:
    """Return the first heartbeat of a job that is in this state."""
    with reporter(script.rules()) as reporting:
        reporting.update(status)
        eventually(lambda: script.bodies)
    return script.bodies[0]


def test_numbers_that_cannot_travel_are_left_out_or_cut() -> None:
    odd = replace(
        STATUS,
        watermark_ms=-(2**63),
        newest_event_ms=2**62,
        events_per_second=float("nan"),
        backlog_events=-1,
        totals=Totals(events=2**60),
    )
    body = reported(ScriptedService(), odd)
    assert (body["watermark_ms"], body["newest_event_ms"]) == (None, None)
    assert (body["events_per_second"], body["backlog_events"]) == (0, 0)
    assert body["counters"]["events"] == 2**53 - 1


def test_everything_that_is_counted_is_reported() -> None:
    counted = {each.name: place for place, each in enumerate(fields(Totals), start=1)}
    del counted["why_malformed"]
    status = replace(STATUS, totals=Totals(**counted, why_malformed="ts: NULL"))
    body = reported(ScriptedService(), status)
    malformed = {"malformed": body["malformed_events"]}
    assert body["counters"] | malformed == counted
    assert body["malformed_reason"] == "ts: NULL"


def test_a_service_that_hangs_does_not_keep_the_end_of_the_job_waiting() -> None:
    asked = threading.Event()
    let_go = threading.Event()

    def hangs(_request: httpx2.Request) -> httpx2.Response:
        asked.set()
        let_go.wait(PATIENCE_SECONDS)
        return httpx2.Response(503)

    rules = RuleService("http://127.0.0.1", lambda: "t", transport=httpx2.MockTransport(hangs))
    reporting = reporter(rules)
    with reporting:
        asked.wait(PATIENCE_SECONDS)
        reporting.close(timeout_seconds=0.05)
        assert reporting._thread.is_alive()
        let_go.set()


def test_the_token_needs_the_role_of_a_job_and_the_log_says_so(
    served: ServedRuleService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "percept.reporting")
    wrong = RuleService(served.url, lambda: "percept_wrong-token")
    with reporter(wrong) as reporting:
        eventually(lambda: reporting.consecutive_failures)
    wrong.close()
    assert "answered 401" in caplog.text
    assert "the token needs the role job" in caplog.text
    assert "percept_wrong-token" not in caplog.text
