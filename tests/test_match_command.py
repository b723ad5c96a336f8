"""`percept match` as a user runs it."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from typer.testing import CliRunner, Result

from cep.keyed.event_check import EventCheck
from cep.match_input import open_events
from cep.pattern import Pattern
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
EVENTS: list[dict[str, Any]] = [
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


def run(*arguments: object, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["match", *map(str, arguments)], input=stdin)


def test_matches_of_each_key_are_printed_as_json(pattern: Path, events: Path) -> None:
    result = run(pattern, events, "--key", "user", "--format", "jsonl")
    assert result.exit_code == 0
    (found,) = map(json.loads, result.stdout.splitlines())
    assert found == {
        "kind": "match",
        "key": ["u"],
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
    shown = run(pattern, events, "-k", "user", "-f", "jsonl", "--timeouts", "--until", "60000")
    kinds = [json.loads(line)["kind"] for line in shown.stdout.splitlines()]
    assert kinds == ["match", "timeout"]


def test_standard_input_and_gzip_are_read_too(pattern: Path, events: Path, tmp_path: Path) -> None:
    text = events.read_text()
    assert "1 found" in run(pattern, "-", "-k", "user", stdin=text).stdout
    packed = tmp_path / "events.jsonl.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert "1 found" in run(pattern, packed, "-k", "user").stdout


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow", "jsonl.gz", "csv.gz"])
def test_standard_input_takes_every_format(
    pattern: Path, events: Path, tmp_path: Path, form: str
) -> None:
    names = [(event["user"], event["name"]) for event in EVENTS]
    frame = pl.DataFrame(names, schema=["user", "name"], orient="row").with_row_index("ts")
    file = tmp_path / "table"
    match form.removesuffix(".gz"):
        case "csv":
            frame.write_csv(file)
        case "parquet":
            frame.write_parquet(file)
        case "arrow":
            frame.write_ipc(file)
        case _:
            file.write_bytes(events.read_bytes())
    content = gzip.compress(file.read_bytes()) if form.endswith(".gz") else file.read_bytes()
    assert "1 found" in run(pattern, "-", "-k", "user", stdin=content).stdout
    if not form.endswith(".gz"):  # without a suffix the first bytes of a file tell it, too
        assert "1 found" in run(pattern, file, "-k", "user").stdout


def test_events_of_a_pipe_are_read_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    check = EventCheck(Pattern.begin("a"), (), "ts")
    with os.fdopen(reader) as piped, os.fdopen(writer, "wb", buffering=0) as sent:
        monkeypatch.setattr("sys.stdin", piped)
        sent.write(b'\n{"ts": 1}\n{"ts": 2}\n')
        with open_events(Path("-"), check) as (events, _):
            assert [next(events), next(events)] == [{"ts": 1}, {"ts": 2}]
            sent.write(b'{"ts": 3}')
            sent.close()
            assert list(events) == [{"ts": 3}]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"ts": 1', "line 5, column"),
        ("[1]", "line 5: an event must be a JSON object"),
        ('{"ts": 2}', "event 5 (ts = 2 ms) is older"),
        ('{"no": 2}', "event 5: ts is missing"),
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


def test_windows_that_are_still_open_are_told(pattern: Path, events: Path) -> None:
    told = warnings_of(run(pattern, events, "--key", "user"))
    assert "1 partial match was open after the last event" in told
    assert "--until closes windows" in told
    assert "may bring" not in told
    assert "open" not in warnings_of(run(pattern, events, "--key", "user", "--until", "99999"))


def test_closing_windows_may_bring_an_absence(pattern: Path, events: Path) -> None:
    pattern.write_text("""steps:
    - {name: a, where: name = 'a'}
    - {name: b, contiguity: not_followed_by, where: name = 'c'}
