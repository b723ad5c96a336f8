"""Commands that are given files which cannot be read say which, why, and what to do."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from percept.command_line import app

ABSENT = "No such file or directory. Correct the path"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "events.jsonl").write_text('{"ts": 1}\n')
    (tmp_path / "rule.yaml").write_text("{steps: [{name: a, where: ts > 0}]}")
    (tmp_path / "latin.yaml").write_bytes(b"steps: [{name: \xe9}]")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("match none.yaml events.jsonl", f"none.yaml: {ABSENT}"),
        ("match rule.yaml none.jsonl", f"none.jsonl: cannot read: {ABSENT}"),
        ("match folder events.jsonl", "folder: Is a directory. Name a file in it"),
        ("match latin.yaml events.jsonl", "latin.yaml: byte 16 (0xe9) is no UTF-8. Save it as"),
        ("sql none.sql events.jsonl", f"none.sql: {ABSENT}"),
        ("explain none.yaml", f"none.yaml: {ABSENT}"),
        ("why none.yaml events.jsonl", f"none.yaml: {ABSENT}"),
        ("why rule.yaml none.jsonl", f"none.jsonl: cannot read: {ABSENT}"),
        ("test latin.yaml", "byte 16 (0xe9) is no UTF-8"),
        ("job check none.yaml", f"none.yaml: job file: cannot be read: {ABSENT}"),
        (
            "work --url http://127.0.0.1:9 --token-file none --archive logins=folder",
            f"token_file: none cannot be read: {ABSENT}",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_the_remedy(arguments: str, told: str) -> None:
    result = CliRunner().invoke(app, arguments.split())
    said = " ".join((result.stdout + result.stderr).split())
    assert result.exit_code != 0
    assert told in said
    assert "Errno" not in said
