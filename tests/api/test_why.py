"""`percept why`: what is told of a rule that finds nothing is true, and bounded."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from cep.events.order import EventTime
from cep.signing.code import CodeUse, sign
from cep.trials.events import TimedEvent
from cep.trials.near_misses import Wanted, why_no_match
from cep.trials.rule import WrittenRule, read_rule
from cep.trials.unmet import step_conditions
from percept import Pattern, find_matches
from percept.command_line import app
from tests.api.commands import STEERING, ended, write
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.test_rule_tests import KEY
from tests.api.test_trial_limits import SLOW, SLOW_EVENTS
from tests.docs.fences import ROOT

SECOND = 1_000
MINUTE = 60 * SECOND


def event(at_ms: int, action: str, user: str = "eve", **more: Any) -> dict[str, Any]:
    return {"ts": at_ms, "user": user, "action": action, **more}


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    """The file of a rule, beside that of its stream."""
    write(tmp_path / "rules" / "stream.yaml", STREAM)
    return write(tmp_path / "rules" / "rule.yaml", processor_document())


def why(
    rule: Path, *words: object, events: list[dict[str, Any]] | str | None = None, code: int = 0
) -> Result:
    """Run the command about a rule, with these events on standard input."""
    if events is None:
        return ended(code, "why", rule, *words)
    text = events if isinstance(events, str) else "\n".join(map(json.dumps, events))
    return ended(code, "why", rule, "-", *words, given=text)


def report(pattern: dict[str, Any], events: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    rule = {"key_by": ["user"], "pattern": pattern}
    asked = {"keys": 9, "partial_matches": 9, "only": None, "until_ms": None} | wanted
    written = WrittenRule(rule, STREAM["schema"], EventTime("ts"))
    told: dict[str, Any] = why_no_match(read_rule(written), events, Wanted(**asked)).model_dump(
        mode="json"
    )
    return told


def first(told: dict[str, Any]) -> dict[str, Any]:
    partial: dict[str, Any] = told["keys"][0]["partial_matches"][0]
    return partial


# --- what it says


def test_an_event_that_came_too_late_is_named_and_windows_that_are_open(rule: Path) -> None:
    events = [event(at * SECOND, "fail") for at in range(3)] + [event(11 * MINUTE, "login")]
    late = why(rule, events=events).stdout
    assert "failed-logins: no match in 4 events of 1 key" in late
    assert "it waited for login (action = 'login'), until its window closed at 1970" in late
    assert "too late for login: event 4" in late
    told = "partial matches were open after the last event; --until closes windows"
    assert told in why(rule, events=events[:1]).stderr
    assert why(rule, "--until", 60 * MINUTE, events=events[:1]).stderr == ""


def test_what_the_nearest_event_did_not_meet_is_told_with_its_values() -> None:
    above = "action = 'bid' AND amount > 2 * AVG(bid.amount) AND user <> 'bob'"
    steps = [
        {"name": "bid", "where": "action = 'bid'", "times": 2},
        {"name": "high", "contiguity": "followed_by", "where": above},
    ]
    events = [event(at, "bid", amount=amount) for at, amount in enumerate([10.0, 20.0, 25.0, 29.0])]
    partial = first(report({"steps": steps}, [*events, event(9, "view", amount=99.0)]))
    assert (partial["steps"], partial["outcome"]) == ({"bid": [0, 1]}, "open")
    (nearest,) = partial["nearest"]
    assert (nearest["step"], nearest["position"], nearest["is_too_late"]) == ("high", 2, False)
    values = {"amount": 25.0, "AVG(bid.amount)": 15.0}
    assert nearest["unmet"] == [{"text": "amount > 2 * AVG(bid.amount)", "values": values}]


def test_an_event_that_is_forbidden_or_stood_in_between_is_named(rule: Path) -> None:
    forbidden = [
        {"name": "fail", "where": "action = 'fail'"},
        {"name": "reset", "contiguity": "not_followed_by", "where": "action = 'reset'"},
        {"name": "login", "contiguity": "followed_by", "where": "action = 'login'"},
    ]
    where = "action = 'login' AND amount IS NOT NULL"
    between = [forbidden[0], {"name": "b", "contiguity": "next", "where": where}]
    for steps, actions, told in (
        (forbidden, ["fail", "reset", "login"], ["event 2 fits reset, which must not come"]),
        (
            between,
            ["fail", "login", "login"],
            [
                "event 2 came instead, and nothing may stand there",
                "not so: amount IS NOT NULL, with amount = NULL",
            ],
        ),
    ):
        write(rule, processor_document(pattern={"steps": steps, "within": "1 hour"}))
        events = [event(at, action) for at, action in enumerate(actions)]
        output = why(rule, events=events).stdout
        assert [each for each in told if each not in output] == []


def test_a_rule_that_never_began_has_the_nearest_event_also_of_one_key(rule: Path) -> None:
    told = why(rule, events=[event(1, "view"), event(2, "login", "bob")]).stdout
    assert "nothing began: no event fits fail; the nearest:" in told
    assert "not so: action = 'fail', with action = \"view\"" in told
    assert re.search(r"^ +0  fail where action = 'fail'$", told, re.MULTILINE)
    events = [event(1, "fail"), event(2, "fail", "bob")]
    told = why(rule, "--only", "bob", events=events).stdout
    assert "key bob: 1 event, no match" in told
    assert "key eve" not in told
    nobody = why(rule, "--only", "nobody", events=events, code=2)
    assert "No event has the key nobody" in nobody.stderr
    assert "no match in 0 events of 0 keys" in why(rule, events="").stdout


def test_the_key_that_came_farthest_is_first_and_those_with_a_match_last() -> None:
    fails = {"far": 3, "near": 2, "hit": 3}
    events = [event(at, "fail", user) for user, count in fails.items() for at in range(count)]
    events += [event(9, "login", "hit"), event(9, "view", "none")]
    told = report(PATTERN, events)
    assert [key["key"] for key in told["keys"]] == [["far"], ["near"], ["none"], ["hit"]]
    assert (told["match_count"], told["key_count"]) == (1, 4)
    few = report(PATTERN, events, keys=1, partial_matches=1)
    assert [key["key"] for key in few["keys"]] == [["far"]]
    assert (few["left_out"], few["keys"][0]["left_out"]) == (3, 2)


def test_a_clause_is_told_of_too(tmp_path: Path) -> None:
    clause = (
        "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts PATTERN (DOWN{2} UP) "
        "DEFINE DOWN AS amount < PREV(amount), UP AS action = 'buy' AND amount > 5)"
    )
    rule = processor_document(pattern={"match_recognize": clause})
    events = [event(at, "buy", amount=amount) for at, amount in enumerate([9, 8, 7, 3])]
    told = why(write(tmp_path / "rule.yaml", rule), events=events).stdout
    assert "key eve: 4 events, no match" in told
    assert re.search(r"not so: \(?amount\)? > 5, with amount = 3", told)


# --- whatever is true


CONDITIONS = [
    "amount > 2",
    "action = 'a' AND amount <= 2",
    "NOT (action = 'a' AND amount > 1) AND user IS NOT NULL",
    "(action = 'a' OR amount > 2) AND amount <> 3",
    "user LIKE 'e%' AND action IN ('a', 'b') AND COALESCE(amount, 0) < 3",
    "amount > SUM(one.amount) AND action = FIRST(one.action)",
    "COUNT(one.*) = 1 AND (amount IS NULL OR amount >= LAST(one.amount))",
]
ANY_EVENT = st.builds(
    lambda action, amount, user: {"action": action, "amount": amount, "user": user},
    st.sampled_from(["a", "b", None]),
    st.sampled_from([None, 0.0, 1.0, 2.0, 3.0]),
    st.sampled_from(["eve", None]),
)


@given(st.sampled_from(CONDITIONS), ANY_EVENT, ANY_EVENT)
def test_a_condition_has_unmet_parts_exactly_where_it_does_not_hold(
    condition: str, before: dict[str, Any], tested: dict[str, Any]
) -> None:
    steps = [{"name": "one"}, {"name": "two", "contiguity": "next", "where": condition}]
    pattern = {"steps": steps}
    events = [before | {"ts": 1}, tested | {"ts": 2}]
    matches = find_matches(Pattern.from_document(pattern), events, warn=False).matches
    holds = any(len(match.steps) == 2 for match in matches)
    rule = read_rule(WrittenRule({"pattern": pattern}, None, EventTime("ts")))
    one, two = (TimedEvent(at, at, each) for at, each in enumerate(events))
    assert (step_conditions(rule)["two"].unmet(two, {"one": [one]}) == []) == holds


@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from("fl"), st.sampled_from("xy"))))
def test_it_counts_the_matches_that_are_found_and_explains_no_other(
    drawn: list[tuple[int, str, str]],
) -> None:
    names = {"f": "fail", "l": "login"}
    events = [event(at * MINUTE, names[action], user) for at, action, user in sorted(drawn)]
    found = find_matches(Pattern.from_document(PATTERN), events, key_by="user")
    told = report(PATTERN, events)
    assert told["match_count"] == len(found.matches)
    matched = [
        {name: [id(each) for each in taken] for name, taken in match.steps.items()}
        for match in found.matches
    ]
    for key in told["keys"]:
        for partial in key["partial_matches"]:
            steps = partial["steps"]
            assert {n: [id(events[p]) for p in taken] for n, taken in steps.items()} not in matched
            for nearest in partial["nearest"]:
                assert nearest["is_too_late"] == (not nearest["unmet"])
                assert [events[nearest["position"]]["user"]] == key["key"]


@pytest.mark.long
@pytest.mark.parametrize("name", ["password_guessed", "user_enumeration", "new_account_used"])
def test_as_many_matches_as_percept_match_finds(name: str) -> None:
    rule = ROOT / f"tests/data/ssh_auth/rules/{name}.yaml"
    events = ROOT / "examples/ssh_auth/events.jsonl.gz"
    told = json.loads(why(rule, events, "--json").stdout)
    found = CliRunner().invoke(app, ["match", str(rule), str(events), "-f", "jsonl"])
    assert told["match_count"] == len(found.stdout.splitlines())
    assert told["event_count"] == 17_687


# --- what it reads


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "csv", "parquet"])
def test_every_format_tells_the_same(rule: Path, tmp_path: Path, suffix: str) -> None:
    events = [event(at * SECOND, "fail") for at in range(2)] + [event(11 * MINUTE, "fail")]
    file = tmp_path / f"events.{suffix}"
    lines = "\n".join(map(json.dumps, events)).encode()
    match suffix:
        case "csv":
            pl.DataFrame(events).write_csv(file)
        case "parquet":
            pl.DataFrame(events).write_parquet(file)
        case _:
            file.write_bytes(gzip.compress(lines) if suffix.endswith("gz") else lines)
    told = why(rule, file).stdout
    assert "too late for fail: event 3  1970-01-01T00:11:00.000Z" in told
    alone = tmp_path / "pattern.yaml"
    alone.write_text(yaml.safe_dump(PATTERN), encoding="utf-8")
    pattern = why(alone, file, "--key", "user").stdout
    assert pattern.splitlines()[1:] == told.splitlines()[1:]


def test_the_rule_or_events_of_an_archive_come_from_standard_input_too(rule: Path) -> None:
    file = rule.with_name("events.jsonl")
    file.write_text(json.dumps(event(1, "fail")), encoding="utf-8")
    text = json.dumps(processor_document(), indent="\t")
    assert "key eve: 1 event, no match" in ended(0, "why", "-", file, given=text).stdout
    ended(2, "why", "-", "-", given=text)
    asked = ("--only", "eve", "--from", 0, "--to", MINUTE)
    assert "1 event of it" in why(rule, *asked, events=[event(1, "fail")]).stdout


CODE = {"python": sign(len, KEY, CodeUse.CONDITION).to_document()}
UNUSABLE: dict[str, tuple[dict[str, Any], list[dict[str, Any]] | str, str]] = {
    "no JSON": ({}, "{", "line 1, column 2: not JSON"),
    "no time": ({}, [{"user": "eve"}], "event 1: The event time ts"),
    "a time that is none": ({}, [{"ts": "soon"}], "event 1: ts: 'soon' is no TIMESTAMP"),
    "an unknown column": ({"key_by": ["usr"]}, [], "there is no column usr"),
    "a wrong rule": ({"pattern": {"steps": []}}, [], "pattern.steps"),
    "code": (
        {"pattern": {"steps": [{"name": "a", "where": CODE}]}},
        [],
        "Python conditions, which are not run",
    ),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_what_cannot_be_used_is_told(rule: Path, case: str) -> None:
    changes, events, told = UNUSABLE[case]
    write(rule, processor_document(**changes))
    errors = why(rule, events=events, code=2).stderr
    assert told in errors
    assert "Traceback" not in errors


def test_a_file_of_several_rules_asks_which_and_a_name_that_no_event_has_is_told(
    rule: Path,
) -> None:
    write(rule, STREAM, processor_document(), processor_document(id="other"))
    told = "say which with --rule: failed-logins, other"
    assert told in why(rule, events=[], code=2).stderr
    why(rule, "--rule", "other", events=[])
    why(rule, "--rule", "third", events=[], code=2)
    rule.with_name("stream.yaml").unlink()
    wrong = {"steps": [{"name": "a", "where": "acton = 'fail'"}], "within": "1 hour"}
    write(rule, processor_document(pattern=wrong))
    told = why(rule, events=[event(1, "fail")]).stderr
    assert "no event has the field acton" in told.replace("\n", " ")


# --- what it may take


@pytest.mark.long
@pytest.mark.parametrize(
    ("span", "remedy"),
    [
        ((), "Give fewer events"),
        (
            ("--from", 0, "--to", "2030-01-01T00:00:00Z", "--only", SLOW_EVENTS[0]["user"]),
            "Shorten the span.",
        ),
    ],
)
def test_what_takes_too_long_is_ended(
    tmp_path: Path, span: tuple[object, ...], remedy: str
) -> None:
    rule = write(tmp_path / "rule.yaml", processor_document(pattern=SLOW, key_by=["user"]))
    told = why(rule, *span, "--seconds", 1, events=SLOW_EVENTS, code=2).stderr
    assert f"It takes longer than the limit of 1 seconds. {remedy}" in told


def test_one_key_that_holds_too_much_does_not_hide_the_others(rule: Path) -> None:
    last = {"name": "z", "contiguity": "followed_by", "where": "amount > 9"}
    write(rule, processor_document(pattern={"steps": [{"name": "a"}, last]}))
    events = [event(at, "x", "hot") for at in range(2_100)] + [event(1, "x", "cold")]
    told = why(rule, events=events).stdout
    assert "1 key could not be matched, such as:" in told
    assert "key cold: 1 event, no match" in told


def test_what_is_told_of_many_keys_is_bounded_and_steers_no_terminal(rule: Path) -> None:
    told = why(rule, "--most-events", 2, events=[event(at, "x") for at in range(5)]).stdout
    assert "only the first events were looked at, 3 more were not" in told
    events = [event(at, "fail", f"user {at % 500}", note="x" * 5_000) for at in range(1_000)]
    told = why(rule, events=events).stdout
    assert "497 more keys did not come farther" in told
    assert len(told) < 5_000
    told = why(rule, events=[event(1, "fail", "\x1b[2Jx[red]\u202e\x9b")]).output
    assert "key \\x1b[2Jx[red]\\u202e\\x9b: 1 event" in told
    assert not re.search(STEERING, told)


# --- lists


def test_lists_come_from_files(rule: Path, tmp_path: Path) -> None:
    """Also where nothing says which columns events have."""
    alone, vip = tmp_path / "alone.yaml", tmp_path / "vip.csv"
    pattern = {"steps": [{"name": "any", "where": "user IN LIST('vip') AND action = 'fail'"}]}
    write(rule, processor_document(pattern=pattern))
    alone.write_text(yaml.safe_dump(pattern))
    events = [event(1, "fail")]
    for each in (rule, alone):
        for text, count in (("eve\n", 1), ("bob\n", 0)):
            vip.write_text(text)
            told = why(each, "--list", f"vip={vip}", "--json", events=events)
            assert json.loads(told.stdout)["match_count"] == count
        assert "--list vip=vip.csv" in why(each, events=events, code=2).stderr


# --- one key in a span of time, from an archive


SPAN = ("--from", "1970-01-01T00:05:00Z", "--to", 60 * MINUTE)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "archive"
    (folder / "day=2").mkdir(parents=True)
    fails = [event(at * SECOND, "fail") for at in range(3)]
    (folder / "1.jsonl").write_text("\n".join(map(json.dumps, fails)), encoding="utf-8")
    late = [event(11 * MINUTE, "login"), event(12 * MINUTE, "fail", "bob")]
    pl.DataFrame(late).write_parquet(folder / "day=2" / "2.parquet")
    (folder / "_unfinished.jsonl").write_text("{", encoding="utf-8")
    return folder


@pytest.mark.parametrize("place", ["", "**/*.*[tl]"])
def test_a_key_in_a_span_is_told_from_an_archive(rule: Path, archive: Path, place: str) -> None:
    (archive / "_unfinished.jsonl").unlink(missing_ok=bool(place))
    result = why(rule, archive / place, "--only", "eve", *SPAN)
    assert result.stderr == ""
    for told in (
        "failed-logins, key eve: no match",
        "1 event of it from 1970-01-01T00:05:00.000Z to 1970-01-01T01:00:00.000Z",
        "those of the key count from 1970-01-01T00:00:00.000Z on",
        "too late for login: event 4  1970-01-01T00:11:00.000Z",
    ):
        assert told in result.stdout
    as_json = why(rule, archive / place, "--only", "eve", "--json", *SPAN)
    first_attempt = json.loads(as_json.stdout)["attempts"][0]
    assert (first_attempt["outcome"], first_attempt["counts"]) == ("timed_out", {"fail": 3})


def test_so_many_attempts_and_what_is_wrong_with_an_archive_are_told(
    rule: Path, archive: Path
) -> None:
    told = why(rule, archive, "--only", "eve", "--near", 1, *SPAN).stdout
    assert "2 more attempts" in told
    assert "another attempt" not in told
    told = why(rule, archive / "nowhere", "--only", "eve", *SPAN, code=2).stderr
    assert "nowhere has no files of events (.jsonl" in told
    assert "give a file, a folder or a quoted pattern" in told
    (archive / "3.jsonl").write_text("\n{", encoding="utf-8")
    told = why(rule, archive, "--only", "eve", *SPAN, code=2).stderr
    assert "3.jsonl: line 2, column 2: not JSON" in told


WRONG_SPANS: dict[str, tuple[tuple[object, ...], str]] = {
    "no end": (("--only", "eve", "--from", 0), "give both --from and --to"),
    "no beginning": (("--only", "eve", "--to", 1), "give both --from and --to"),
    "backwards": (("--only", "eve", "--from", 2, "--to", 1), "must come after its beginning"),
    "no time": (("--only", "eve", "--from", "soon", "--to", 1), "--from not a time"),
    "no key": (("--from", 0, "--to", 1), "--only is missing: the key to tell of, which is user"),
    "until": (("--only", "eve", *SPAN, "--until", 1), "--until goes without --from"),
    "a broken key": (("--only", "[1", *SPAN), "begins like a JSON array and is none"),
    "too many": (("--only", "eve", *SPAN, "--most-events", 1), "more than 1 events in the time"),
}


@pytest.mark.parametrize("case", WRONG_SPANS)
def test_a_span_that_cannot_be_told_of_is_refused(rule: Path, archive: Path, case: str) -> None:
    arguments, told = WRONG_SPANS[case]
    result = why(rule, archive, *arguments, code=2)
    assert told in result.stderr
    assert "Traceback" not in result.output
