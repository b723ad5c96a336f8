"""`percept backtest`: what it tells of real events, and of files that are not as they should be."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from cep.events.table import read_events
from percept.command_line import app
from tests.docs.fences import ROOT

DAY_MS = 86_400_000
EVENTS = ROOT / "examples" / "ssh_auth" / "events.jsonl.gz"
STREAM = "name: logins\nschema: user STRING, action STRING, ts BIGINT\nevent_time_column: ts\n"
RULE = """\
id: failed-logins
stream: logins
key_by: [user]
pattern:
  steps:
  - {name: fail, where: action = 'fail', times: 2}
  - {name: login, contiguity: followed_by, where: action = 'login'}
  within_ms: 1000
"""


EVENTS_READ = ["-e", "events.jsonl"]
USUAL = ["rule.yaml", *EVENTS_READ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a stream, a rule, and events: eve is found, bob is not."""
    (tmp_path / "stream.yaml").write_text(STREAM, encoding="utf-8")
    (tmp_path / "rule.yaml").write_text(RULE, encoding="utf-8")
    wide = RULE.replace("times: 2", "times: 1")
    (tmp_path / "wide.yaml").write_text(wide, encoding="utf-8")
    write(
        tmp_path / "events.jsonl",
        *((ts, "eve", action) for ts, action in ((1, "fail"), (2, "fail"), (3, "login"))),
        *((ts, "bob", action) for ts, action in ((4, "fail"), (5, "login"), (6, "fail"))),
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, *events: tuple[int, str, str]) -> None:
    lines = (json.dumps({"ts": ts, "user": user, "action": act}) for ts, user, act in events)
    path.write_text("\n".join(lines), encoding="utf-8")


def run(*words: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["backtest", *words], input=stdin)


def found(*words: str, stdin: bytes | None = None) -> dict[str, Any]:
    result = run(*words, "--json", stdin=stdin)
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def only(*words: str, stdin: bytes | None = None) -> dict[str, Any]:
    (rule,) = found(*words, stdin=stdin)["rules"]
    return dict(rule)


def rule_of(name: str, **changes: Any) -> str:
    pattern = (ROOT / "examples" / "ssh_auth" / f"{name}.yaml").read_text(encoding="utf-8")
    indented = "\n".join(f"  {line}" for line in pattern.splitlines())
    rest = "".join(f"{key}: {json.dumps(value)}\n" for key, value in changes.items())
    return f"id: {name.replace('_', '-')}\nstream: ssh\n{rest}pattern:\n{indented}\n"


@pytest.mark.long
def test_real_attacks_are_counted_as_the_example_says(tmp_path: Path) -> None:
    rules = {
        "password_guessed": (["src_ip"], 2),
        "user_enumeration": (["src_ip"], 43),
        "new_account_used": (["user"], 1),
        "session_left_open": (["host", "pid"], 15),
    }
    for name, (key_by, _) in rules.items():
        text = rule_of(name, key_by=key_by)
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    told = found(str(tmp_path), "--events", str(EVENTS))
    assert told["events"] == 17_687
    counts = {rule["rule"].replace("-", "_"): rule["matches"] for rule in told["rules"]}
    assert counts == {name: count for name, (_, count) in rules.items()}
    undecided = {rule["rule"]: rule["undecided_at_the_end"] for rule in told["rules"]}
    assert undecided["session-left-open"] == 1  # a later event could have closed it
    for rule in told["rules"]:
        assert sum(rule["by_hour"].values()) == rule["matches"]
        assert rule["samples"][0]["end"][:13] in {hour[:13] for hour in rule["by_hour"]}
    left = found(str(tmp_path), "--events", str(EVENTS), "--leave-windows-open")
    assert {rule["rule"]: rule["matches"] for rule in left["rules"]}["session-left-open"] == 15


def test_the_same_is_found_in_every_format_and_in_parts(folder: Path) -> None:
    table = read_events((folder / "events.jsonl").read_bytes(), "events.jsonl")
    frame = pl.DataFrame(table.rows, schema=table.schema.to_polars(), orient="row")
    frame.write_csv(folder / "events.csv")
    frame.write_parquet(folder / "events.parquet")
    frame.write_ipc(folder / "events.arrow")
    frame[:2].write_parquet(folder / "first.parquet")
    frame[2:].write_csv(folder / "second.csv")
    first = only("rule.yaml", "-e", "events.jsonl")
    assert (first["rule"], first["matches"]) == ("failed-logins", 1)
    for name in ("events.jsonl", "events.csv", "events.parquet", "events.arrow"):
        assert only("rule.yaml", "-e", name) == first
        assert only("rule.yaml", "-e", "-", stdin=(folder / name).read_bytes()) == first
    assert only("rule.yaml", "-e", "second.csv", "-e", "first.parquet") == first


