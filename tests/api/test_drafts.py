"""Drafts: what is wrong by line, what a rule finds in events, and how near it came."""

import json
import re
from typing import Any

import pytest
import yaml

from contract.service.tokens import Role
from tests.api.documents import PATTERN, RULE_TEXT, processor_document
from tests.api.running import Service
from tests.api.test_trial_limits import trial_of


def problems(service: Service, text: str, text_format: str = "yaml") -> list[Any]:
    body = {"text": text, "format": text_format}
    found: list[Any] = service.post("/v1/drafts/check", Role.ADMIN, body)["problems"]
    return found


def problem(service: Service, written: str, instead: str) -> Any:
    """Return what is wrong with the rule once something in it is replaced."""
    (found,) = problems(service, RULE_TEXT.replace(written, instead))
    return found


def events(*actions: str, seconds: int = 60, user: str = "eve") -> list[dict[str, Any]]:
    return [
        {"ts": index * seconds * 1_000, "user": user, "action": action}
        for index, action in enumerate(actions)
    ]


def tried(service: Service, found_in: list[dict[str, Any]], **changes: Any) -> Any:
    time_passes = changes.pop("let_time_pass", False)
    body = trial_of(changes.pop("pattern", PATTERN), found_in, **changes)
    return service.post("/v1/drafts/trial", Role.ADMIN, body | {"let_time_pass": time_passes})


def ends(report: Any) -> list[tuple[dict[str, list[int]], str, int | None]]:
    return [
        (each["steps"], each["outcome"], each["ended_by"]) for each in report["partial_matches"]
    ]


def test_a_mistake_in_yaml_is_told_with_its_line(with_stream: Service) -> None:
    for written, instead, place in (
        ("action = 'login'", "acton = 1", (11, 12, 5)),
        ("times: 3", "tims: 3", (8, 5, None)),
        ("key_by: [user]", "key_by: [usr]", (3, 10, 3)),
        ("stream: logins", "stream: logouts", (2, 1, None)),
        ("id: failed-logins\n", "", (1, 1, None)),
        ("key_by: [user]", "key_by: [user", (4, 8, None)),
        ("within: 10 minutes", "within: ten minutes", (12, 3, None)),
    ):
        found = problem(with_stream, written, instead)
        assert (found["line"], found["column"], found["length"]) == place
        assert found["severity"] == "error"


NUMBER = "Write a whole number, or {from: 5, to: null} for 5 or more."
STEP = "amount needs a step in front. Write fail.amount"


def test_a_mistake_names_its_key(with_stream: Service) -> None:
    for written, instead, told in (
        ("key_by: [user]", "key_by: 3", "key_by: 3 does not fit. Write a list."),
        ("key_by: [user]", "key_by: user, ip", "key_by: unexpected ,. Write a list: [user, ip]"),
        ("[user]", "[user, 3]", "key_by[1]: 3 does not fit. Write text."),
        ("times: 3", "times: 3x", f"times: '3x' does not fit. {NUMBER}"),
        ("id: failed-logins\n", "", "id: missing. Add it."),
        ("times: 3", "tims: 3", "tims: unknown key. Did you mean 'times'?"),
        ("key_by: [user]", "select: {a/b: amount}", f"a/b: {STEP}"),
    ):
        found = problem(with_stream, written, instead)
        assert f"{found['detail']} {found['remedy']}".strip() == told


def test_mistakes_in_json_have_their_line_and_what_is_odd_is_warned_of(
    with_stream: Service,
) -> None:
    text = json.dumps(yaml.safe_load(RULE_TEXT), indent=2).replace("action = 'fail'", "acton = 1")
    (problem,) = problems(with_stream, text, "json")
    line = text.splitlines()[problem["line"] - 1]
    assert line[problem["column"] - 1 :].startswith("acton")
    with_stream.publish(id="other")
    (found,) = problems(with_stream, RULE_TEXT)
    assert (found["severity"], found["line"]) == ("warning", 4)
    assert "'other'" in found["detail"]