within: 1 hour
""")
    assert "windows, which may bring matches" in warnings_of(run(pattern, events))


# --- whole rules

RULE = f"""\
name: clicks
schema: at BIGINT, user STRING, name STRING
event_time_column: at
---
id: a-then-b
stream: clicks
key_by: [UPPER(user)]
select: {{who: b.user, seen: COUNT(a.*)}}
limits: {{partial_matches_per_key: 2}}
pattern:
{"".join(f"  {line}" for line in PATTERN.splitlines(keepends=True))}
"""
CLICKS = [
    {"at": 0, "user": "u", "name": "a"},
    {"at": 1, "user": "v", "name": "b"},
    {"at": 2, "user": "U", "name": "b"},
]


@pytest.fixture
def clicks(tmp_path: Path) -> Path:
    path = tmp_path / "clicks.jsonl"
    path.write_text("\n".join(map(json.dumps, CLICKS)))
    return path


def test_of_a_whole_rule_key_time_and_output_count(clicks: Path, tmp_path: Path) -> None:
    rule = tmp_path / "rule.yaml"
    rule.write_text(RULE)
    (found,) = map(json.loads, run(rule, clicks, "-f", "jsonl").stdout.splitlines())
    assert (found["key"], found["time_ms"]) == (["U"], 2)
    assert found["output"] == {"who": "U", "seen": 1}
    assert "who = U, seen = 1" in run(rule, clicks).stdout
    assert "0 found" in run(rule, clicks, "--key", "user").stdout


def test_a_rule_is_read_from_json_and_from_standard_input(clicks: Path, tmp_path: Path) -> None:
    documents = [each for each in yaml.safe_load_all(RULE) if each]
    text = json.dumps(documents, indent="\t")
    (tmp_path / "rule.json").write_text(text)
    for source, stdin in ((tmp_path / "rule.json", None), ("-", text), ("-", RULE)):
        assert "1 found" in run(source, clicks, stdin=stdin).stdout
    both = run("-", "-", stdin=RULE)
    assert (both.exit_code, "not both" in both.stderr) == (2, True)


def test_its_stream_may_stand_beside_it(clicks: Path, tmp_path: Path) -> None:
    stream, rule = RULE.split("---\n")
    (tmp_path / "a.yaml").write_text(stream)
    (tmp_path / "rule.yaml").write_text(rule)
    assert "1 found" in run(tmp_path / "rule.yaml", clicks).stdout
    (tmp_path / "a.yaml").unlink()
    assert "ts is missing" in run(tmp_path / "rule.yaml", clicks).stderr
    assert "1 found" in run(tmp_path / "rule.yaml", clicks, "--time", "at").stdout


def test_its_limits_hold(tmp_path: Path) -> None:
    (tmp_path / "rule.yaml").write_text(RULE)
    events = tmp_path / "many.jsonl"
    events.write_text("\n".join(json.dumps(CLICKS[0] | {"at": at}) for at in range(9)))
    result = run(tmp_path / "rule.yaml", events)
    assert result.exit_code == 2
    assert "2" in result.stderr
    assert "partial matches" in result.stderr


def test_of_several_rules_one_is_asked_for(clicks: Path, tmp_path: Path) -> None:
    rule = tmp_path / "rule.yaml"
    rule.write_text(
        RULE + "---\njust text\n---\n" + RULE.split("---\n")[1].replace("a-then-b", "other")
    )
    asked = run(rule, clicks)
    assert (asked.exit_code, "--rule: a-then-b, other" in asked.stderr) == (2, True)
    assert "1 found" in run(rule, clicks, "--rule", "other").stdout


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("key_by: [UPPER(user)]", "rule.yaml:7:1: keyby: unknown key"),
        ("where: name = 'a'", "rule.yaml:13:"),
        ("  within: 10 seconds", "rule.yaml:"),
    ],
)
def test_a_mistake_in_a_rule_has_its_place_in_the_file(
    wrong: str, told: str, clicks: Path, tmp_path: Path
) -> None:
    instead = {"key_by: [UPPER(user)]": "keyby: [user]", "where: name = 'a'": "where: name = "}
    rule = tmp_path / "rule.yaml"
    rule.write_text(RULE.replace(wrong, instead.get(wrong, "  within: soon")))
    result = run(rule, clicks)
    assert result.exit_code == 2
    assert told in result.stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_events_are_read_from_tables_too(clicks: Path, tmp_path: Path, suffix: str) -> None:
    (tmp_path / "rule.yaml").write_text(RULE)
    file = tmp_path / f"clicks.{suffix}"
    frame = pl.read_ndjson(clicks)
    frame.write_csv(file) if suffix == "csv" else frame.write_parquet(file)
    assert "1 found" in run(tmp_path / "rule.yaml", file).stdout
    file.write_bytes(b"at,name\n1,2,3\n")
    assert run(tmp_path / "rule.yaml", file).exit_code == 2


def test_events_do_not_steer_the_terminal(pattern: Path, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    hostile = [{"ts": at, "user": "\x1b[2J[red]", "name": name} for at, name in enumerate("ab")]
    file.write_text("\n".join(map(json.dumps, hostile)))
    result = run(pattern, file, "--key", "user")
    assert "\\x1b[2J[red]" in result.stdout
    assert "\x1b" not in result.stdout


# --- lists

LISTED = PATTERN.replace("name = 'a'", "name = 'a' AND user IN LIST('vip')")
CLAUSE = """\
match_recognize: |
  MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES B.ts AS at PATTERN (A B)
    DEFINE A AS user IN LIST('vip') AND name = 'a', B AS name = 'b')
