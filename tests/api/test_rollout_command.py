"""`percept rollout` against a service that listens."""

import json
from pathlib import Path

import pytest

from api.client import Client
from contract.service.tokens import Role
from tests.api.commands import Run, write
from tests.api.documents import PATTERN, processor_document

COMMAND = ("rollout",)
ID = "failed-logins"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with another version of the rule, paused or not."""
    document = processor_document(pattern=PATTERN | {"within": "1 hour"}) | {"paused": False}
    return write(tmp_path / "rule.yaml", document)


def test_a_version_is_tried_shown_shared_and_promoted(run: Run, client: Client, file: Path) -> None:
    client.create(processor_document())
    assert run("start", file).stdout == f"{ID}: version 2 runs in shadow\n"
    assert run("share", ID, 12.5).stdout == f"{ID}: version 2 has 12.5% of the keys\n"
    shown = run("show", ID).stdout.splitlines()
    assert shown[0] == f"{ID}: version 2 (12.5% of the keys) beside 1"
    assert json.loads(run("show", ID, "--json").stdout)["share_percent"] == 12.5
    promoted = run("promote", ID, "--comment", "enough")
    assert promoted.stdout == f"{ID}: version 2 is published\n"
    assert client.get(ID).version == 2
    assert [line.comment for line in client.versions(ID)] == ["", ""]


def test_a_rule_can_be_new_and_a_version_taken_back(run: Run, client: Client, file: Path) -> None:
    assert "it is new" in run("start", file).stdout
    assert client.get(ID).state == "shadow"
    assert run("end", ID).exit_code == 1
    assert run("promote", ID).exit_code == 0
    write(file, processor_document(severity="low"))
    assert run("start", file, "--share", 5).stdout == f"{ID}: version 2 has 5% of the keys\n"
    assert run("end", ID).stdout == f"{ID}: nothing is on trial any more; version 1 has all keys\n"


def test_without_a_rollout_it_is_said(run: Run, client: Client) -> None:
    client.create(processor_document())
    words: tuple[tuple[object, ...], ...] = (("show",), ("share", 5), ("promote",), ("end",))
    for command, *more in words:
        assert "no version of failed-logins is tried" in run(command, ID, *more, code=1).stderr
        assert "Did you mean 'failed-logins'?" in run(command, "faild-logins", *more).stderr


def test_it_takes_a_publisher_and_one_rule(run: Run, client: Client, file: Path) -> None:
    client.create(processor_document())
    run("start", file, role=Role.AUTHOR, code=1)
    file.write_text(f"{file.read_text()}---\n{file.read_text()}", encoding="utf-8")
    run("start", file, code=2)
    run("start", file.parent / "none.yaml", code=2)
    run("share", ID, 100, code=2)