CLAUSE = """MATCH_RECOGNIZE (
  PARTITION BY user ORDER BY ts

  PATTERN (FAIL+ LOGIN) WITHIN INTERVAL '1' HOUR
  DEFINE FAIL AS action = 'fail', LOGIN AS acton = 'login'
)"""


@pytest.mark.parametrize("style", ["|", ">", "'", '"', None])
@pytest.mark.parametrize("file_format", ["yaml", "json"])
def test_a_mistake_in_a_clause_is_told_at_its_place_however_it_is_written(
    with_stream: Service, style: str | None, file_format: str
) -> None:
    clause = CLAUSE if style else " ".join(CLAUSE.split())
    document = {"id": "guessed", "stream": "logins", "pattern": {"match_recognize": clause}}
    if file_format == "json":
        text = json.dumps(document, indent=2)
    else:
        text = yaml.safe_dump(document, sort_keys=False, default_style=style, width=60)
        text = re.sub(r"(?<=match_recognize)['\"]|['\"](?=match_recognize)", "", text)
    (problem,) = problems(with_stream, text, file_format)
    line = text.splitlines()[problem["line"] - 1]
    assert line[problem["column"] - 1 :].startswith("acton = ")
    assert problem["length"] == len("acton")


def test_a_document_written_as_text_reads_back_the_same(with_stream: Service) -> None:
    document = processor_document(description="über\u0085all: #1", tags=["a"])
    for text_format in ("yaml", "json"):
        body = {"document": document, "format": text_format}
        text = with_stream.post("/v1/drafts/text", Role.ADMIN, body)["text"]
        body = {"text": text, "format": text_format}
        assert with_stream.post("/v1/drafts/check", Role.ADMIN, body)["document"] == document
    # A clause is written as a block of lines.
    clause = {"document": {"id": "guessed", "pattern": {"match_recognize": CLAUSE}}}
    lines = with_stream.post("/v1/drafts/text", Role.ADMIN, clause)["text"].splitlines()
    assert lines[:3] == ["id: guessed", "pattern:", "  match_recognize: |-"]
    assert lines[3:] == [f"    {line}" if line else "" for line in CLAUSE.splitlines()]


def test_what_is_no_document_is_told_and_never_fails(with_stream: Service) -> None:
    for text in (
        *("", "a", "- a", "a: 1\n---\nb: 2", "a: [", "a: &x 1\nb: *x", "1: 2", "a: .inf"),
        *("a: !!binary aGk=", "a: !!bool x", "a: !!timestamp x", "a: !!float ''", 'a: "\\0"'),
        *("a: " + "[" * 100 + "]" * 100, "a: 99999999999999999999"),
    ):
        answer = with_stream.post("/v1/drafts/check", Role.ADMIN, {"text": text})
        assert answer["document"] is None
        assert answer["problems"]


def test_a_trial_shows_matches_with_keys_and_output(with_stream: Service) -> None:
    found_in = events("fail", "fail", "view", "fail", "login")
    report = tried(with_stream, found_in, select={"who": "login.user", "n": "COUNT(fail.*)"})
    steps = {"fail": [0, 1, 3], "login": [4]}
    (match,) = report["matches"]
    assert match == {
        "key": ["eve"],
        "steps": steps,
        "start": "1970-01-01T00:00:00.000Z",
        "at": "1970-01-01T00:04:00.000Z",
        "output": {"who": "eve", "n": 3},
    }
    assert report["fits"] == steps
    # Events are sorted by time and keep their positions.
    (match,) = tried(with_stream, events("fail", "fail", "fail", "login")[::-1])["matches"]
    assert match["steps"] == {"fail": [3, 2, 1], "login": [0]}


def test_events_are_those_of_the_stream_and_matches_never_mix_keys(with_stream: Service) -> None:
    found_in = [*events("fail", "fail"), *events("fail", "login", user="bob")]
    report = tried(with_stream, found_in)
    assert report["matches"] == []
    assert {tuple(each["key"]) for each in report["partial_matches"]} == {("eve",), ("bob",)}
    timed = {"steps": [{"name": "late", "where": "ts >= TIMESTAMP '1970-01-01 00:01:00Z'"}]}
    assert tried(with_stream, events("fail", "fail"), pattern=timed)["fits"] == {"late": [1]}
    assert tried(with_stream, [{"ts": 1, "acton": "fail"}])["unknown_fields"] == ["acton"]
    assert with_stream.get("/v1/processors")["items"] == []  # nothing of a draft is stored


