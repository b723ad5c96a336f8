"""The output of commands as other programs take it: pipes that close, other encodings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CLAUSE = "MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B) DEFINE A AS user = 'Jürgen', B AS n > 1)"
QUERY = "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.user AS u PATTERN (A) DEFINE A AS user = 'ü')"
RULE = "steps: [{name: a, where: \"user = 'ü'\"}]"
COMMANDS = {
    "explain": ("explain", CLAUSE),
    "match": ("match", "rule.yaml", "events.jsonl"),
    "sql": ("sql", QUERY, "--events", "events.jsonl"),
    "signing-key": ("signing-key", "key-1"),
    "help": ("--help",),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rule.yaml").write_text(RULE, encoding="utf-8")
    event = '{"ts": 1, "user": "ü"}\n'
    (tmp_path / "events.jsonl").write_text(event * 2_000, encoding="utf-8")
    return tmp_path


def started(folder: Path, words: tuple[str, ...], **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "percept", *words],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_nobody_reads_any_more_ends_in_silence(folder: Path, name: str) -> None:
    with started(folder, COMMANDS[name]) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.close()
        assert command.stderr.read() == b""
        assert command.wait() == 0


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_an_encoding_lacks_is_escaped(folder: Path, encoding: str) -> None:
    for words in (("explain", CLAUSE.replace("Jürgen", "Ж")), COMMANDS["match"]):
        with started(folder, words, PYTHONIOENCODING=encoding) as command:
            output, error = command.communicate()
            assert (command.returncode, error) == (0, b"")
            assert output
