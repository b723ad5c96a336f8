"""Rules in SQL through the service: checked, published with their key, tried out."""

import json
from typing import Any

import pytest

from contract.service.tokens import Role
from tests.api.documents import processor_document
from tests.api.running import Service

CLAUSE = """MATCH_RECOGNIZE (
  PARTITION BY user ORDER BY ts
  MEASURES COUNT(FAIL.*) AS failures, LAST(LOGIN.ts) AS at
  PATTERN (FAIL{3,} LOGIN) WITHIN INTERVAL '10' MINUTE
  DEFINE FAIL AS action = 'fail', LOGIN AS action = 'login'
)"""


def rule(clause: str = CLAUSE, **changes: Any) -> dict[str, Any]:
    return processor_document(pattern={"match_recognize": clause}, key_by=None) | changes


def publish(service: Service, document: Any = None, expect: int = 201) -> Any:
    return service.post("/v1/processors", Role.ADMIN, document or rule(), expect=expect)


def test_a_clause_is_published_and_its_partition_is_the_key(with_stream: Service) -> None:
    publish(with_stream)
    (processor,) = with_stream.snapshot()["processors"]
    definition = processor["versions"][0]["definition"]
    assert definition["pattern"] == {"match_recognize": CLAUSE}
    assert definition["key_by"] == ["user"]


def test_a_mistake_in_a_clause_is_told_with_line_and_column(with_stream: Service) -> None:
    for written, instead, said, line in (
        ("action = 'login'", "acton = 'login'", "no column acton", 5),
        ("FAIL{3,}", "FAIL{3,2}", "lower bound", 4),
        ("LAST(LOGIN.ts)", "LAST(LOGIN.ts + FAIL.ts)", "different variables", 3),
        ("(FAIL{3,} LOGIN)", "(FAIL{3,} LOGIN $)", "a stream has none", 4),
        ("ORDER BY ts", "ORDER BY ts DESC", "ascending order", 2),
        ("PATTERN (", "PATERN (", "PATTERN is expected", 4),
    ):
        (error,) = publish(with_stream, rule(CLAUSE.replace(written, instead)), 422)["errors"]
        assert said in json.dumps(error)
        assert (error["pointer"], error["line"]) == ("/pattern/match_recognize", line)


def test_what_the_clause_says_is_not_said_twice_and_one_without_a_bound_warned_of(
    with_stream: Service,
) -> None:
    for changes in ({"key_by": ["action"]}, {"select": {"n": "COUNT(FAIL.*)"}}):
        errors = publish(with_stream, rule(**changes), 422)["errors"]
        assert [error["pointer"] for error in errors] == [f"/{key}" for key in changes]
    answer = publish(with_stream, rule(CLAUSE.replace("WITHIN INTERVAL '10' MINUTE", "")))
    assert "upper bound" in str(answer["warnings"])


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
    with_stream: Service, measure: str, warned: list[str]
) -> None:
    answer = publish(with_stream, rule(CLAUSE.replace("LAST(LOGIN.ts) AS at", measure)))
    told = [warning["detail"] for warning in answer["warnings"]]
    assert told == [f"{what} is kept for every key for ever." for what in warned]


def test_a_clause_is_tried_with_its_near_misses_and_with_made_up_events(
    with_stream: Service,
) -> None:
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
    clause = CLAUSE.replace("action = 'login'", "action = 'login' AND amount > LAST(FAIL.amount)")
    body = {"text": json.dumps(rule(clause)), "format": "json"}
    events = with_stream.post("/v1/drafts/samples", Role.ADMIN, body)["events"]
    assert [event["action"] for event in events] == ["fail", "fail", "fail", "login"]
    tried = with_stream.post("/v1/drafts/trial", Role.ADMIN, body | {"events": events})
    assert len(tried["matches"]) == 1