def test_a_partial_match_says_how_far_it_came_and_whether_its_window_closed(
    with_stream: Service,
) -> None:
    for time_passes, outcome, ended_at in (
        (False, "open", None),
        (True, "timed_out", "1970-01-01T00:10:00.000Z"),
    ):
        report = tried(with_stream, events("fail", "fail", "fail"), let_time_pass=time_passes)
        farthest = report["partial_matches"][0]
        assert farthest["steps"] == {"fail": [0, 1, 2]}
        assert (farthest["outcome"], farthest["ended_at"]) == (outcome, ended_at)
        assert farthest["awaited"] == ["login"]


FAIL = {"name": "fail", "where": "action = 'fail'"}
LOGIN = {"name": "login", "contiguity": "followed_by", "where": "action = 'login'"}
NO_VIEW = {"name": "view", "contiguity": "not_followed_by", "where": "action = 'view'"}


def test_an_event_that_breaks_a_partial_match_is_named_and_what_a_match_skips_told_apart(
    with_stream: Service,
) -> None:
    for steps, outcome, forbidden in (
        ([FAIL, LOGIN | {"contiguity": "next"}], "broken", []),
        ([FAIL, NO_VIEW, LOGIN], "forbidden", ["view"]),
    ):
        report = tried(with_stream, events("fail", "view", "login"), pattern={"steps": steps})
        assert ends(report) == [({"fail": [0]}, outcome, 1)]
        assert report["partial_matches"][0]["forbidden"] == forbidden
    skipping = PATTERN | {"after_match_skip": {"strategy": "skip_past_last_event"}}
    report = tried(with_stream, events("fail", "fail", "fail", "login"), pattern=skipping)
    assert len(report["matches"]) == 1
    assert {each["outcome"] for each in report["partial_matches"]} == {"skipped"}


REPEATED = FAIL | {"times": {"from": 1, "to": None}}


def test_partial_matches_of_the_same_events_are_told_as_one_if_they_end_alike(
    with_stream: Service,
) -> None:
    pattern = {"steps": [REPEATED, NO_VIEW, LOGIN], "within": "10 minutes"}
    (left,) = tried(with_stream, events("fail", "other"), pattern=pattern)["partial_matches"]
    assert (left["steps"], left["outcome"]) == ({"fail": [0]}, "open")
    assert sorted(left["awaited"]) == ["fail", "login"]
    assert left["forbidden"] == ["view"]
    view = NO_VIEW | {"contiguity": "followed_by", "optional": True}
    steps = [
        {"group": {"steps": [REPEATED, view]}, "times": {"from": 1, "to": 2}},
        {"name": "logout", "contiguity": "not_followed_by", "where": "action = 'logout'"},
        LOGIN,
    ]
    pattern = {"steps": steps, "within": "10 minutes"}
    report = tried(with_stream, events("fail", "other", "logout"), pattern=pattern)
    assert ends(report) == [({"fail": [0]}, "forbidden", 2), ({"fail": [0]}, "open", None)]
    awaited = [each["awaited"] for each in report["partial_matches"]]
    assert awaited == [["fail", "login"], ["fail", "view"]]


def test_an_absence_matches_once_time_has_passed(with_stream: Service) -> None:
    absence = {
        "steps": [FAIL, LOGIN | {"contiguity": "not_followed_by"}],
        "within": "10 minutes",
    }
    assert tried(with_stream, events("fail"), pattern=absence)["matches"] == []
    report = tried(with_stream, events("fail"), pattern=absence, let_time_pass=True)
    assert [match["at"] for match in report["matches"]] == ["1970-01-01T00:10:00.000Z"]
    assert report["partial_matches"] == []


