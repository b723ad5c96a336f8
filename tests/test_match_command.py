"""`percept match` as a user runs it."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from percept.command_line import app

PATTERN = """\
steps:
  - name: a
    where: name = 'a'
  - name: b
    contiguity: followed_by
    where: name = 'b'
within: 10 seconds
"""
EVENTS = [
    {"ts": 0, "user": "u", "name": "a"},
    {"ts": "1970-01-01T00:00:01Z", "user": "v", "name": "b"},
    {"ts": 2000, "user": "u", "name": "b"},
    {"ts": 3000, "user": "v", "name": "a"},
]


@pytest.fixture
def pattern(tmp_path: Path) -> Path:
    path = tmp_path / "rule.yaml"
    path.write_text(PATTERN)
    return path


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(json.dumps(event) for event in EVENTS) + "\n\n")
    return path


def run(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["match", *map(str, arguments)], input=stdin)


def test_matches_of_each_key_are_printed_as_json(pattern: Path, events: Path) -> None:
    result = run(pattern, events, "--key", "user", "--format", "json")
    assert result.exit_code == 0
    (found,) = map(json.loads, result.stdout.splitlines())
    assert found == {
        "kind": "match",
        "key": "u",
        "time_ms": 2000,
        "at": 2,
        "steps": {"a": [EVENTS[0]], "b": [EVENTS[2]]},
    }


def test_the_table_says_when_for_whom_and_what(pattern: Path, events: Path) -> None:
    result = run(pattern, events, "-k", "user", "-k", "name")
    assert "0 found" in result.stdout
    result = run(pattern, events, "-k", "user")
    assert "1970-01-01 00:00:02.000" in result.stdout
    assert "1 found" in result.stdout


def test_timeouts_are_shown_on_request(pattern: Path, events: Path) -> None:
    shown = run(pattern, events, "-k", "user", "-f", "json", "--timeouts", "--until", "60000")
    kinds = [json.loads(line)["kind"] for line in shown.stdout.splitlines()]
    assert kinds == ["match", "timeout"]


def test_standard_input_and_gzip_are_read_too(pattern: Path, events: Path, tmp_path: Path) -> None:
    text = events.read_text()
    assert "1 found" in run(pattern, "-", "-k", "user", stdin=text).stdout
    packed = tmp_path / "events.jsonl.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert "1 found" in run(pattern, packed, "-k", "user").stdout


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"ts": 1', "line 5, column"),
        ("[1]", "line 5: an event must be a JSON object"),
        ('{"ts": 2}', "event 4 (ts = 2 ms) is older"),
        ('{"no": 2}', "event 4: ts is missing"),
    ],
)
def test_bad_events_are_named_with_their_place(
    pattern: Path, events: Path, line: str, message: str
) -> None:
    events.write_text(events.read_text().rstrip() + "\n" + line + "\n")
    result = run(pattern, events)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_bad_pattern_is_named_with_its_place(pattern: Path, events: Path) -> None:
    pattern.write_text(PATTERN.replace("name = 'b'", "name = "))
    result = run(pattern, events)
    assert result.exit_code == 2
    assert "steps[1].where" in result.stderr
    assert "line 6" in result.stderr


def test_missing_files_are_named(pattern: Path, events: Path, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere"
    for arguments in ((missing, events), (pattern, missing)):
        result = run(*arguments)
        assert result.exit_code == 2
        assert "nowhere" in result.stderr


def test_a_bad_time_option_is_refused(pattern: Path, events: Path) -> None:
    result = run(pattern, events, "--until", "tomorrow")
    assert result.exit_code == 2
    assert "--until" in result.stderr


def test_help_and_version_are_there() -> None:
    assert "match" in CliRunner().invoke(app, ["--help"]).stdout
    assert CliRunner().invoke(app, ["--version"]).stdout.startswith("percept ")


def warnings_of(result: Result) -> str:
    assert result.exit_code == 0
    return result.stderr.replace("\n", " ")


def test_a_field_that_no_event_has_is_told_with_the_nearest_one(
    events: Path, tmp_path: Path
) -> None:
    rule = tmp_path / "slip.yaml"
    rule.write_text("steps:\n  - {name: a, where: \"nmae = 'a' AND ts >= 0\"}\n")
    told = warnings_of(run(rule, events))
    assert "no event has the field nmae, which the condition of a reads" in told
    assert "did you mean name?" in told
    assert "ts" not in told


def test_fields_of_earlier_steps_and_in_aggregates_are_looked_at_too(
    events: Path, tmp_path: Path
) -> None:
    rule = tmp_path / "slip.yaml"
    rule.write_text(
        "steps:\n  - {name: a, where: \"name = 'a'\"}\n"
        "  - {name: b, contiguity: followed_by, where: 'ts > a.tz OR SUM(a.amount) > 1'}\n"
    )
    told = warnings_of(run(rule, events))
    assert "the field tz, which the condition of b reads" in told
    assert "the field amount, " in told
    assert "field a," not in told


def test_a_key_that_no_event_has_is_told(pattern: Path, events: Path) -> None:
    told = warnings_of(run(pattern, events, "--key", "usr", "--until", "99999"))
    assert "the field usr, which is of the key, so all events have the same one" in told
    assert "did you mean user?" in told
    assert "of the key" not in warnings_of(run(pattern, events, "--key", "user"))


def test_seconds_that_are_read_as_milliseconds_are_told(pattern: Path, tmp_path: Path) -> None:
    events = tmp_path / "seconds.jsonl"
    for time, is_told in ((1_700_000_000, True), (1_700_000_000_000, False), (60_000, False)):
        events.write_text(json.dumps({"ts": time, "name": "x"}))
        assert ("look like seconds" in warnings_of(run(pattern, events))) is is_told


def test_windows_that_are_still_open_are_told(pattern: Path, events: Path) -> None:
    told = warnings_of(run(pattern, events, "--key", "user"))
    assert "1 partial match was open after the last event" in told
    assert "--until" in told
    assert "open" not in warnings_of(run(pattern, events, "--key", "user", "--until", "99999"))


def test_of_no_events_nothing_is_told(pattern: Path, tmp_path: Path) -> None:
    events = tmp_path / "empty.jsonl"
    events.write_text("")
    assert not warnings_of(run(pattern, events, "--key", "usr"))
