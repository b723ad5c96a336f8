"""Jobs register and report; what they run is compared with what is published."""

from collections.abc import Iterator
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
from tests.api.documents import ANY_STATE, STREAM
from tests.api.jobs import FIRST, ReportingJob, running
from tests.api.running import START_MS, Publish, ServiceUnderTest

JOBS = "/v1/streams/logins/jobs"
SECOND = "instance-2"
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


def test_each_quarantine_is_noted_once_in_the_log(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    publish(id="broken")
    job = ReportingJob(with_stream)
    broken = running("broken", state="quarantined", error="boom")

    def noted() -> list[tuple[int, str]]:
        items = with_stream.get("/v1/changes?action=processor.quarantine")["items"]
        return [(each["new_version"], each["subject"]) for each in items]

    job.beat(broken)
    job.beat(broken)
    job.beat(broken, replaces_all=True)
    assert noted() == [(1, "main: boom")]
    # Another error is news, and so is the same one once the rule has been changed.
    job.beat(running("broken", state="active"))
    job.beat(running("broken", state="quarantined", error="bang"))
    assert noted() == [(1, "main: bang"), (1, "main: boom")]
    path = "/v1/processors/broken"
    for step in ("pause", "resume"):
        with_stream.client.post(f"{path}/{step}", headers=ANY_STATE)
    job.beat(running("broken", state="active"))
    job.beat(broken)
    assert noted() == [(1, "main: boom"), (1, "main: bang"), (1, "main: boom")]

    author = with_stream.as_role(Role.AUTHOR)
    acknowledged = f"{path}/acknowledge?comment=mine"
    assert with_stream.client.post(acknowledged, headers=author).status_code == 204
    newest = with_stream.get("/v1/changes?processor=broken")["items"][0]
    assert (newest["action"], newest["comment"]) == ("processor.acknowledge", "mine")
    assert with_stream.client.post("/v1/processors/none/acknowledge").status_code == 404


def test_where_a_version_failed_is_kept_of_its_newest_quarantines(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    for name in ("broken", "other"):
        publish(id=name)
    job = ReportingJob(with_stream)

    def fail(name: str, number: int, **place: Any) -> None:
        event = {"user": "eve\u2028", "n": number}
        failed_at = {"key": ["eve", 1.5, None], "time_ms": 1_000 + number, "event": event} | place
        job.beat(running(name))
        job.beat(running(name, state="quarantined", error=f"boom {number}", failed_at=failed_at))

    def places(name: str) -> list[Any]:
        items = with_stream.get(f"/v1/changes?processor={name}&limit=100")["items"]
        assert items[-1] | {"failed_at": None} == items[-1]
        return [each["failed_at"] for each in items if each["action"] == "processor.quarantine"]

    fail("other", 0, time_ms=None, event=None, key=[])
    for number in range(KEPT_EVENTS + 3):
        fail("broken", number)
    newest, *_, oldest = found = places("broken")
    assert newest == {
        "key": ["eve", 1.5, None],
        "time": "1970-01-01T00:00:01.022Z",
        "event": {"user": "eve\u2028", "n": KEPT_EVENTS + 2},
    }
    assert [each is None for each in found] == [False] * KEPT_EVENTS + [True] * 3
    assert oldest is None
    assert places("other") == [{"key": [], "time": None, "event": None}]
    fail("broken", 99, event={"note": "ü" * 3_000})
    assert places("broken")[0]["event"] == {LEFT_OUT: "an event of 6011 bytes"}


def test_a_job_starts_runs_goes_stale_and_stops(job: ReportingJob) -> None:
    states = [job.view()["state"]]
    job.beat(epoch=1)
    states.append(job.view()["state"])
    job.service.clock.time_ms += 30_000
    states.append(job.view()["state"])
    job.service.clock.time_ms += 1
    states.append(job.view()["state"])
    job.beat(epoch=1)
    states.append(job.view()["state"])
    assert job.stop().status_code == 200
    job.service.clock.time_ms += HOUR_MS
    states.append(job.view()["state"])

    assert states == ["starting", "running", "running", "stale", "running", "stopped"]
    assert job.view()["stop_reason"] == "deployed"


def test_a_clock_that_is_set_back_makes_no_dead_job_look_well(job: ReportingJob) -> None:
    job.beat(epoch=1)
    job.service.clock.time_ms -= HOUR_MS
    assert job.view()["state"] == "stale"
    job.beat(epoch=1, counters={"events": 5})
    assert job.view()["state"] == "running"
    assert job.view()["counters"]["events"] == 5


def test_a_start_after_the_clock_was_set_back_is_the_current_one(job: ReportingJob) -> None:
    for number in range(REMEMBERED_INSTANCES + 3):
        job.service.clock.time_ms -= HOUR_MS
        restarted = ReportingJob(job.service, instance=f"restart-{number}")
        instances = job.view()["instances"]
        assert instances[0]["instance_id"] == restarted.instance
        assert job.post().status_code == 409
    assert len(instances) == REMEMBERED_INSTANCES


def test_a_job_tells_what_makes_its_time_go_on(job: ReportingJob) -> None:
    found = []
    for told in (
        {},
        {"time_mode": "events_or_clock", "silent_since_ms": START_MS},
        {"time_mode": "events_or_clock"},
    ):
        job.beat(epoch=1, **told)
        found.append((job.view()["time_mode"], job.view()["silent_since"]))
    assert found == [
        (None, None),
        ("events_or_clock", "2027-01-15T08:00:00.000Z"),
        ("events_or_clock", None),
    ]


def test_a_job_that_never_reports_goes_stale(job: ReportingJob) -> None:
    job.service.clock.time_ms += 30_001
    assert job.view()["state"] == "stale"


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


def test_a_heartbeat_changes_what_it_names_and_leaves_the_rest(job: ReportingJob) -> None:
    job.beat(running("a"), running("b", state="pending", active_from_ms=START_MS))
    job.beat(running("b", state="quarantined", error="division by zero", traceback="line 1"))
    assert job.view()["versions"] == {"active": 1, "quarantined": 1}


def test_a_repeated_or_overtaken_heartbeat_changes_nothing(job: ReportingJob) -> None:
    job.beat(running(counters={"matches": 5}), counters={"matches": 5}, epoch=2)
    job.sequence = 0
    job.beat(running(counters={"matches": 3}), counters={"matches": 3}, epoch=1)

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


def joined(service: ServiceUnderTest, processor_id: str = "failed-logins") -> dict[str, Any]:
    view = service.get(f"/v1/streams/logins/processors/{processor_id}/running")
    (in_job,) = view["jobs"]
    listed = service.get(f"/v1/streams/logins/running?processor={processor_id}")["items"]
    if listed:  # deleted processors are not
        same = {key: value for key, value in in_job.items() if key != "versions"}
        assert listed[0]["jobs"] == [same]
        assert listed[0]["published"] == view["published"]
    return dict(in_job)


def test_published_and_running_are_joined_through_the_life_of_a_processor(
    with_stream: ServiceUnderTest, job: ReportingJob, publish: Publish
) -> None:
    publish()
    before = joined(with_stream)
    assert (before["state"], before["is_current"], before["live_version"]) == (None, False, None)

    job.beat(running(active_from_ms=START_MS - 5), epoch=2)
    live = joined(with_stream)
    assert (live["state"], live["is_current"], live["live_version"]) == ("active", True, 1)

    publish(severity="high", effective_from="2027-02-01T00:00:00Z")
    assert joined(with_stream)["is_current"] is False
    from_ms = 1_801_440_000_000
    job.beat(running(version=2, state="pending", active_from_ms=from_ms), epoch=3)
    pending = joined(with_stream)
    assert (pending["live_version"], pending["next_version"]) == (1, 2)
    assert pending["next_from"] == "2027-02-01T00:00:00.000Z"
    assert (pending["state"], pending["is_current"]) == ("active", True)

    drained = running(state="draining", active_until_ms=from_ms, partial_matches=7)
    job.beat(drained, running(version=2, active_from_ms=from_ms, partial_matches=1))
    switched = joined(with_stream)
    assert (switched["live_version"], switched["next_version"]) == (2, None)
    assert switched["partial_matches"] == 8
    assert [each["state"] for each in switched["versions"]] == ["draining", "active"]

    job.beat(running(version=2, active_from_ms=from_ms, throttled_until_ms=from_ms + 1))
    throttled = joined(with_stream)
    assert throttled["throttled_until"] == "2027-02-01T00:00:00.001Z"
    assert throttled["versions"][1]["throttled_until"] == throttled["throttled_until"]
    assert throttled["versions"][0]["throttled_until"] is None

    job.beat(running(version=2, active_from_ms=from_ms, interpreted_reason="it calls Python"))
    reasons = [each["interpreted_reason"] for each in joined(with_stream)["versions"]]
    assert reasons == ["", "it calls Python"]

    counters = {"errors": 1, "left_out": 5, "dropped": 2, "released": 4}
    job.beat(running(version=2, state="quarantined", error="boom", counters=counters))
    broken = joined(with_stream)
    assert (broken["state"], broken["error"], broken["errors"]) == ("quarantined", "boom", 1)
    assert (broken["left_out"], broken["dropped"], broken["released"]) == (5, 2, 4)
    assert broken["live_version"] is None

    path = "/v1/processors/failed-logins"
    assert with_stream.client.delete(path, headers=ANY_STATE).status_code == 204
    assert joined(with_stream)["is_current"] is False
    job.beat(running(state="superseded"), running(version=2, state="superseded"), epoch=4)
    gone = joined(with_stream)
    assert (gone["state"], gone["is_current"]) == ("superseded", True)


def test_each_job_of_a_stream_has_its_own_line(
    with_rule: ServiceUnderTest, job: ReportingJob
) -> None:
    shadow = ReportingJob(with_rule, "shadow")
    job.beat(running(), epoch=2)
    shadow.beat(epoch=1)

    (line,) = with_rule.get("/v1/streams/logins/running")["items"]
    assert [(each["job"]["name"], each["state"], each["is_current"]) for each in line["jobs"]] == [
        ("main", "active", True),
        ("shadow", None, False),
    ]
    assert [each["name"] for each in with_rule.get(JOBS)] == ["main", "shadow"]


def test_reports_of_two_jobs_at_once_stay_apart(
    with_rule: ServiceUnderTest, job: ReportingJob
) -> None:
    other = ReportingJob(with_rule, "shadow", SECOND)
    for events in (10, 20):
        job.beat(running(counters={"events": events}), epoch=2, counters={"events": events})
        other.beat(
            running(version=3, state="quarantined", error="no"),
            epoch=1,
            counters={"events": 5 * events},
            replaces_all=True,
        )
    assert [(each.view()["epoch"], each.view()["counters"]["events"]) for each in (job, other)] == [
        (2, 20),
        (1, 100),
    ]
    states = {
        each.name: [
            (held["version"], held["state"])
            for held in with_rule.get(f"/v1/jobs/{each.id}/versions")["items"]
        ]
        for each in (job, other)
    }
    assert states == {"main": [(1, "active")], "shadow": [(3, "quarantined")]}
    assert other.stop().status_code == 200
    job.beat(epoch=2)
    assert [job.view()["state"], other.view()["state"]] == ["running", "stopped"]


def test_the_comparison_is_paged_and_can_be_asked_for_some(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    for processor_id in "abcd":
        publish(id=processor_id)
    path = "/v1/streams/logins/running"
    first = with_stream.get(f"{path}?limit=3")
    rest = with_stream.get(f"{path}?limit=3&cursor={first['next_cursor']}")
    ids = [[each["processor_id"] for each in page["items"]] for page in (first, rest)]
    assert (ids, rest["next_cursor"]) == ([["a", "b", "c"], ["d"]], None)
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
    assert history["series"]["backlog_events"] == [
        0,
        *[None] * 3,
        1,
        *[None] * 3,
        2,
        *[None] * 3,
        3,
    ]
    assert history["series"]["watermark_delay_ms"][8] == 2

    path = f"/v1/jobs/{job.id}/processors/failed-logins/history"
    of_processor = job.service.get(f"{path}?since=2027-01-15T08:00:00Z")
    assert (of_processor["bucket_seconds"], of_processor["series"]["events"]) == (300, [20, 50, 30])


def test_matches_of_the_last_hour_are_counted(
    with_rule: ServiceUnderTest, job: ReportingJob
) -> None:
    job.beat(running(counters={"matches": 3}, last_match_ms=START_MS))
    with_rule.clock.time_ms += HOUR_MS // 2
    job.beat(running(counters={"matches": 5}, last_match_ms=START_MS + 1))
    assert joined(with_rule)["matches_last_hour"] == 5
    with_rule.clock.time_ms += HOUR_MS // 2
    assert joined(with_rule)["matches_last_hour"] == 2
    assert joined(with_rule)["last_match"] == "2027-01-15T08:00:00.001Z"
    # A job that starts again counts from zero, but the rule has matched before.
    with_rule.clock.time_ms += HOUR_MS
    again = ReportingJob(with_rule, instance="instance-2")
    again.beat(running(version=2))
    assert joined(with_rule)["last_match"] == "2027-01-15T08:00:00.001Z"
    sorted_by = "/v1/streams/logins/rules?sort=-last_match"
    assert with_rule.get(sorted_by)["items"][0]["running"]["last_match"] is not None
    again.beat(running(version=2, last_match_ms=START_MS - 1))
    assert joined(with_rule)["last_match"] == "2027-01-15T08:00:00.001Z"


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
    assert job.service.client.put(path, json=body).status_code == 409
    assert job.service.client.delete(f"/v1/jobs/{job.id}").status_code == 204
    assert job.service.client.put(path, json=body).status_code == 200


def test_a_deleted_job_is_forgotten_and_may_register_again(job: ReportingJob) -> None:
    job.beat(running(counters={"matches": 1}), counters={"matches": 1})
    assert job.service.client.delete(f"/v1/jobs/{job.id}").status_code == 204
    assert job.post().status_code == 404
    again = ReportingJob(job.service)
    assert again.id != job.id
    assert again.view()["versions"] == {}


def test_starts_stops_and_deletions_are_in_the_change_log(job: ReportingJob) -> None:
    job.put()
    job.beat()
    job.stop()
    job.service.client.delete(f"/v1/jobs/{job.id}")
    log = job.service.get("/v1/changes?stream=logins")["items"]
    shown = [change["action"] for change in log]
    assert shown == ["job.delete", "job.stop", "job.register", "stream.create"]
    assert {change["subject"] for change in log[:3]} == {f"{job.id} main {FIRST}"}


@pytest.mark.parametrize(
    ("field", "value", "pointer"),
    [
        ("sequence", 0, "/sequence"),
        ("watermark_ms", 2**60, "/watermark_ms"),
        ("versions", [running(state="sleeping")], "/versions/0/state"),
        ("versions", [running(counters={"matches": -1})], "/versions/0/counters/matches"),
        ("versions", [running("no/slash")], "/versions/0/processor_id"),
    ],
)
def test_a_malformed_heartbeat_is_refused_with_its_place(
    job: ReportingJob, field: str, value: Any, pointer: str
) -> None:
    answer = job.post(**{field: value})
    assert answer.status_code == 422
    assert [flaw["pointer"] for flaw in answer.json()["errors"]] == [pointer]


def test_a_rule_is_not_found_on_another_stream(with_rule: ServiceUnderTest) -> None:
    with_rule.client.post("/v1/streams", json=STREAM | {"name": "other"})
    with_rule.get("/v1/streams/other/processors/failed-logins/running", expect=404)


def metrics(service: ServiceUnderTest) -> Iterator[str]:
    for line in service.client.get("/metrics").text.splitlines():
        if line.startswith("percept_job_"):
            yield line.removeprefix("percept_job_")


def test_what_is_worth_an_alert_is_a_metric(with_rule: ServiceUnderTest, job: ReportingJob) -> None:
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
    label = 'stream="logins"'
    found = set(metrics(with_rule))
    assert f'up{{job="main",{label}}} 1.0' in found
    assert f'epochs_behind{{job="main",{label}}} 1.0' in found
    assert f'backlog_events{{job="main",{label}}} 9.0' in found
    assert f'watermark_timestamp_seconds{{job="main",{label}}} 1.8e+09' in found
    assert f'versions{{job="main",state="quarantined",{label}}} 1.0' in found
    assert f'batch_running_seconds{{job="main",{label}}} 90.5' in found
    assert f'left_out_matches{{job="main",{label}}} 7.0' in found
    assert f'dropped_partial_matches{{job="main",{label}}} 3.0' in found
    assert f'released_matches{{job="main",{label}}} 2.0' in found
    assert f'unsuppressed_matches{{job="main",{label}}} 6.0' in found
    assert f'throttled_rules{{job="main",{label}}} 1.0' in found
    assert f'discovery_up{{job="main",{label}}} 0.0' in found
    assert f'discovery_unreadable_rules{{job="main",{label}}} 2.0' in found

    with_rule.clock.time_ms += HOUR_MS
    assert f'up{{job="main",{label}}} 0.0' in set(metrics(with_rule))
    with_rule.clock.time_ms = START_MS
    job.stop()
    assert list(metrics(with_rule)) == []


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
        report.told(part, HeartbeatAnswer.model_validate(answer.json()))
        part = report.next_part(versions)
    assert job.view()["versions"] == {"active": 2_500}
    assert job.sequence == 3