def test_an_event_that_does_not_fit_is_refused_with_its_place(with_stream: Service) -> None:
    for event, pointer in (
        ({"ts": "yesterday"}, "/events/0/ts"),
        ({"user": "eve"}, "/events/0/ts"),
        ({"ts": 10**18}, "/events/0/ts"),
        ({"ts": 1, "amount": "much"}, "/events/0/amount"),
    ):
        body = {"text": RULE_TEXT, "events": [event]}
        answer = with_stream.post("/v1/drafts/trial", Role.ADMIN, body, expect=422)
        assert answer["errors"][0]["pointer"] == pointer


def test_a_rule_that_is_wrong_or_finds_far_too_much_is_refused(with_stream: Service) -> None:
    pairs = {"steps": [{"name": "a"}, {"name": "b", "contiguity": "followed_by_any"}]}
    wrong = {"text": RULE_TEXT.replace("action = 'login'", "acton = 1"), "events": []}
    too_much, line = (
        with_stream.post("/v1/drafts/trial", Role.ADMIN, body, expect=422)["errors"][0]
        for body in (trial_of(pairs, events(*["fail"] * 300)), wrong)
    )
    assert "20,000" in too_much["detail"]
    assert (line["pointer"], line["line"]) == ("/pattern/steps/1/where", 11)


A = {"name": "a", "where": "amount BETWEEN 5 AND 7 AND user IN ('x', 'y')", "times": 2}
ABOVE_A = "amount > 3 * AVG(a.amount) AND user = a.user"


def test_made_up_events_match_the_rule_they_are_made_for(with_stream: Service) -> None:
    for steps in (
        PATTERN["steps"],
        [A, NO_VIEW, {"name": "b", "contiguity": "followed_by", "where": ABOVE_A}],
        [{"group": {"steps": [{"name": "a", "where": "action LIKE 'x%'"}]}, "times": 2}],
    ):
        pattern = {"steps": steps, "within": "10 minutes"}
        body = trial_of(pattern, [], key_by=None)
        del body["events"]
        made = with_stream.post("/v1/drafts/samples", Role.ADMIN, body)["events"]
        assert tried(with_stream, made, pattern=pattern, key_by=None)["matches"]


def test_a_clause_is_answered_as_a_tree_to_be_drawn_or_refused_at_its_place(
    with_stream: Service,
) -> None:
    clause = "MATCH_RECOGNIZE (MEASURES LAST(b.ts) AS at PATTERN (a b*?) DEFINE b AS amount>3)"
    answer = with_stream.post("/v1/drafts/drawing", Role.ADMIN, {"match_recognize": clause})
    first, second = answer["pattern"]["parts"]
    assert first == {"kind": "variable", "name": "A", "condition": ""}
    assert (second["inner"]["condition"], second["quantifier"]) == ("amount > 3", "*?")
    assert answer["measures"] == [{"name": "at", "expression": "LAST(b.ts)"}]
    assert "PATTERN (a b*?)" in answer["text"]
    body = {"match_recognize": "MATCH_RECOGNIZE (\nPATTERN (a b+ ) DEFINE b AS (amount > 3)"}
    (flaw,) = with_stream.post("/v1/drafts/drawing", Role.ADMIN, body, expect=422)["errors"]
    assert (flaw["pointer"], flaw["line"]) == ("/match_recognize", 2)
    assert flaw["remedy"]


def test_the_value_that_a_new_rule_begins_with_is_told_and_never_published(
    with_rule: Service,
) -> None:
    found = problem(with_rule, "'login'", "'change me'")
    shown = (found["severity"], found["pointer"], found["line"])
    assert shown == ("error", "/pattern/steps/1/where", 11)
    assert "a new rule begins with" in found["detail"]
    assert found["remedy"] == "Write the value that events have there."
    columns = processor_document(id="new", select={"kind": "IF(TRUE, 'change me', '')"})
    answer = with_rule.post("/v1/processors", Role.ADMIN, columns, expect=422)
    assert [each["pointer"] for each in answer["errors"]] == ["/select/kind"]
    with_rule.publish(id="new", description="'change me' is no value here")
