"""docs/command-line.md: every command gives what the page shows, with the files it shows."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from contract.service.tokens import Role
from percept.command_line import app
from tests.api.listening import listening_service
from tests.docs.fences import ROOT, Fence, fences
from tests.docs.sessions import commands

PAGE = "docs/command-line.md"


@pytest.fixture(autouse=True)
def _folder(
    migrated_store: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[None]:
    for name, fence in files():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(fence.text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    with listening_service(migrated_store("sqlite")) as listening:
        rule = dict(files())["rules/failed-logins.yaml"].text
        with listening.client() as client:
            client.create(yaml.safe_load(rule))
        monkeypatch.setenv("PERCEPT_URL", listening.url)
        monkeypatch.setenv("PERCEPT_TOKEN", listening.service.token_of[Role.ADMIN])
        yield


def files() -> Iterator[tuple[str, Fence]]:
    """Yield the files of the page: fenced blocks below a line that is their name."""
    lines = (ROOT / PAGE).read_text(encoding="utf-8").splitlines()
    for fence in fences(PAGE):
        if named := re.fullmatch(r"`([\w./-]+)`", lines[fence.line - 2]):
            yield named[1], fence


def told(output: str) -> list[str]:
    """Return the lines of an output without what differs each time, such as how long it took."""
    return [re.sub(r"\d+\.\d s$", "0.0 s", line.rstrip()) for line in output.splitlines()]


def test_every_command_does_what_the_page_shows() -> None:
    ran = 0
    for (_percept, *words), shown in commands(PAGE):
        assert told(CliRunner().invoke(app, words).output) == told(shown), words
        ran += 1
    assert ran >= 3
