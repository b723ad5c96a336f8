"""Jobs register and report; what they run is compared with what is published."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from api.jobs.quarantines import KEPT_EVENTS
from api.jobs.service import REMEMBERED_INSTANCES
from contract.report_parts import VersionReport
from contract.reports import (
    LEFT_OUT,
    VERSIONS_PER_HEARTBEAT,
    HeartbeatAnswer,
    RunningVersion,
)
from contract.service.tokens import Role
from tests.api.documents import STREAM
from tests.api.jobs import FIRST, ReportingJob, running
from tests.api.running import START_MS, Service

JOBS = "/v1/streams/logins/jobs"
SECOND = "instance-2"
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


def test_each_quarantine_is_noted_once_in_the_log(with_stream: Service) -> None:
    with_stream.publish(id="broken")
    job = ReportingJob(with_stream)
    broken = running("broken", state="quarantined", error="boom")

    def noted() -> list[tuple[int, str]]:
        items = with_stream.log(action="processor.quarantine")
        return [(each["new_version"], each["subject"]) for each in items]

    for whole in (False, False, True):
        job.beat(broken, replaces_all=whole)
    assert noted() == [(1, "main: boom")]
    # Another error is news, and so is the same one once the rule has been changed.
    job.beat(running("broken", state="active"))
    job.beat(broken | {"error": "bang"})
    assert noted() == [(1, "main: bang"), (1, "main: boom")]
    path = "/v1/processors/broken"
    for step in ("pause", "resume"):
        with_stream.done("POST", f"{path}/{step}")
    job.beat(running("broken", state="active"))
    job.beat(broken)
    assert noted() == [(1, "main: boom"), (1, "main: bang"), (1, "main: boom")]
    with_stream.done("POST", f"{path}/acknowledge?comment=mine", role=Role.AUTHOR)
    newest = with_stream.log(processor="broken")[0]
    assert (newest["action"], newest["comment"]) == ("processor.acknowledge", "mine")
    with_stream.post("/v1/processors/none/acknowledge", Role.ADMIN, expect=404)


def test_where_a_version_failed_is_kept_of_its_newest_quarantines(with_stream: Service) -> None:
    for name in ("broken", "other"):
        with_stream.publish(id=name)
    job = ReportingJob(with_stream)

    def fail(name: str, number: int, **place: Any) -> None:
        event = {"user": "eve\u2028", "n": number}
        failed_at = {"key": ["eve", 1.5, None], "time_ms": 1_000 + number, "event": event} | place
        job.beat(running(name))
        job.beat(running(name, state="quarantined", error=f"boom {number}", failed_at=failed_at))

    def places(name: str) -> list[Any]:
        items = with_stream.log(processor=name, limit=100)
        assert items[-1]["failed_at"] is None
        return [each["failed_at"] for each in items if each["action"] == "processor.quarantine"]

    fail("other", 0, time_ms=None, event=None, key=[])
    for number in range(KEPT_EVENTS + 3):
        fail("broken", number)
    found = places("broken")
    assert found[0] == {
        "key": ["eve", 1.5, None],
        "time": "1970-01-01T00:00:01.022Z",
        "event": {"user": "eve\u2028", "n": KEPT_EVENTS + 2},
    }
    assert [each is None for each in found] == [False] * KEPT_EVENTS + [True] * 3
    assert places("other") == [{"key": [], "time": None, "event": None}]
    fail("broken", 99, event={"note": "ü" * 3_000})
    assert places("broken")[0]["event"] == {LEFT_OUT: "an event of 6011 bytes"}


def test_a_job_starts_runs_goes_stale_and_stops(job: ReportingJob) -> None:
    states = [job.view()["state"]]
    job.service.clock.time_ms += 30_001  # before it has ever reported
    states.append(job.view()["state"])
    job.beat(epoch=1)
    for later_ms in (0, 30_000, 1):
        job.service.clock.time_ms += later_ms
        states.append(job.view()["state"])
    job.beat(epoch=1)
    states.append(job.view()["state"])
    assert job.stop().status_code == 200
    job.service.clock.time_ms += HOUR_MS
    states.append(job.view()["state"])
    assert states == ["starting", "stale", "running", "running", "stale", "running", "stopped"]
    assert job.view()["stop_reason"] == "deployed"


def test_a_clock_that_is_set_back_makes_no_dead_job_look_well_and_a_start_the_current_one(
    job: ReportingJob,
) -> None:
    job.beat(epoch=1)
    job.service.clock.time_ms -= HOUR_MS
    assert job.view()["state"] == "stale"
    job.beat(epoch=1, counters={"events": 5})
    assert (job.view()["state"], job.view()["counters"]["events"]) == ("running", 5)
    for number in range(REMEMBERED_INSTANCES + 3):
        job.service.clock.time_ms -= HOUR_MS
        restarted = ReportingJob(job.service, instance=f"restart-{number}")
        instances = job.view()["instances"]
        assert instances[0]["instance_id"] == restarted.instance
        assert job.post().status_code == 409
    assert len(instances) == REMEMBERED_INSTANCES


def test_a_heartbeat_tells_how_far_each_source_has_come(job: ReportingJob) -> None:
    assert job.view()["sources"] == []
    told = {"name": "logins", "newest_event_ms": START_MS}, {"name": "clicks", "idle_since_ms": 0}
    job.beat(epoch=1, sources=told)
    at, begin = "2027-01-15T08:00:00.000Z", "1970-01-01T00:00:00.000Z"
    assert job.view()["sources"] == [
        {"name": "logins", "newest_event_time": at, "idle_since": None},
        {"name": "clicks", "newest_event_time": None, "idle_since": begin},
    ]
    job.beat(epoch=1)
    assert job.view()["sources"] == []


def test_a_heartbeat_tells_what_makes_time_go_on_or_is_refused(job: ReportingJob) -> None:
    mode = {"time_mode": "events_or_clock"}
    for told, shown in (
        ({}, (None, None)),
        (mode | {"silent_since_ms": START_MS}, (*mode.values(), "2027-01-15T08:00:00.000Z")),
        (mode, (*mode.values(), None)),
    ):
        job.beat(epoch=1, **told)
        assert (job.view()["time_mode"], job.view()["silent_since"]) == shown
    for field, value, pointer in (
        ("sequence", 0, "/sequence"),
        ("watermark_ms", 2**60, "/watermark_ms"),
        ("versions", [running(state="sleeping")], "/versions/0/state"),
        ("versions", [running(counters={"matches": -1})], "/versions/0/counters/matches"),
        ("versions", [running("no/slash")], "/versions/0/processor_id"),
    ):
        answer = job.post(**{field: value})
        assert answer.status_code == 422
        assert [flaw["pointer"] for flaw in answer.json()["errors"]] == [pointer]


def test_registering_again_changes_nothing_but_a_restart_takes_over(job: ReportingJob) -> None:
    job.beat(running(), epoch=1, held_versions=1)
    assert job.put().json()["id"] == job.id
    assert job.view()["versions"] == {"active": 1}

    restarted = ReportingJob(job.service, instance=SECOND)

    assert restarted.id == job.id
    view = job.view()
    assert (view["instance_id"], view["state"], view["epoch"]) == (SECOND, "starting", None)
    assert view["versions"] == {}
    ends = [(each["instance_id"], each["end_reason"]) for each in view["instances"]]
    assert ends == [(SECOND, ""), (FIRST, f"superseded by {SECOND}")]


def test_an_instance_that_has_ended_neither_reports_nor_comes_back(job: ReportingJob) -> None:
    restarted = ReportingJob(job.service, instance=SECOND)
    assert [job.post().status_code, job.stop().status_code, job.put().status_code] == [409] * 3
    assert SECOND in job.post().json()["detail"]

    assert restarted.stop().status_code == 200
    assert [restarted.post().status_code, restarted.put().status_code] == [409] * 2
    assert ReportingJob(job.service, instance="instance-3").id == job.id


def test_starts_stops_and_reports_at_once_never_block_each_other(job: ReportingJob) -> None:
    def act(number: int) -> set[int]:
        instance = ReportingJob(job.service, instance=f"instance-at-once-{number}")
        return {instance.post().status_code, instance.stop().status_code}

    with ThreadPoolExecutor(6) as pool:
        statuses = set().union(*pool.map(act, range(24)))
    assert statuses <= {200, 409}
    assert len(job.view()["instances"]) == REMEMBERED_INSTANCES


def test_a_heartbeat_changes_what_it_names_and_one_that_was_overtaken_nothing(
    job: ReportingJob,
) -> None:
    pending = running("b", state="pending", active_from_ms=START_MS)
    job.beat(running("a", counters={"matches": 5}), pending)
    failed = running("b", state="quarantined", error="division by zero", traceback="line 1")
    job.beat(failed, counters={"matches": 5}, epoch=2)
    assert job.view()["versions"] == {"active": 1, "quarantined": 1}
    job.sequence = 0
    job.beat(running("a", counters={"matches": 3}), counters={"matches": 3}, epoch=1)
    view = job.view()
    assert (view["epoch"], view["counters"]["matches"]) == (2, 5)
    assert sum(job.service.get(f"/v1/jobs/{job.id}/history")["series"]["matches"]) == 5


def test_a_service_that_knows_other_versions_asks_for_all_of_them(job: ReportingJob) -> None:
    assert not job.beat(running("a"))["resend_all"]  # one part of many: nothing to compare
    assert job.beat(running("b"), held_versions=3)["resend_all"]
    assert not job.beat(running("c"), held_versions=3)["resend_all"]
    ended = running("c", state="superseded")
    assert not job.beat(ended, held_versions=2)["resend_all"]


def test_a_whole_report_ends_what_it_does_not_name_and_counts_nothing_twice(
    job: ReportingJob,
) -> None:
    versions = [running(name, counters={"matches": 3}) for name in "abc"]
    job.beat(*versions, held_versions=3)
    assert not job.beat(versions[1], replaces_all=True)["resend_all"]
    assert not job.beat(versions[2], held_versions=2)["resend_all"]

    assert job.view()["versions"] == {"active": 2, "superseded": 1}
    history = job.service.get(f"/v1/jobs/{job.id}/processors/b/history")
    assert sum(history["series"]["matches"]) == 3


def test_long_and_unstorable_texts_are_mended_before_they_are_sent() -> None:
    version = RunningVersion.model_validate(
        running(state="quarantined", error="a\x00\ud800" + "e" * 5_000, traceback="t" * 9_000 + "!")
    )
    assert version.error.startswith("a\N{REPLACEMENT CHARACTER}?e")
    assert (len(version.error), len(version.traceback)) == (1_000, 4_000)
    assert version.traceback.endswith("t!")


def test_what_a_job_really_runs_is_paged_and_filtered(job: ReportingJob) -> None:
    job.beat(
        *[running(f"p{number}", version) for number in range(5) for version in (1, 2)],
        running("broken", state="quarantined", error="boom", traceback="line 7"),
    )
    path = f"/v1/jobs/{job.id}/versions"
    pages = job.service.pages(path, limit=3)
    seen = [(each["processor_id"], each["version"]) for page in pages for each in page["items"]]
    assert seen == sorted(seen)
    assert len(seen) == 11

    (broken,) = job.service.get(path, state="quarantined")["items"]
    assert (broken["error"], broken["traceback"]) == ("boom", "line 7")


def joined(service: Service, processor_id: str = "failed-logins") -> dict[str, Any]:
    view = service.get(f"/v1/streams/logins/processors/{processor_id}/running")
    (in_job,) = view["jobs"]
    listed = service.get(f"/v1/streams/logins/running?processor={processor_id}")["items"]
    if listed:  # deleted processors are not
        same = {key: value for key, value in in_job.items() if key != "versions"}
        assert listed[0]["jobs"] == [same]
        assert listed[0]["published"] == view["published"]
    return dict(in_job)


def test_published_and_running_are_joined_through_the_life_of_a_processor(
    with_stream: Service, job: ReportingJob
) -> None:
    def shows(**expected: Any) -> dict[str, Any]:
        found = joined(with_stream)
        assert {name: found[name] for name in expected} == expected
        return found

    with_stream.publish()
    shows(state=None, is_current=False, live_version=None)
    job.beat(running(active_from_ms=START_MS - 5), epoch=2)
    shows(state="active", is_current=True, live_version=1)
    from_ms, begin = 1_801_440_000_000, "2027-02-01T00:00:00.000Z"
    with_stream.publish(severity="high", effective_from=begin)
    shows(is_current=False)
    job.beat(running(version=2, state="pending", active_from_ms=from_ms), epoch=3)
    shows(live_version=1, next_version=2, next_from=begin, state="active", is_current=True)

    drained = running(state="draining", active_until_ms=from_ms, partial_matches=7)
    job.beat(drained, running(version=2, active_from_ms=from_ms, partial_matches=1))
    switched = shows(live_version=2, next_version=None, partial_matches=8)
    assert [each["state"] for each in switched["versions"]] == ["draining", "active"]
    job.beat(running(version=2, active_from_ms=from_ms, throttled_until_ms=from_ms + 1))
    until = "2027-02-01T00:00:00.001Z"
    throttled = shows(throttled_until=until)["versions"]
    assert [each["throttled_until"] for each in throttled] == [None, until]

    job.beat(running(version=2, active_from_ms=from_ms, interpreted_reason="it calls Python"))
    reasons = [each["interpreted_reason"] for each in joined(with_stream)["versions"]]
    assert reasons == ["", "it calls Python"]

    counters = {"errors": 1, "left_out": 5, "dropped": 2, "released": 4}
    job.beat(running(version=2, state="quarantined", error="boom", counters=counters))
    shows(state="quarantined", error="boom", live_version=None, **counters)
    with_stream.done("DELETE", "/v1/processors/failed-logins")
    shows(is_current=False)
    job.beat(running(state="superseded"), running(version=2, state="superseded"), epoch=4)
    shows(state="superseded", is_current=True)


def test_each_job_of_a_stream_has_its_own_line(with_rule: Service, job: ReportingJob) -> None:
    shadow = ReportingJob(with_rule, "shadow")
    job.beat(running(), epoch=2)
    shadow.beat(epoch=1)
    (line,) = with_rule.get("/v1/streams/logins/running")["items"]
    assert [(each["job"]["name"], each["state"], each["is_current"]) for each in line["jobs"]] == [
        ("main", "active", True),
        ("shadow", None, False),
    ]
    assert [each["name"] for each in with_rule.get(JOBS)] == ["main", "shadow"]
    with_rule.done("POST", "/v1/streams", STREAM | {"name": "other"})
    with_rule.get("/v1/streams/other/processors/failed-logins/running", expect=404)


def test_reports_of_two_jobs_at_once_stay_apart(with_rule: Service, job: ReportingJob) -> None:
    other = ReportingJob(with_rule, "shadow", SECOND)
    quarantined = running(version=3, state="quarantined", error="no")
    for events in (10, 20):
        job.beat(running(counters={"events": events}), epoch=2, counters={"events": events})
        other.beat(quarantined, epoch=1, counters={"events": 5 * events}, replaces_all=True)
    for each, epoch, counted, version, state in (
        (job, 2, 20, 1, "active"),
        (other, 1, 100, 3, "quarantined"),
    ):
        view = each.view()
        assert (view["epoch"], view["counters"]["events"]) == (epoch, counted)
        (held,) = with_rule.get(f"/v1/jobs/{each.id}/versions")["items"]
        assert (held["version"], held["state"]) == (version, state)
    assert other.stop().status_code == 200
    job.beat(epoch=2)
    assert [job.view()["state"], other.view()["state"]] == ["running", "stopped"]


def test_the_comparison_is_paged_and_can_be_asked_for_some(with_stream: Service) -> None:
    for processor_id in "abcd":
        with_stream.publish(id=processor_id)
    path = "/v1/streams/logins/running"
    pages = with_stream.pages(path, limit=3)
    ids = [[each["processor_id"] for each in page["items"]] for page in pages]
    assert ids == [["a", "b", "c"], ["d"]]
    some = with_stream.get(f"{path}?processor=d&processor=b&processor=unknown")["items"]
    assert [each["processor_id"] for each in some] == ["b", "d"]


def test_history_adds_up_to_the_totals(job: ReportingJob) -> None:
    for minute, total in enumerate([2, 2, 7, 10]):
        job.service.clock.time_ms = START_MS + minute * 4 * MINUTE_MS
        counters = {"matches": total, "events": 10 * total}
        newest = {"watermark_ms": START_MS, "newest_event_ms": START_MS + minute}
        job.beat(running(counters=counters), counters=counters, backlog_events=minute, **newest)
    history = job.service.get(f"/v1/jobs/{job.id}/history?since=2027-01-15T08:00:00Z")
    assert (history["bucket_seconds"], history["times"][0]) == (60, "2027-01-15T08:00:00.000Z")
    assert history["series"]["matches"] == [2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 3]
    backlog = history["series"]["backlog_events"]
    assert dict(enumerate(backlog)) == dict.fromkeys(range(13)) | {0: 0, 4: 1, 8: 2, 12: 3}
    assert history["series"]["watermark_delay_ms"][8] == 2
    path = f"/v1/jobs/{job.id}/processors/failed-logins/history"
    of_processor = job.service.get(f"{path}?since=2027-01-15T08:00:00Z")
    assert (of_processor["bucket_seconds"], of_processor["series"]["events"]) == (300, [20, 50, 30])


def test_matches_of_the_last_hour_are_counted(with_rule: Service, job: ReportingJob) -> None:
    newest = "2027-01-15T08:00:00.001Z"
    job.beat(running(counters={"matches": 3}, last_match_ms=START_MS))
    with_rule.clock.time_ms += HOUR_MS // 2
    job.beat(running(counters={"matches": 5}, last_match_ms=START_MS + 1))
    assert joined(with_rule)["matches_last_hour"] == 5
    with_rule.clock.time_ms += HOUR_MS // 2
    view = joined(with_rule)
    assert (view["matches_last_hour"], view["last_match"]) == (2, newest)
    # A job that starts again counts from zero, but the rule has matched before.
    with_rule.clock.time_ms += HOUR_MS
    again = ReportingJob(with_rule, instance="instance-2")
    again.beat(running(version=2))
    assert joined(with_rule)["last_match"] == newest
    sorted_by = "/v1/streams/logins/rules?sort=-last_match"
    assert with_rule.get(sorted_by)["items"][0]["running"]["last_match"] is not None
    again.beat(running(version=2, last_match_ms=START_MS - 1))
    assert joined(with_rule)["last_match"] == newest


def test_history_and_superseded_versions_are_let_go_after_a_day(job: ReportingJob) -> None:
    counters = {"matches": 4}
    job.beat(running("old", state="superseded", counters=counters), counters=counters)
    job.service.clock.time_ms += 25 * HOUR_MS
    job.beat(running("new"), counters=counters)

    assert job.view()["versions"] == {"active": 1}
    job.service.clock.time_ms = START_MS + 1  # whatever is asked for, it is not there any more
    for path in (f"/v1/jobs/{job.id}/history", f"/v1/jobs/{job.id}/processors/old/history"):
        assert sum(job.service.get(path)["series"]["matches"]) == 0


def test_a_stream_has_a_bounded_number_of_jobs(
    job: ReportingJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.jobs.service.MAXIMUM_JOBS", 4)
    for number in range(3):
        ReportingJob(job.service, f"job-{number}")
    path, body = f"{JOBS}/one-too-many", {"instance_id": FIRST}
    assert job.service.send("PUT", path, body).status_code == 409
    job.service.done("DELETE", f"/v1/jobs/{job.id}")
    job.service.done("PUT", path, body)


def test_a_deleted_job_is_forgotten_and_may_register_again(job: ReportingJob) -> None:
    job.beat(running(counters={"matches": 1}), counters={"matches": 1})
    job.put()
    job.stop()
    job.service.done("DELETE", f"/v1/jobs/{job.id}")
    assert job.post().status_code == 404
    *of_job, stream = job.service.log(stream="logins")
    subject = f"{job.id} main {FIRST}"
    shown = [(change["action"], change["subject"]) for change in of_job]
    assert shown == [(f"job.{action}", subject) for action in ("delete", "stop", "register")]
    assert stream["action"] == "stream.create"
    again = ReportingJob(job.service)
    assert again.id != job.id
    assert again.view()["versions"] == {}


def metrics(service: Service) -> dict[str, float]:
    """Return what is told of jobs, by name and label."""
    lines = service.client.get("/metrics").text.splitlines()
    told = [line.rpartition(" ") for line in lines if line.startswith("percept_job_")]
    own = 'job="main",stream="logins"'
    names = [name.removeprefix("percept_job_").replace(own, "") for name, _, _ in told]
    return {
        name.removesuffix("{}"): float(value)
        for name, (_, _, value) in zip(names, told, strict=True)
    }


def test_what_is_worth_an_alert_is_a_metric(with_rule: Service, job: ReportingJob) -> None:
    told = {"status": "failing", "error": "no route", "unreadable": 2}
    job.beat(
        running(state="quarantined"),
        running(processor_id="p", throttled_until_ms=START_MS),
        running(processor_id="p", version=2, throttled_until_ms=START_MS),
        epoch=1,
        watermark_ms=START_MS,
        backlog_events=9,
        discovery=told,
        counters={"left_out": 7, "dropped": 3, "released": 2, "unsuppressed": 6},
        batch_running_ms=90_500,
    )
    assert metrics(with_rule).items() >= {
        ("up", 1),
        ("epochs_behind", 1),
        ("backlog_events", 9),
        ("watermark_timestamp_seconds", START_MS / 1_000),
        ('versions{job="main",state="quarantined",stream="logins"}', 1),
        ("batch_running_seconds", 90.5),
        ("left_out_matches", 7),
        ("dropped_partial_matches", 3),
        ("released_matches", 2),
        ("unsuppressed_matches", 6),
        ("throttled_rules", 1),
        ("discovery_up", 0),
        ("discovery_unreadable_rules", 2),
    }
    with_rule.clock.time_ms += HOUR_MS
    assert metrics(with_rule)["up"] == 0
    with_rule.clock.time_ms = START_MS
    job.stop()
    assert metrics(with_rule) == {}


def test_thousands_of_versions_are_reported_in_parts(job: ReportingJob) -> None:
    report = VersionReport()
    versions = [
        RunningVersion.model_validate(running(f"processor-{number}", active_from_ms=START_MS))
        for number in range(2_500)
    ]
    part = report.next_part(versions)
    while part.versions:
        assert len(part.versions) <= VERSIONS_PER_HEARTBEAT
        answer = job.post(
            versions=[version.model_dump() for version in part.versions],
            held_versions=part.held_versions,
            replaces_all=part.replaces_all,
        )
        report.acknowledge(part, HeartbeatAnswer.model_validate(answer.json()))
        part = report.next_part(versions)
    assert job.view()["versions"] == {"active": 2_500}
    assert job.sequence == 3
