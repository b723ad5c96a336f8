"""The output of commands as other programs take it: pipes that close, other encodings."""

import json
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
    "sql": ("sql", QUERY, "events.jsonl"),
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
            assert (command.returncode, b"Traceback" in error) == (0, False), error
            assert output


def printed(folder: Path, *words: str) -> tuple[int, str, str]:
    with started(folder, words) as command:
        output, error = command.communicate()
        return command.returncode, output.decode(), error.decode()


@pytest.mark.long
@pytest.mark.parametrize(
    ("value", "name"), [("NaN", "NaN"), ("1e999", "Infinity"), ("-1e999", "-Infinity")]
)
def test_numbers_that_json_lacks_are_texts_as_in_outputs_of_jobs(
    folder: Path, value: str, name: str
) -> None:
    (folder / "one.jsonl").write_text(f'{{"ts": 1, "user": "ü", "x": {value}}}', encoding="utf-8")
    code, output, _ = printed(folder, "match", "rule.yaml", "one.jsonl", "--format", "jsonl")
    assert code == 0
    row = json.loads(output, parse_constant=pytest.fail)
    assert row["steps"]["a"][0]["x"] == name
    words = ("sql", QUERY.replace("A.user", "A.x"), "one.jsonl", "--format", "jsonl")
    code, output, error = printed(folder, *words)
    assert (code, json.loads(output, parse_constant=pytest.fail)) == (0, {"u": name}), error


@pytest.mark.long
@pytest.mark.parametrize("value", ["9" * 5_000, "[" * 100_000])
def test_events_that_cannot_be_read_are_told_with_their_line(folder: Path, value: str) -> None:
    (folder / "one.jsonl").write_text(f'\n{{"ts": 1, "x": {value}}}', encoding="utf-8")
    for words in (("match", "rule.yaml", "one.jsonl"), ("sql", QUERY, "one.jsonl")):
        code, _, error = printed(folder, *words)
        assert code in {1, 2}
        assert "Traceback" not in error
        assert "line 2" in error


@pytest.mark.long
def test_half_of_a_surrogate_pair_is_told_or_escaped(folder: Path) -> None:
    line = '{"ts": 1, "user": "ü", "x": "\\ud800"}'
    (folder / "one.jsonl").write_text(line, encoding="utf-8")
    code, output, error = printed(folder, "match", "rule.yaml", "one.jsonl", "--format", "jsonl")
    assert (code, error) == (0, "")
    assert "ud800" in output
    code, _, error = printed(folder, "sql", QUERY, "one.jsonl")
    assert code in {1, 2}
    assert "half of a surrogate pair" in error
