"""Rules in SQL through the service: checked, published with their key, tried out."""

import json
from typing import Any

import pytest

from contract.service.tokens import Role
from tests.api.documents import processor_document
from tests.api.running import ServiceUnderTest

CLAUSE = """MATCH_RECOGNIZE (
  PARTITION BY user ORDER BY ts
  MEASURES COUNT(FAIL.*) AS failures, LAST(LOGIN.ts) AS at
  PATTERN (FAIL{3,} LOGIN) WITHIN INTERVAL '10' MINUTE
  DEFINE FAIL AS action = 'fail', LOGIN AS action = 'login'
)"""


def rule(clause: str = CLAUSE, **changes: Any) -> dict[str, Any]:
    return processor_document(pattern={"match_recognize": clause}, key_by=None) | changes


def test_a_clause_is_published_and_its_partition_is_the_key(with_stream: ServiceUnderTest) -> None:
    with_stream.post("/v1/processors", Role.ADMIN, rule(), expect=201)
    found = with_stream.client.get("/v1/streams/logins/snapshot").json()
    (processor,) = found["processors"]
    definition = processor["versions"][0]["definition"]
    assert definition["pattern"] == {"match_recognize": CLAUSE}
    assert definition["key_by"] == ["user"]


@pytest.mark.parametrize(
    ("written", "instead", "said", "line"),
    [
        ("action = 'login'", "acton = 'login'", "no column acton", 5),
        ("FAIL{3,}", "FAIL{3,2}", "lower bound", 4),
        ("LAST(LOGIN.ts)", "LAST(LOGIN.ts + FAIL.ts)", "different variables", 3),
        ("(FAIL{3,} LOGIN)", "(FAIL{3,} LOGIN $)", "a stream has none", 4),
        ("ORDER BY ts", "ORDER BY ts DESC", "ascending order", 2),
        ("PATTERN (", "PATERN (", "PATTERN is expected", 4),
    ],
)
def test_a_mistake_in_a_clause_is_told_with_line_and_column(
    with_stream: ServiceUnderTest, written: str, instead: str, said: str, line: int
) -> None:
    clause = CLAUSE.replace(written, instead)
    (error,) = with_stream.post("/v1/processors", Role.ADMIN, rule(clause), expect=422)["errors"]
    assert said in json.dumps(error)
    assert error["pointer"] == "/pattern/match_recognize"
    assert error["line"] == line


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"key_by": ["action"]}, "/key_by"),
        ({"select": {"n": "COUNT(FAIL.*)"}}, "/select"),
    ],
)
def test_what_the_clause_says_is_not_said_twice(
    with_stream: ServiceUnderTest, changes: dict[str, Any], pointer: str
) -> None:
    answer = with_stream.post("/v1/processors", Role.ADMIN, rule(**changes), expect=422)
    assert [error["pointer"] for error in answer["errors"]] == [pointer]


def test_a_clause_without_a_bound_is_warned_of(with_stream: ServiceUnderTest) -> None:
    clause = CLAUSE.replace("WITHIN INTERVAL '10' MINUTE", "")
    answer = with_stream.client.post("/v1/processors", json=rule(clause))
    assert answer.status_code == 201
    assert "upper bound" in answer.text


@pytest.mark.parametrize(
    ("measure", "warned"),
    [
        ("PREV(FIRST(FAIL.ts)) AS before", ["the row before the next one (PREV)"]),
        ("LAST(FAIL.ts) AS previous_failure", []),
        ("MATCH_NUMBER() AS n", ["the number of the match (MATCH_NUMBER)"]),
        ("SUM(FAIL.amount + MATCH_NUMBER()) AS n", ["the number of the match (MATCH_NUMBER)"]),
        ("LAST(FAIL.ts) AS match_number", []),
    ],
)
def test_only_what_a_clause_reads_is_said_to_be_kept_for_ever(
    with_stream: ServiceUnderTest, measure: str, warned: list[str]
) -> None:
    clause = CLAUSE.replace("LAST(LOGIN.ts) AS at", measure)
    answer = with_stream.post("/v1/processors", Role.ADMIN, rule(clause), expect=201)
    told = [warning["detail"] for warning in answer["warnings"]]
    assert told == [f"{what} is kept for every key for ever." for what in warned]


def test_a_clause_is_tried_with_its_near_misses(with_stream: ServiceUnderTest) -> None:
    actions = ["fail", "fail", "login", "fail", "fail", "fail", "login"]
    events = [
        {"ts": index * 60_000, "user": "eve", "action": action}
        for index, action in enumerate(actions)
    ]
    body = {"text": json.dumps(rule()), "format": "json", "events": events, "let_time_pass": True}
    report = with_stream.post("/v1/drafts/trial", Role.ADMIN, body)
    (match,) = report["matches"]
    assert match["steps"] == {"FAIL": [3, 4, 5], "LOGIN": [6]}
    assert match["output"]["failures"] == 3
    farthest = report["partial_matches"][0]
    assert farthest["steps"] == {"FAIL": [0, 1]}
    shown = (farthest["outcome"], farthest["ended_by"], farthest["awaited"])
    assert shown == ("broken", 2, ["FAIL"])


def test_made_up_events_match_the_clause(with_stream: ServiceUnderTest) -> None:
    clause = CLAUSE.replace("action = 'login'", "action = 'login' AND amount > LAST(FAIL.amount)")
    body = {"text": json.dumps(rule(clause)), "format": "json"}
    events = with_stream.post("/v1/drafts/samples", Role.ADMIN, body)["events"]
    assert [event["action"] for event in events] == ["fail", "fail", "fail", "login"]
    tried = with_stream.client.post("/v1/drafts/trial", json={**body, "events": events})
    assert len(tried.json()["matches"]) == 1
