"""Pages of the documentation: every session and command on them gives what the page shows."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from api.client import Client
from contract.service.tokens import Role
from percept.command_line import app
from tests.api.archives import working
from tests.api.documents import PATTERN, processor_document
from tests.api.listening import KEYS, ListeningService
from tests.api.triage import found, post
from tests.docs.fences import ROOT, fences
from tests.docs.sessions import commands, run_sessions

SIGN_INS = {
    "eve": ("02T08:00:00", "02T08:00:10", "02T08:00:30"),
    "ann": ("02T12:00:00", "02T12:04:00", "02T12:08:00"),
    "bob": ("03T09:00:00", "03T09:00:10", "03T09:00:30"),
}


@pytest.fixture(autouse=True)
def _environment(
    listening: ListeningService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PERCEPT_URL", listening.url)
    monkeypatch.setenv("PERCEPT_TOKEN", listening.service.token_of[Role.ADMIN])
    monkeypatch.setenv("PERCEPT_SIGNING_KEYS", ",".join(key.to_text() for key in KEYS.keys))
    monkeypatch.chdir(tmp_path)


def told(output: str) -> list[str]:
    """Return the lines of an output without what differs each time, such as how long it took."""
    return [re.sub(r"\d+\.\d s$", "0.0 s", line.rstrip()) for line in output.splitlines()]


def without_diff(output: str) -> list[str]:
    return [line for line in output.splitlines() if not line.startswith(" ")]


def run_all(
    page: str,
    compared: Callable[[str], list[str]] = told,
    before: Callable[[int], None] = lambda _ran: None,
) -> int:
    """Run the commands of a page, each after what must be done before; return how many."""
    ran = 0
    for (_percept, *words), shown in commands(page):
        before(ran)
        assert compared(CliRunner().invoke(app, words).output) == compared(shown), words
        ran += 1
    return ran


def test_the_client_does_what_its_page_shows(listening: ListeningService) -> None:
    post(listening.service, found(1), found(2), found(3))
    tried, report = run_sessions("docs/client.md")
    assert report == ""
    assert tried > 15


def test_rules_in_a_repository_are_applied_as_their_page_shows(tmp_path: Path) -> None:
    (tmp_path / "rules" / "lists").mkdir(parents=True)
    texts = [each.text for each in fences("docs/gitops.md") if each.language in {"yaml", "text"}]
    names = ("stream.yaml", "failed-logins.yaml", "lists/vip.yaml", "lists/vip.csv")
    files = list(zip(names, texts, strict=True))

    def write_files(ran: int) -> None:
        # Lists come to the folder once its rules have been applied.
        for name, text in files if ran > 2 else files[:2]:
            (tmp_path / "rules" / name).write_text(text, encoding="utf-8")

    assert run_all("docs/gitops.md", without_diff, write_files) == 6


def test_every_command_of_the_command_line_does_what_its_page_shows(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = "docs/command-line.md"
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    for fence in fences(page):
        # Files are fenced blocks below a line that is their name.
        if named := re.fullmatch(r"`([\w./-]+)`", lines[fence.line - 2]):
            (tmp_path / named[1]).parent.mkdir(exist_ok=True)
            (tmp_path / named[1]).write_text(fence.text, encoding="utf-8")
    monkeypatch.setenv("COLUMNS", "100")
    client.create(yaml.safe_load((tmp_path / "rules/failed-logins.yaml").read_text("utf-8")))
    assert run_all(page) >= 3


@pytest.mark.long
def test_backtests_give_what_their_page_shows(
    listening: ListeningService, client: Client, tmp_path: Path
) -> None:
    page = "docs/backtests.md"
    steps = [PATTERN["steps"][0] | {"times": 2}, PATTERN["steps"][1]]
    client.create(processor_document(pattern=PATTERN | {"steps": steps}))
    events = [
        {"user": user, "action": action, "ts": f"2026-11-{at}Z"}
        for user, times in SIGN_INS.items()
        for action, at in zip(("fail", "fail", "login"), times, strict=True)
    ]
    history = tmp_path / "history.jsonl"
    history.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    (rule,) = (fence.text for fence in fences(page) if fence.language == "yaml")
    Path("stricter.yaml").write_text(rule, encoding="utf-8")
    with working(listening, history):
        assert run_all(page) == 2
