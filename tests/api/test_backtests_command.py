"""`percept backtests` against a service that listens, with a worker beside it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.service.tokens import Role
from tests.api.archives import working
from tests.api.commands import Run
from tests.api.documents import PATTERN, processor_document
from tests.api.listening import ListeningService

COMMAND, ROLE = ("backtests",), Role.AUTHOR
pytestmark = pytest.mark.usefixtures("client_with_rule")


@pytest.fixture
def _working(listening: ListeningService, tmp_path: Path) -> Iterator[None]:
    """A worker that has four events, of which the last completes a match."""
    path = tmp_path / "history.jsonl"
    events = [
        {"user": "eve", "action": action, "ts": f"2026-11-01T08:00:0{place}Z"}
        for place, action in enumerate(("fail", "fail", "fail", "login"))
    ]
    path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    with working(listening, path):
        yield


@pytest.mark.long
@pytest.mark.usefixtures("_working")
def test_a_file_is_run_and_reported(run: Run, tmp_path: Path) -> None:
    shorter = processor_document(pattern=PATTERN | {"within": "1 second"})
    file = tmp_path / "rule.json"
    file.write_text(json.dumps(shorter), encoding="utf-8")
    told = run("run", file, "--against", "published", "--comment", "shorter?")
    assert told.exit_code == 0, told.output
    lines = [line.split() for line in told.stdout.splitlines()]
    assert ["matches", "0", "on", "0", "keys"] in lines
    assert ["against", "0", "by", "both,", "0", "gained,", "1", "lost"] in lines
    whole = json.loads(run("run", "failed-logins", "--version", 1, "--json").stdout)
    assert (whole["state"], whole["matches"], whole["version"]) == ("done", 1, 1)
    assert run("show", 2).stdout.splitlines()[1] == "failed-logins"
    table = run("list").stdout.splitlines()
    assert [line.split()[:5] for line in table[1:]] == [
        ["2", "failed-logins", "1", "done", "1"],
        ["1", "failed-logins", "draft", "against", "1"],
    ]
    assert [json.loads(line)["number"] for line in run("list", "--json").stdout.splitlines()] == [
        2,
        1,
    ]


def test_one_that_waits_is_told_of_and_cancelled(run: Run) -> None:
    assert run("run", "failed-logins", "--no-wait").stdout == "1\n"
    shown = run("show", 1)
    assert (shown.exit_code, "queued; no worker has the events" in shown.stdout) == (0, True)
    waited = run("run", "failed-logins", "--timeout", 0)
    assert (waited.exit_code, "`percept backtests show 2`" in waited.stderr) == (1, True)
    assert run("cancel", 1).stdout == "backtest 1 is cancelled\n"
    ended = run("show", 1)
    assert (ended.exit_code, "cancelled: by hand" in ended.stderr) == (1, True)


def test_what_is_wrong_is_told(run: Run, tmp_path: Path) -> None:
    assert "Did you mean 'failed-logins'?" in run("run", "faild-logins").stderr
    assert run("run", "failed-logins", "--from", "soon").exit_code == 2
    assert run("run", "failed-logins", "--against", "live").exit_code == 2
    assert run("show", 7).exit_code == 1
    assert run("run", "failed-logins", role=Role.VIEWER).exit_code == 1
    assert "no backtests" in run("list", "--state", "done", role=Role.VIEWER).stderr
    (tmp_path / "two.yaml").write_text("a: 1", encoding="utf-8")
    assert "takes one" in run("run", tmp_path / "two.yaml").stderr
