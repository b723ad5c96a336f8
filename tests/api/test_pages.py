"""docs/client.md and docs/gitops.md: every session and command gives what the page shows."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from api.gitops.commands import apply, export
from contract.service.tokens import Role
from tests.api.listening import KEYS, ListeningService
from tests.api.triage import found, post
from tests.docs.fences import fences
from tests.docs.sessions import commands, run_sessions


@pytest.fixture(autouse=True)
def _environment(
    listening: ListeningService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PERCEPT_URL", listening.url)
    monkeypatch.setenv("PERCEPT_TOKEN", listening.service.token_of[Role.ADMIN])
    monkeypatch.setenv("PERCEPT_SIGNING_KEYS", ",".join(key.to_text() for key in KEYS.keys))
    monkeypatch.chdir(tmp_path)
    post(listening.service, found(1), found(2), found(3))


def test_the_client_does_what_its_page_shows() -> None:
    tried, report = run_sessions("docs/client.md")
    assert report == ""
    assert tried > 15


def test_rules_in_a_repository_are_applied_as_their_page_shows(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(apply)
    app.command()(export)
    (tmp_path / "rules" / "lists").mkdir(parents=True)
    texts = [each.text for each in fences("docs/gitops.md") if each.language in {"yaml", "text"}]
    names = ("stream.yaml", "failed-logins.yaml", "lists/vip.yaml", "lists/vip.csv")
    files = list(zip(names, texts, strict=True))

    ran = 0
    for (_percept, *words), shown in commands("docs/gitops.md"):
        # Lists come to the folder once its rules have been applied.
        for name, text in files if ran > 2 else files[:2]:
            (tmp_path / "rules" / name).write_text(text, encoding="utf-8")
        printed = CliRunner().invoke(app, words).output
        without_diff, shown_lines = (
            [line for line in lines.splitlines() if not line.startswith(" ")]
            for lines in (printed, shown)
        )
        assert without_diff == shown_lines, words
        ran += 1
    assert ran == 6
