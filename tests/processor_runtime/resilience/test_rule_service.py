"""A job and its rule service do not need each other to go on."""

from pathlib import Path

import pytest

from tests.processor_runtime.resilience.service_job import STREAM, ServiceJob, sequence

pytestmark = [pytest.mark.spark, pytest.mark.faults]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServiceJob:
    """Return a job and a service that hears of it often."""
    monkeypatch.setenv("PERCEPT_HEARTBEAT_SECONDS", "0.5")
    monkeypatch.setenv("PERCEPT_STALE_AFTER_HEARTBEATS", "100")
    return ServiceJob(tmp_path)


def publish(job: ServiceJob) -> None:
    """Register the stream, and publish `p`: a failure and then a login."""
    with job.client() as client:
        client.register_stream(STREAM)
        client.publish("logins", "p", pattern=sequence("fail", "login"), key_by=["user"])


def test_a_job_goes_on_and_starts_again_without_its_service(job: ServiceJob) -> None:
    with job.service() as service:
        publish(job)
        with job.start() as first:
            began = job.give("fail")
            first.wait_until(job.has_finished)
            first.wait_until(lambda: job.reported().get("state") == "running")
            instance = job.reported()["instance_id"]
            service.process.kill()
            service.process.wait()
            found = job.give("login", "fail")
            first.wait_until(lambda: len(job.found()) == 1)
            first.wait_until(job.has_finished)
            assert first.stop() == 0
    with job.start() as second:
        finished = job.give("login")
        second.wait_until(lambda: len(job.found()) == 2)
        with job.service(), job.client() as client:
            second.wait_until(lambda: job.reported().get("instance_id") != instance)
            client.publish("logins", "q", pattern=sequence("other"), key_by=["user"])
            job.wait_until_newest_rules_run(second)
            other = job.give("other")
            second.wait_until(lambda: len(job.found()) == 3)
            assert second.stop() == 0
            assert job.reported()["state"] == "stopped"
    assert "the rule service takes no reports" in second.text
    twice = [("p", [*began, found[0]]), ("p", [found[1], *finished])]
    assert job.found() == [*twice, ("q", other)]


@pytest.mark.nightly
def test_the_older_of_two_instances_of_a_job_ends(job: ServiceJob) -> None:
    with job.service():
        publish(job)
        with job.start() as older:
            began = job.give("fail")
            older.wait_until(job.has_finished)
            older.wait_until(lambda: job.reported().get("state") == "running")
            with job.start() as newer:
                assert older.wait() == 0
                assert "has taken over" in older.text
                finished = job.give("login")
                newer.wait_until(lambda: len(job.found()) == 1)
                assert newer.stop() == 0
    assert job.found() == [("p", [*began, *finished])]


@pytest.mark.nightly
def test_partial_matches_are_kept_when_the_stream_gets_another_column(job: ServiceJob) -> None:
    with job.service():
        publish(job)
        with job.start() as process:
            (began,) = job.give("fail")
            process.wait_until(job.has_finished)
            with job.client() as client:
                client.redefine_stream(STREAM | {"schema": f"device STRING, {STREAM['schema']}"})
                on_phone = {"steps": [{"name": "login", "where": "device = 'phone'"}]}
                client.publish("logins", "phone", pattern=on_phone)
            job.wait_until_newest_rules_run(process)
            (finished,) = job.give("login", device="phone")
            process.wait_until(lambda: len(job.found()) == 2)
            assert process.stop() == 0
    assert sorted(job.found()) == [
        ("p", [began | {"device": None}, finished]),
        ("phone", [finished]),
    ]
