"""docs/backtests.md: the commands give what the page shows, with a worker and the file it shows."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from contract.service.tokens import Role
from percept.command_line import app
from tests.api.archives import working
from tests.api.documents import PATTERN, processor_document
from tests.api.listening import ListeningService, listening_service
from tests.api.test_command_line_page import told
from tests.docs.fences import fences
from tests.docs.sessions import commands

PAGE = "docs/backtests.md"
EVENTS = (
    ("eve", "fail", "2026-11-02T08:00:00Z"),
    ("eve", "fail", "2026-11-02T08:00:10Z"),
    ("eve", "login", "2026-11-02T08:00:30Z"),
    ("ann", "fail", "2026-11-02T12:00:00Z"),
    ("ann", "fail", "2026-11-02T12:04:00Z"),
    ("ann", "login", "2026-11-02T12:08:00Z"),
    ("bob", "fail", "2026-11-03T09:00:00Z"),
    ("bob", "fail", "2026-11-03T09:00:10Z"),
    ("bob", "login", "2026-11-03T09:00:30Z"),
)


@pytest.fixture
def listening(migrated_store: Callable[[str], str]) -> Iterator[ListeningService]:
    """A service whose rule takes ten minutes."""
    steps = [PATTERN["steps"][0] | {"times": 2}, PATTERN["steps"][1]]
    pattern = PATTERN | {"steps": steps}
    with listening_service(migrated_store("sqlite")) as service:
        with service.client() as client:
            client.create(processor_document(pattern=pattern))
        yield service


@pytest.fixture
def _working(listening: ListeningService, tmp_path: Path) -> Iterator[None]:
    path = tmp_path / "history.jsonl"
    events = [{"user": user, "action": action, "ts": ts} for user, action, ts in EVENTS]
    path.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    with working(listening, path):
        yield


@pytest.mark.long
@pytest.mark.usefixtures("_working")
def test_every_command_does_what_the_page_shows(
    listening: ListeningService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PERCEPT_URL", listening.url)
    monkeypatch.setenv("PERCEPT_TOKEN", listening.service.token_of[Role.ADMIN])
    (rule,) = (fence.text for fence in fences(PAGE) if fence.language == "yaml")
    Path("stricter.yaml").write_text(rule, encoding="utf-8")
    ran = 0
    for (_percept, *words), shown in commands(PAGE):
        assert told(CliRunner().invoke(app, words).output) == told(shown), words
        ran += 1
    assert ran == 2
