"""What is open for one key of a rule: asked of jobs with their heartbeats, told by them, read."""

from typing import Any

import pytest

from api.diagnosis.partial_matches import key_of_text
from api.jobs.asked_keys import KEYS_OF_ONE
from api.web.problems import Refusal
from contract.asked_keys import KEYS_ASKED
from contract.service.tokens import Role
from tests.api.jobs import ReportingJob, running
from tests.api.running import START_MS, Service

PATH = "/v1/processors/failed-logins/partial-matches"


def partial_match(started_ms: int, last_ms: int, expires_ms: int, *more: str) -> dict[str, Any]:
    """Return what a job tells of two failures that wait for a third."""
    times = {"started_ms": started_ms, "last_ms": last_ms, "expires_ms": expires_ms}
    step = {"name": "fail", "count": 2, "first_ms": started_ms, "last_ms": last_ms}
    return {"version": 1, "steps": [step], "awaited": ["fail", *more]} | times


PARTIAL = partial_match(START_MS, START_MS + 1_000, START_MS + 600_000, "gone")


@pytest.fixture
def job(with_rule: Service) -> ReportingJob:
    return ReportingJob(with_rule)


def read(service: Service, key: str = "eve", status: int = 200, role: Role = Role.VIEWER) -> Any:
    return service.get(PATH, role, expect=status, key=key)


def asked(job: ReportingJob) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = job.beat(running())["asked_keys"]
    return found


def test_a_key_is_asked_told_by_its_job_alone_and_read(job: ReportingJob) -> None:
    assert asked(job) == []
    before = read(job.service)
    assert [each["answered_at"] for each in before["jobs"]] == [None]
    (question,) = asked(job)
    assert (question["processor_id"], question["key"]) == ("failed-logins", ["eve"])
    answer = {"id": question["id"], "batch_id": 7, "watermark_ms": START_MS, "open": 12}
    assert job.tell(answer, instance="somebody-else").status_code == 409
    assert job.tell(answer | {"partial_matches": [PARTIAL]}).json() == {"taken": 1}
    (in_job,) = read(job.service)["jobs"]
    assert (in_job["open"], in_job["batch_id"]) == (12, 7)
    (partial,) = in_job["partial_matches"]
    assert partial["steps"][0]["count"] == 2
    assert partial["expires"] == "2027-01-15T08:10:00.000Z"
    assert partial["awaited"] == [
        {"name": "fail", "condition": "action = 'fail'"},
        {"name": "gone", "condition": ""},
    ]
    job.tell({"id": question["id"], "batch_id": 8, "open": 0})
    assert read(job.service)["jobs"][0]["open"] == 0


def test_a_question_is_forgotten_a_minute_after_it_was_last_asked(job: ReportingJob) -> None:
    read(job.service)
    (question,) = asked(job)
    job.tell({"id": question["id"], "batch_id": 1, "open": 3})
    job.service.clock.time_ms += 50_000
    assert read(job.service)["jobs"][0]["open"] == 3  # which puts it off
    job.service.clock.time_ms += 59_000
    assert asked(job) == [question]
    job.service.clock.time_ms += 2_000
    assert asked(job) == []
    assert job.tell({"id": question["id"], "batch_id": 2}).json() == {"taken": 0}
    assert read(job.service)["jobs"][0]["answered_at"] is None


def test_a_question_is_forgotten_also_if_the_clock_is_set_back(job: ReportingJob) -> None:
    read(job.service)
    job.service.clock.time_ms -= 50_000
    assert len(asked(job)) == 1
    job.service.clock.time_ms -= 3_600_000
    assert asked(job) == []


def test_so_many_keys_are_asked_about_and_no_more(
    job: ReportingJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    roles = (Role.VIEWER, Role.AUTHOR, Role.PUBLISHER, Role.ADMIN)
    for number in range(KEYS_ASKED):
        read(job.service, f"user{number}", role=roles[number // KEYS_OF_ONE])
        if number == KEYS_OF_ONE - 1:
            told = read(job.service, "one more", 409)["detail"]
            assert f"{KEYS_OF_ONE} keys of the stream 'logins'" in told
            assert "with this token" in told
    monkeypatch.setattr("api.jobs.asked_keys.KEYS_OF_ONE", KEYS_ASKED)
    told = read(job.service, "one more", 409)["detail"]
    assert f"{KEYS_ASKED} keys of the stream 'logins' are asked about, which" in told
    read(job.service, "user0")
    assert len(asked(job)) == KEYS_ASKED
    job.service.clock.time_ms += 61_000
    read(job.service, "one more")
    assert len(asked(job)) == 1


def test_what_is_no_key_is_refused_and_a_deleted_job_leaves_no_answers(job: ReportingJob) -> None:
    assert "this is 2 instead of 1 values" in read(job.service, '["eve", 7]', 422)["detail"]
    assert "Write the values" in read(job.service, "[{}]", 422)["detail"]
    assert read(job.service, "", 422)
    assert read(job.service, "x" * 3_000, 422)
    read(job.service)
    (question,) = asked(job)
    job.tell({"id": question["id"], "batch_id": 1})
    deleted = job.service.client.delete(
        f"/v1/jobs/{job.id}", headers=job.service.as_role(Role.PUBLISHER)
    )
    assert deleted.status_code == 204
    assert read(job.service)["jobs"] == []


def test_keys_are_read_as_they_are_written_and_what_is_none_is_told() -> None:
    keys: list[tuple[str, list[str], list[Any]]] = [
        ("", [], []),
        ("eve", ["user"], ["eve"]),
        ("eve, adam", ["user"], ["eve, adam"]),
        ("eve, 7", ["user", "shop"], ["eve", "7"]),
        ('["eve", 7]', ["user", "shop"], ["eve", 7]),
        ('["[eve]"]', ["user"], ["[eve]"]),
        ("[null]", ["user"], [None]),
    ]
    for text, columns, values in keys:
        assert key_of_text(text, columns) == values
    no_keys: tuple[tuple[str, list[str]], ...] = (
        *(("eve", []), ("eve", ["user", "shop"])),
        *(("[1, 2]", ["user"]), ("[", ["a"])),
    )
    for text, columns in no_keys:
        with pytest.raises(Refusal):
            key_of_text(text, columns)