"""


@pytest.mark.parametrize("rule", [LISTED, CLAUSE])
def test_lists_come_from_files(events: Path, tmp_path: Path, rule: str) -> None:
    path, vip = tmp_path / "listed.yaml", tmp_path / "vip.csv"
    path.write_text(rule)
    for text, count in (("u\n\nw\n", 1), ("v\n", 0), ("", 0)):
        vip.write_text(text)
        result = run(path, events, "-k", "user", "--list", f"vip={vip}", "-f", "jsonl")
        assert result.exit_code == 0, result.stderr
        assert len(result.stdout.splitlines()) == count


def test_a_list_that_is_not_given_is_told_with_how_to_give_it(events: Path, tmp_path: Path) -> None:
    path = tmp_path / "listed.yaml"
    path.write_text(LISTED.replace("name = 'b'", "user NOT IN LIST('late')"))
    result = run(path, events, "-k", "user", "--list", f"vip={events}")
    assert result.exit_code == 2
    result = run(path, events, "-k", "user")
    assert result.exit_code == 2
    assert "the values of the lists late, vip are not known here" in result.stderr
    assert "--list late=late.csv --list vip=vip.csv" in result.stderr
    assert "Traceback" not in result.stderr


DOTTED = [
    {"ts": at, "source.ip": ip, "name": name}
    for at, ip, name in ((1, "u", "a"), (2, "v", "b"), (3, "u", "b"))
]


@pytest.mark.parametrize("key", ["source.ip", "`source.ip`"])
def test_a_field_with_a_dot_in_its_name_is_a_key(pattern: Path, tmp_path: Path, key: str) -> None:
    events = tmp_path / "dotted.jsonl"
    events.write_text("\n".join(map(json.dumps, DOTTED)))
    result = run(pattern, events, "--key", key, "-f", "jsonl")
    (found,) = map(json.loads, result.stdout.splitlines())
    assert (found["key"], found["at"], result.stderr) == (["u"], 2, "")
    why = CliRunner().invoke(app, ["why", str(pattern), str(events), "--key", key, "--json"])
    assert (json.loads(why.stdout)["match_count"], why.stderr) == (1, "")


CLAUSE = """
id: a-then-b
stream: clicks
pattern:
  match_recognize: >-
    MATCH_RECOGNIZE (PARTITION BY user ORDER BY at MEASURES COUNT(*) AS n, LAST(b.at) AS last
    AFTER MATCH SKIP PAST LAST ROW PATTERN (a x? b)
    DEFINE a AS name = 'a', b AS name = 'b')
"""


def test_a_clause_has_the_key_and_the_measures_of_a_job(tmp_path: Path) -> None:
    (tmp_path / "rule.yaml").write_text(RULE.split("---\n", maxsplit=1)[0] + "---" + CLAUSE)
    events = tmp_path / "events.jsonl"
    rows = ((1, "u", "a"), (2, "u", "c"), (3, "u", "b"))
    lines = (json.dumps({"at": at, "user": user, "name": act}) for at, user, act in rows)
    events.write_text("\n".join(lines))
    (found,) = map(
        json.loads, run(tmp_path / "rule.yaml", events, "-f", "jsonl").stdout.splitlines()
    )
    assert (found["key"], found["output"]) == (["u"], {"user": "u", "n": 3, "last": 3})
    assert "user = u, n = 3, last = 3" in run(tmp_path / "rule.yaml", events).stdout


def test_a_rule_that_does_not_fit_its_stream_is_refused(clicks: Path, tmp_path: Path) -> None:
    rule = tmp_path / "rule.yaml"
    rule.write_text(RULE.replace("name = 'a'", "name > 3"))
    result = run(rule, clicks)
    assert result.exit_code == 2
    assert f"{rule}:" in result.stderr
    assert "pattern.steps[0].where" in result.stderr
