"""`percept list`, `show`, `pause`, `resume` and `rollback` against a service that listens."""

import json
import re
from pathlib import Path

import pytest
import yaml

from api.client import Client, Processor
from api.remote import changing, known_rules
from contract.service.tokens import Role
from tests.api.commands import STEERING, Run
from tests.api.documents import PATTERN, STREAM, processor_document

ID = "failed-logins"


def publish(client: Client, name: str = ID, stream: str = "logins", **parts: object) -> Processor:
    return client.publish(stream, name, pattern=PATTERN, **parts)  # type: ignore[arg-type]


def test_rules_are_listed_and_filtered(run: Run, client: Client) -> None:
    client.register_stream(STREAM | {"name": "payments"})
    publish(client, severity="high", owner="fraud", tags=["a"])
    publish(client, "other", "payments")
    client.pause("other")
    lines = run("list").stdout.splitlines()
    assert lines[0].split() == [
        *("RULE", "STREAM", "STATE", "VERSION", "SEVERITY", "OWNER", "CHANGED", "BY")
    ]
    assert lines[1].split()[:6] == [ID, "logins", "published", "1", "high", "fraud"]
    assert lines[2].split()[:4] == ["other", "payments", "paused", "1"]
    for words, found in {
        ("--stream", "payments"): ["other"],
        ("--state", "published"): [ID],
        ("--state", "deleted"): [],
        ("--tag", "a"): [ID],
        ("--owner", "fraud", "--text", "log"): [ID],
    }.items():
        listed = run("list", *words, "--json")
        assert [json.loads(line)["id"] for line in listed.stdout.splitlines()] == found
        assert listed.exit_code == 0
    assert "no rules" in run("list", "--state", "deleted").stderr


