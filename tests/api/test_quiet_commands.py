"""`percept snooze`, `snoozes`, `unsnooze` and `webhooks` against a service that listens."""

import json
import re

import pytest

from tests.api.commands import Run

ID = "failed-logins"
pytestmark = pytest.mark.usefixtures("client_with_rule")


def test_a_rule_is_snoozed_listed_and_woken(run: Run) -> None:
    every = run("snooze", ID, "--for", "1h")
    assert every.stdout == f"{ID}: snoozed for all keys until 2027-01-15T09:00:00.000Z\n"
    until = "2027-01-16T00:00Z"
    one = run("snooze", ID, "--key", "eve", "--until", until, "--comment", "drill")
    assert one.stdout == f"{ID}: snoozed for key eve until 2027-01-16T00:00:00.000Z\n"
    for words in (["snoozes"], ["snoozes", ID]):
        lines = run(*words).stdout.splitlines()
        assert [re.split(r"\s{2,}", line.strip())[:3] for line in lines[1:]] == [
            [ID, "all keys", "2027-01-15T09:00:00.000Z"],
            [ID, "eve", "2027-01-16T00:00:00.000Z"],
        ]
    (first, second) = map(json.loads, run("snoozes", "--json").stdout.splitlines())
    assert (first["key"], second["key"], second["comment"]) == (None, "eve", "drill")
    assert run("unsnooze", ID).stdout == f"{ID}: no longer snoozed for all keys\n"
    again = run("unsnooze", ID)
    assert (again.exit_code, "is not snoozed so" in again.output) == (1, True)
    assert run("unsnooze", ID, "--all").stdout == f"{ID}: no longer snoozed for key eve\n"
    assert "nothing is snoozed" in run("snoozes").output


def test_what_cannot_be_is_told(run: Run) -> None:
    for words, code, told in (
        (["snooze", ID], 2, "until when?"),
        (["snooze", ID, "--for", "1h", "--until", "2027-01-16T00:00Z"], 2, "until when?"),
        (["snooze", "failed-login", "--for", "1h"], 1, "failed-logins"),
        (["snooze", ID, "--for", "soon"], 2, "/for"),
        (["unsnooze", ID, "--all", "--key", "eve"], 2, "--key and --all"),
        (["webhooks", "test", "on call"], 1, "there is no webhook on call"),
        (["webhooks", "create", "a", "ftp://x"], 2, "/url"),
        (["webhooks", "create", "a", "https://x.example", "--event", "b"], 2, "/events/0"),
    ):
        assert told in run(*words, code=code).output


def test_a_webhook_is_made_tested_and_removed(run: Run) -> None:
    assert "there are no webhooks" in run("webhooks", "list").output
    made = run("webhooks", "create", "on call", "https://127.0.0.1/x", "--event", "job.stale")
    secret = made.stdout.splitlines()[-1].strip()
    assert secret.startswith("whsec_")
    renewed = run("webhooks", "new-secret", "on call").stdout.splitlines()[-1].strip()
    assert renewed.startswith("whsec_")
    assert renewed != secret
    assert "is on its way" in run("webhooks", "test", "on call").stdout
    assert "webhook.test" in run("webhooks", "deliveries", "on call").stdout
    assert run("webhooks", "disable", "on call").stdout == "on call: disabled\n"
    listed = run("webhooks", "list").stdout
    assert "disabled" in listed
    assert "job.stale" in listed
    assert run("webhooks", "enable", "on call").stdout == "on call: enabled\n"
    assert run("webhooks", "delete", "on call").stdout == "on call: deleted\n"
    assert "there are no webhooks" in run("webhooks", "list").output