def test_standard_input_is_read_once_for_columns_and_events(folder: Path) -> None:
    (folder / "stream.yaml").unlink()
    events = (folder / "events.jsonl").read_bytes()
    words = ("rule.yaml", "-e", "-", "--label-column", "action")
    assert only(*words, stdin=events)["matches"] == 1
    assert only("-", "-e", "events.jsonl", stdin=RULE.encode())["matches"] == 1
    for twice in ("- -e -", "rule.yaml -e - -e -"):
        result = run(*twice.split())
        assert (result.exit_code, "can be read only once" in result.stderr) == (2, True)
    bad = run("rule.yaml", "-e", "-", stdin=b'{"ts": 1')
    assert "standard input: line 1" in bad.stderr


def test_seconds_that_are_read_as_milliseconds_are_told(folder: Path) -> None:
    for times, is_told in (([1_700_000_000, 1_700_000_060], True), ([1, 1_700_000_000], False)):
        write(folder / "events.jsonl", *((ts, "eve", "fail") for ts in times))
        result = run("rule.yaml", "-e", "events.jsonl")
        assert result.exit_code == 0
        assert ("warning: ts reads as a day of early 1970" in result.stderr) is is_told


def test_a_span_of_time_is_taken(folder: Path) -> None:
    path = str(folder / "events.jsonl")
    assert found("rule.yaml", "-e", path, "--from", "1970-01-01T00:00:00.002Z")["events"] == 5
    told = found("rule.yaml", "-e", path, "--to", "1970-01-01T00:00:00.003Z")
    assert (told["events"], told["rules"][0]["matches"]) == (2, 0)
    assert told["last_event"] == "1970-01-01T00:00:00.002Z"


@pytest.mark.usefixtures("folder")
def test_another_version_is_compared() -> None:
    rule = only("wide.yaml", "-e", "events.jsonl", "--against", "rule.yaml")
    against = rule["against"]
    # The second failure alone is a match of the wider rule, and so is the first.
    assert (rule["matches"], against["both"], against["gained"], against["lost"]) == (3, 0, 3, 1)
    assert against["first_lost"] == [{"key": "eve", "end": "1970-01-01T00:00:00.003Z"}]
    same = only("rule.yaml", "-e", "events.jsonl", "--against", "rule.yaml")
    assert [same["against"][name] for name in ("both", "gained", "lost")] == [1, 0, 0]