def test_a_table_is_folded_between_words_and_whole_in_a_pipe(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, owner = "long-" * 10, "the team that looks into frauds in the north"
    publish(client, name, owner=owner)
    piped = run("list").stdout.splitlines()
    assert len(piped) == 2
    assert {name, owner} <= set(re.split("  +", piped[1]))
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")
    seen = re.sub("\x1b\\[[0-9;]*m", "", run("list").stdout)
    assert {name, "logins", "published", *owner.split()} <= set(seen.split())
    assert len(seen.splitlines()) > 5


def test_text_of_others_does_not_steer_the_terminal(run: Run, client: Client) -> None:
    hostile = "\x1b[2J[bold]\u202e\x9b\nx"
    publish(client, owner=hostile, description=hostile, comment=hostile)
    for read, words in (
        (json.loads, ("list", "--json")),
        (yaml.safe_load, ("show", ID)),
        (json.loads, ("show", ID, "--format", "json")),
        (yaml.safe_load, ("show", ID, "--version", 1)),
        (None, ("show", ID, "--versions")),
        (None, ("list",)),
    ):
        result = run(*words, code=0)
        assert not re.search(STEERING, result.output)
        assert read is None or read(result.stdout)["owner"] == hostile
    assert "\\x1b[2J[bold]\\u202e\\x9b\\nx" in result.stdout


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_what_is_shown_is_what_apply_takes(
    run: Run, client: Client, tmp_path: Path, form: str
) -> None:
    publish(client, key_by=["user"], tags=["b", "a"], owner="fraud")
    client.pause(ID)
    file = tmp_path / f"rule.{form}"
    file.write_text(run("show", ID, "--format", form).stdout, encoding="utf-8")
    assert run("apply", file).output == "Plan: 1 unchanged\n"
    assert client.get(ID).is_paused


def test_versions_are_listed_and_each_is_shown(run: Run, client: Client) -> None:
    publish(client, comment="first")
    client.publish("logins", ID, pattern=PATTERN | {"within": "5 minutes"}, comment="shorter")
    shown = run("show", ID).stdout
    assert shown.startswith("# published, version 2, changed ")
    assert yaml.safe_load(shown)["pattern"]["within"] == "5 minutes"
    first = run("show", ID, "--version", 1).stdout
    assert re.match(r"# version 1 of failed-logins, not published, made .*: first\n", first)
    assert yaml.safe_load(first)["pattern"]["within"] == "10 minutes"
    listed = run("show", ID, "--versions").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["VERSION", "2", "1"]
    assert listed[1].endswith("shorter")


def test_a_deleted_rule_is_told_its_versions_shown_and_it_comes_back(
    run: Run, client: Client
) -> None:
    publish(client)
    client.delete(ID)
    told = f"rule {ID} was deleted; `percept rollback {ID} --to VERSION`"
    assert told in run("show", ID, code=1).stderr
    assert yaml.safe_load(run("show", ID, "--version", 1).stdout)["stream"] == "logins"
    run("rollback", ID, "--to", 1, code=0)
    assert client.get(ID).state == "published"


def test_rules_are_paused_and_resumed_and_none_if_one_name_is_wrong(
    run: Run, client: Client
) -> None:
    def paused() -> list[bool]:
        return [client.get(name).is_paused for name in (ID, "other")]

    for name in (ID, "other"):
        publish(client, name)
    assert run("pause", ID, "other", "--dry-run").stdout == "".join(
        f"{name}: would be paused; it is published, version 1\n" for name in (ID, "other")
    )
    assert paused() == [False, False]
    done = run("pause", ID, "other", ID, "--comment", "too noisy", code=0)
    assert done.stdout == f"{ID}: paused\nother: paused\n"
    assert paused() == [True, True]
    again = run("pause", ID, code=0)
    assert again.stdout == f"{ID}: nothing to do, it is paused, version 1\n"
    assert run("resume", ID, "other").stdout == f"{ID}: resumed\nother: resumed\n"
    assert paused() == [False, False]
    told = "there is no rule faild-logins. Did you mean 'failed-logins'?"
    assert told in run("pause", ID, "faild-logins", code=1).stderr
    assert paused() == [False, False]


def test_what_somebody_else_has_changed_meanwhile_is_left(
    run: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = known_rules.rules_named

    def read_then_changed(*arguments: object) -> list[Processor]:
        found = read(*arguments)  # type: ignore[arg-type]
        client.label(ID, owner="somebody else")
        return found

    for name in (ID, "other"):
        publish(client, name)
    monkeypatch.setattr(changing, "rules_named", read_then_changed)
    result = run("pause", ID, "other", code=1)
    assert f"{ID} was changed by somebody else meanwhile" in result.stderr
    assert result.stdout == "other: paused\n"
    assert not client.get(ID).is_paused


def test_a_rule_gets_the_content_of_an_old_version(run: Run, client: Client) -> None:
    publish(client)
    client.publish("logins", ID, pattern=PATTERN | {"within": "5 minutes"})
    later = {"effective_from": "2130-01-01T00:00:00Z", "severity": "low"}
    client.replace(processor_document(**later), if_match="*")
    dry = run("rollback", ID, "--to", 1, "--dry-run")
    assert "+  within: 10 minutes" in dry.stdout or "-severity: low" in dry.stdout
    assert "would get the content of version 1; it is scheduled, version 3" in dry.stdout
    assert client.get(ID).version == 3
    result = run("rollback", ID, "--to", 1, "--comment", "back")
    assert result.exit_code == 0, result.output
    assert f"{ID}: version 4 has the content of version 1\n" in result.stdout
    assert f"{ID}: version 3, which has a schedule, is withdrawn" in result.stdout
    assert client.get(ID).document["pattern"]["within"] == "10 minutes"
    assert client.version(ID, 4).comment == "back"


def test_a_rule_or_version_that_is_not_there_is_told_with_those_that_are(
    run: Run, client: Client
) -> None:
    publish(client)
    unknown = "there is no rule failed-login. Did you mean 'failed-logins'?"
    for words, told in (
        (("rollback", ID, "--to", 7), f"rule {ID} has no version 7; it has 1"),
        (("show", ID, "--version", 7), f"rule {ID} has no version 7; it has 1"),
        (("show", "failed-login"), unknown),
        (("rollback", "failed-login", "--to", 1), unknown),
        (("show", "zzz"), "Known here: 'failed-logins'."),
    ):
        assert told in run(*words, code=1).stderr


COMMANDS = (("list",), ("show", ID), ("pause", ID), ("resume", ID), ("rollback", ID, "--to", 1))


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_without_service_token_or_right_a_command_says_so(
    run: Run, client: Client, free_port: int, words: tuple[object, ...]
) -> None:
    publish(client)
    client.publish("logins", ID, pattern=PATTERN | {"within": "5 minutes"})
    if words[0] == "resume":
        client.pause(ID)
    before = client.get(ID)
    away = run(*words, "--url", f"http://127.0.0.1:{free_port}", code=1)
    assert "percept: " in away.stderr
    wrong = run(*words, "--token", "percept_wrong", code=1)
    assert "401" in wrong.stderr
    far = run(*words, "--url", "http://rules.example.com", code=2)
    assert "unencrypted" in far.stderr.replace("\n", " ")
    reads = words[0] in {"list", "show"}
    viewer = run(*words, role=Role.VIEWER, code=0 if reads else 1)
    assert ("403" in viewer.stderr) != reads
    assert client.get(ID) == before
    for result in (away, wrong, far, viewer):
        assert "Traceback" not in result.output


def test_an_unknown_stream_and_an_impossible_name_are_told(run: Run) -> None:
    run("list", "--stream", "nowhere", code=1)
    for words in (("list", "--stream", "no stream"), ("show", "no rule"), ("list", "--state", "x")):
        run(*words, code=2)
