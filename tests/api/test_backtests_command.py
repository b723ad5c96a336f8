"""`percept backtests` against a service that listens, with a worker beside it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.service.tokens import Role
from tests.api.archives import working
from tests.api.commands import Run, write
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
    file = write(
        tmp_path / "rule.yaml", processor_document(pattern=PATTERN | {"within": "1 second"})
    )
    told = run("run", file, "--against", "published", "--comment", "shorter?", code=0)
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
    as_json = run("list", "--json").stdout.splitlines()
    assert [json.loads(line)["number"] for line in as_json] == [2, 1]


def test_one_that_waits_is_told_of_and_cancelled(run: Run) -> None:
    assert run("run", "failed-logins", "--no-wait").stdout == "1\n"
    assert "queued; no worker has the events" in run("show", 1, code=0).stdout
    waited = run("run", "failed-logins", "--timeout", 0, code=1)
    assert "`percept backtests show 2`" in waited.stderr
    assert run("cancel", 1).stdout == "backtest 1 is cancelled\n"
    assert "cancelled: by hand" in run("show", 1, code=1).stderr


def test_what_is_wrong_is_told(run: Run, tmp_path: Path) -> None:
    assert "Did you mean 'failed-logins'?" in run("run", "faild-logins").stderr
    run("run", "failed-logins", "--from", "soon", code=2)
    run("run", "failed-logins", "--against", "live", code=2)
    run("show", 7, code=1)
    run("run", "failed-logins", role=Role.VIEWER, code=1)
    assert "no backtests" in run("list", "--state", "done", role=Role.VIEWER).stderr
    (tmp_path / "two.yaml").write_text("a: 1", encoding="utf-8")
    assert "takes one" in run("run", tmp_path / "two.yaml").stderr