def test_matches_beyond_those_told_apart_are_not_compared(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = ((1, "fail"), (2, "fail"), (3, "login"))
    write(
        folder / "events.jsonl",
        *((2_000 * place + ts, "eve", action) for place in range(5) for ts, action in times),
    )
    words = ("rule.yaml", "-e", "events.jsonl", "--against", "wide.yaml")
    whole = only(*words)["against"]
    assert (whole["both"], whole["gained"], whole["lost"]) == (0, 5, 10)
    assert (whole["is_complete"], whole["before"]) == (True, None)
    monkeypatch.setattr("processor_runtime.backtest.findings._MOST_NAMED", 4)
    cut = only(*words)["against"]
    # The other version finds two a time, so that the first two times are whole.
    assert (cut["both"], cut["gained"], cut["lost"]) == (0, 2, 4)
    assert (cut["is_complete"], cut["before"]) == (False, "1970-01-01T00:00:04.003Z")
    assert "2 gained, 4 lost, of the matches before 1970-01-01T00:00:04.003Z" in run(*words).stdout


def test_matches_are_scored_by_labels_of_keys_of_matches_and_of_events(folder: Path) -> None:
    (folder / "keys.csv").write_text("key,label\neve,true\nbob,false\nann,yes\n", encoding="utf-8")
    rule = only("wide.yaml", "-e", "events.jsonl", "--labels", "keys.csv")
    scores = rule["labels"]
    assert (scores["true_positives"], scores["false_positives"]) == (2, 1)
    assert (scores["precision"], scores["recall"]) == (2 / 3, 1 / 2)
    ids = [sample["match_id"] for sample in rule["samples"]]
    (folder / "ids.csv").write_text(
        f"match_id,label\n{ids[0]},resolved\n{ids[1]},false_positive\n{ids[2]},\n", encoding="utf-8"
    )
    scores = only("wide.yaml", "-e", "events.jsonl", "--labels", "ids.csv")["labels"]
    assert (scores["true_positives"], scores["false_positives"], scores["unlabelled"]) == (1, 1, 1)
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    for event in events:
        event["bad"] = event["user"] == "eve"
    lines = "\n".join(map(json.dumps, events))
    (folder / "labelled.jsonl").write_text(lines, encoding="utf-8")
    scores = only("rule.yaml", "-e", "labelled.jsonl", "--label-column", "bad")["labels"]
    assert (scores["true_positives"], scores["precision"], scores["recall"]) == (1, 1.0, 1.0)


def test_labels_of_the_service_are_those_of_every_version(folder: Path) -> None:
    times = [f"1970-01-02T00:00:00.00{ms}Z" for ms in range(10)]
    write(
        folder / "events.jsonl",
        *((DAY_MS + ts, user, "fail") for ts, user in ((1, "eve"), (2, "eve"), (4, "bob"))),
        *((DAY_MS + ts, user, "login") for ts, user in ((3, "eve"), (5, "bob"))),
    )
    columns = "match_id,rule,version,kind,key,start,end,label,labelled_at"
    lines = (
        f'of-version-7,failed-logins,7,match,"[""eve""]",{times[2]},{times[3]},resolved,',
        f'timed-out,failed-logins,7,timeout,"[""bob""]",{times[4]},{times[5]},resolved,',
        f'noise,failed-logins,7,match,"[""bob""]",{times[4]},{times[5]},false_positive,',
        f'of-another,other,7,match,"[""eve""]",{times[1]},{times[3]},resolved,',
        f'missed,failed-logins,6,match,"[""ann""]",{times[1]},{times[3]},resolved,',
    )
    (folder / "labels.csv").write_text("\n".join((columns, *lines)), encoding="utf-8")
    words = ("wide.yaml", "-e", "events.jsonl", "--labels", "labels.csv")
    scores = only(*words)["labels"]
    counts = [scores[name] for name in ("true_positives", "false_positives", "unlabelled")]
    assert (counts, scores["recall"]) == ([1, 1, 1], 1 / 2)
    # What lies outside of the events cannot be found in them.
    for part, outcome in ((("--from", times[2]), (1, 1.0)), (("--to", times[3]), (0, None))):
        scores = only(*words, *part)["labels"]
        assert (scores["bad_keys"], scores["recall"]) == outcome
    (folder / "labels.csv").write_text(
        f"{columns}\nsome,failed-logins,7,match,eve,{times[1]},noon,resolved,", encoding="utf-8"
    )
    refused = run(*words)
    assert refused.exit_code == 2
    assert "labels.csv: label 1: key, start and end" in refused.stderr


@pytest.mark.parametrize(("kind", "key"), [("TIMESTAMP", 1_000), ("DATE", "2026-11-23")])
def test_keys_of_every_type_are_compared_with_labels(folder: Path, kind: str, key: object) -> None:
    (folder / "stream.yaml").write_text(STREAM.replace("user STRING", f"user {kind}"), "utf-8")
    events = [
        {"ts": ts, "user": key, "action": action, "bad": True}
        for ts, action in ((1, "fail"), (2, "login"))
    ]
    (folder / "events.jsonl").write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    scores = only("wide.yaml", "-e", "events.jsonl", "--label-column", "bad")["labels"]
    assert (scores["true_positives"], scores["precision"], scores["recall"]) == (1, 1.0, 1.0)


def test_times_beyond_the_year_9999_are_refused(folder: Path) -> None:
    begin = 1_790_000_000_000_000  # microseconds
    times = enumerate(("fail", "fail", "login"), begin)
    write(folder / "events.jsonl", *((ts, "eve", action) for ts, action in times))
    result = run("rule.yaml", "-e", "events.jsonl")
    assert (result.exit_code, "milliseconds since 1970" in result.stderr) == (2, True)


@pytest.mark.usefixtures("folder")
def test_one_rule_that_cannot_run_keeps_no_other_from_it() -> None:
    Path("bad.yaml").write_text(
        RULE.replace("failed-logins", "bad").replace("action = 'fail'", "amount > 1"),
        encoding="utf-8",
    )
    result = run("rule.yaml", "bad.yaml", "-e", "events.jsonl")
    assert result.exit_code == 1
    assert "amount" in result.stderr
    assert "1 on 1 key" in result.stdout


@pytest.mark.usefixtures("folder")
def test_a_rule_that_fails_says_so() -> None:
    limited = RULE + "limits: {partial_matches_per_key: 1}\n"
    Path("rule.yaml").write_text(limited, encoding="utf-8")
    result = run("rule.yaml", "-e", "events.jsonl")
    assert result.exit_code == 1
    assert "failed" in result.stdout


LABELS, LIST = ["--labels", "x.csv"], "--list"


@pytest.mark.parametrize(
    ("words", "content", "told"),
    [
        (["rule.yaml", "-e", "none.jsonl"], "", "cannot read none.jsonl"),
        (["none.yaml", *EVENTS_READ], "", "no such file"),
        (["stream.yaml", *EVENTS_READ], "", "no rule to run"),
        (["rule.yaml", "-e", "rule.yaml"], "", "rule.yaml"),
        ([*USUAL, "--from", "yesterday"], "", "yesterday"),
        ([*USUAL, "--labels", "events.jsonl"], "", "line 1"),
        ([*USUAL, "--label-column", "bad"], "", "no column bad"),
        ([*USUAL, "--label-column", "a", "--labels", "b"], "", "not both"),
        ([*USUAL, *LABELS], "key,label\neve,perhaps\n", "label 1: the label 'perhaps' is neither"),
        ([*USUAL, *LABELS], "key,label,key\neve,true,bob\n", "line 1: 2 columns are called key"),
        ([*USUAL, LIST, "vip"], "", "write NAME=FILE"),
        ([*USUAL, LIST, "vip:DOUBLE=x.csv"], "1", "one of STRING, BIGINT, DATE"),
        ([*USUAL, LIST, "vip:BIGINT=x.csv"], "1\n\ntwo", "x.csv, line 3: 'two' is no BIGINT"),
        ([*USUAL, LIST, "vip=x.csv"], "a,b", "x.csv, line 1: 2 columns; a list has one"),
        ([*USUAL, LIST, "vip=y.csv"], "", "No such file"),
    ],
)
def test_what_cannot_be_run_is_told(
    folder: Path, words: list[str], content: str, told: str
) -> None:
    (folder / "x.csv").write_text(content, encoding="utf-8")
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert told in result.stderr


def test_keys_cannot_write_to_the_terminal(folder: Path) -> None:
    hostile = "\x1b[31meve\x07"
    times = enumerate(("fail", "fail", "login"))
    write(folder / "events.jsonl", *((ts, hostile, action) for ts, action in times))
    output = run("rule.yaml", "-e", "events.jsonl").stdout
    assert "1 on 1 key" in output
    assert "\x1b" not in output
    assert "\x07" not in output


@pytest.mark.parametrize(("last_ms", "counted"), [(1_005, (1, 1)), (1_003, (0, 2))])
def test_an_absence_that_the_end_of_the_events_cannot_show_is_counted_apart(
    folder: Path, last_ms: int, counted: tuple[int, int]
) -> None:
    rule = RULE.replace("times: 2", "times: 1").replace("followed_by", "not_followed_by")
    (folder / "absence.yaml").write_text(rule, encoding="utf-8")
    write(folder / "events.jsonl", (4, "bob", "fail"), (900, "eve", "fail"), (last_ms, "al", "no"))
    told = found("absence.yaml", "-e", "events.jsonl")["rules"][0]
    assert (told["matches"], told["undecided_at_the_end"]) == counted
    assert sum(told["by_hour"].values()) == counted[0]
    text = run("absence.yaml", "-e", "events.jsonl").stdout
    assert f"undecided        {counted[1]} absence" in text


def test_without_events_nothing_is_found(folder: Path) -> None:
    (folder / "none.csv").write_text("user,action,ts\n", encoding="utf-8")
    told = found("rule.yaml", "-e", "none.csv")
    assert (told["events"], told["first_event"], told["rules"][0]["matches"]) == (0, None, 0)


def test_lists_that_rules_name_are_read_from_files(folder: Path) -> None:
    rule = RULE.replace("action = 'fail', times: 2", "action = 'fail' AND user IN LIST('vip')")
    (folder / "rule.yaml").write_text(rule, encoding="utf-8")
    (folder / "bob.csv").write_text('bob\n\n"x,y"\n', encoding="utf-8")
    words = ["rule.yaml", "-e", "events.jsonl", "--list", "vip=bob.csv"]
    assert only(*words)["top_keys"] == {"bob": 1}
    refused = run("rule.yaml", "-e", "events.jsonl")
    assert refused.exit_code == 2
    assert "there is no list 'vip'" in refused.stderr
