"""`percept why` without events: what the service tells of its rule, for people and programs."""

import json

import pytest

from api.client import Client
from contract.service.tokens import Role
from tests.api.commands import Run
from tests.api.documents import PATTERN
from tests.api.jobs import ReportingJob, running
from tests.api.listening import ListeningService
from tests.api.running import START_MS
from tests.api.test_diagnosis import FAIL, HEALTHY

COMMAND, ROLE = ("why",), Role.VIEWER


def test_the_chain_and_the_funnel_are_printed(
    run: Run, client: Client, listening: ListeningService
) -> None:
    client.publish("logins", "failed-logins", pattern=PATTERN, key_by=["user"])
    told = run("failed-logins")
    assert told.exit_code == 0
    assert told.stdout.startswith("failed-logins: no match; No job runs this stream\n")
    assert "LOOK  No job runs this stream\n        The rule is stored" in told.stdout

    job = ReportingJob(listening.service)
    steps = [FAIL | {"last_event_ms": START_MS}]
    job.beat(running(counters={"events": 9}, steps=steps), **HEALTHY)
    lines = run("failed-logins").stdout.splitlines()
    assert lines[0] == "failed-logins: no match; No partial match has reached the step login"
    (fail,) = [line.split() for line in lines if line.startswith("fail ")]
    assert fail == ["fail", "4", "9", "1", "2", "3", "0", "0", "2027-01-15T08:00:00.000Z"]
    assert lines[-1].split() == ["login", "0", "0", "0", "0", "0", "0", "0", "never"]

    given = json.loads(run("failed-logins", "--json").stdout)
    assert given["diagnosis"]["reason"] == "No partial match has reached the step login"
    (version,) = given["funnel"]["jobs"][0]["versions"]
    assert version["steps"][0]["reached"] == 4


def test_a_rule_that_is_not_there_and_a_missing_token(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.publish("logins", "failed-logins", pattern=PATTERN, key_by=["user"])
    assert "failed-logins" in run("faild-logins", code=1).stderr
    monkeypatch.delenv("PERCEPT_TOKEN", raising=False)
    assert "EVENTS is missing, or --token" in run("failed-logins", code=2).stderr
