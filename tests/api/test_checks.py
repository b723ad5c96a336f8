"""What is refused or warned of when a document is checked, and where the answer points."""

from typing import Any

import pytest

from contract.service.tokens import Role
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.running import Publish, ServiceUnderTest

EVENTS = [
    {"ts": index * 1_000, "user": user, "action": action}
    for index, (user, action) in enumerate(
        [("eve", "fail"), ("eve", "fail"), ("bob", "fail"), ("eve", "fail"), ("eve", "login")]
    )
]
MATCH = {"fail": [0, 1, 3], "login": [4]}


def validate(service: ServiceUnderTest, **changes: Any) -> Any:
    return service.client.post("/v1/validate", json=processor_document(**changes))


def pattern(**step: Any) -> dict[str, Any]:
    return {"steps": [{"name": "a", **step}, {"name": "b", "contiguity": "next"}], "within": "PT1H"}


@pytest.mark.parametrize(
    ("changes", "pointer", "detail"),
    [
        ({"pattern": pattern(whree="TRUE")}, "/pattern/steps/0/whree", "unknown"),
        ({"select": {"a/b": "login.amuont"}}, "/select/a~1b", "amuont"),
        ({"select": {"x": "amount"}}, "/select/x", "step"),
        ({"effective_from": "tomorrow"}, "/effective_from", "2026-12-01T08:00:00Z"),
        ({"effective_from": "2026-12-01T08:00:00"}, "/effective_from", "zone"),
        (
            {"effective_from": "2030-01-01T00:00:00Z", "effective_until": "2029-01-01T00:00:00Z"},
            "/effective_until",
            "never run",
        ),
    ],
)
def test_a_mistake_is_refused_with_its_place(
    with_stream: ServiceUnderTest, changes: dict[str, Any], pointer: str, detail: str
) -> None:
    answer = validate(with_stream, **changes)
    assert answer.status_code == 422
    (flaw,) = answer.json()["errors"]
    assert flaw["pointer"] == pointer
    assert detail in flaw["detail"]


@pytest.mark.parametrize(
    ("where", "warned"),
    [
        ("amount > 10 AND amount < 5", True),
        ("amount > 10 AND amount <= 10", True),
        ("amount >= 10 AND amount <= 10", False),
        ("amount >= 10 AND 10 >= amount", False),
        ("5 > amount AND 10 < amount", True),
        ("action = 'a' AND action = 'b'", True),
        ("action = 'a' OR action = 'b'", False),
        ("action = 'a' AND action <> 'a'", True),
        ("action IN ('a') AND action = 'b'", True),
        ("action = 'a' AND user = 'b'", False),
        ("action = NULL", True),
        ("action IS NULL", False),
        ("1 = 2", True),
        ("1 = 1", False),
    ],
)
def test_a_condition_that_is_never_true_is_warned_of(
    with_stream: ServiceUnderTest,
    where: str,
    warned: bool,  # noqa: FBT001 - pytest passes it by name
) -> None:
    warnings = validate(with_stream, pattern=pattern(where=where)).json()["warnings"]
    never = {flaw["pointer"] for flaw in warnings if "condition is never true" in flaw["detail"]}
    assert never == ({"/pattern/steps/0/where"} if warned else set())


def test_what_the_pattern_itself_warns_of_is_passed_on_and_kept(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    endless = {"steps": [{"name": "a", "where": "amount > 1", "times": {"from": 1, "to": None}}]}
    warned = validate(with_stream, pattern=endless).json()["warnings"]
    assert warned[0]["pointer"] == "/pattern/steps/0/times"

    assert publish(pattern=endless)["warnings"] == warned
    listed = with_stream.client.get("/v1/processors?problem=true").json()["items"]
    assert [processor["warning_count"] for processor in listed] == [len(warned)]


def test_the_same_rule_under_another_id_is_warned_of(publish: Publish) -> None:
    publish(id="first")
    (warning,) = publish(id="second", pattern=PATTERN | {"within": "600 seconds"})["warnings"]
    assert "'first'" in warning["detail"]
    assert publish(id="third", key_by=["action"])["warnings"] == []
    (warning,) = publish(id="Third", key_by=[])["warnings"]
    assert (warning["pointer"], "'third'" in warning["detail"]) == ("/id", True)


def test_examples_that_hold_are_kept_with_the_version(publish: Publish) -> None:
    example = {"name": "three, then in", "events": EVENTS, "matches": [MATCH]}
    assert publish(examples=[example])["document"]["examples"] == [example]


def test_a_rule_whose_example_fails_is_refused_with_the_difference(
    with_stream: ServiceUnderTest,
) -> None:
    wrong = {"events": EVENTS, "matches": [{"fail": [0, 1, 2], "login": [4]}]}
    right = {"events": EVENTS, "matches": [MATCH]}
    answer = with_stream.client.post(
        "/v1/processors", json=processor_document(examples=[right, wrong])
    )
    missing, surplus = answer.json()["errors"]
    assert missing["pointer"] == surplus["pointer"] == "/examples/1/matches"
    assert '{"fail":[0,1,2],"login":[4]}' in missing["detail"]
    assert '{"fail":[0,1,3],"login":[4]}' in surplus["detail"]
    assert with_stream.client.get("/v1/processors").json()["items"] == []


def test_timeouts_of_an_example_are_compared_where_given(with_stream: ServiceUnderTest) -> None:
    late = {"events": EVENTS[:1], "final_watermark_ms": 700_000}
    for timed_out, status in (([{"fail": [0]}], 200), ([], 422), (None, 200)):
        examples = [late | ({} if timed_out is None else {"timed_out": timed_out})]
        assert validate(with_stream, examples=examples).status_code == status


def test_events_out_of_order_or_without_a_time_are_told(with_stream: ServiceUnderTest) -> None:
    for events in (EVENTS[::-1], [{"user": "eve"}], [{"ts": "yesterday"}]):
        answer = validate(with_stream, examples=[{"events": events}])
        assert answer.json()["errors"][0]["pointer"] == "/examples/0/events"


def test_a_new_schema_must_fit_what_is_published(with_rule: ServiceUnderTest) -> None:
    client, any_state = with_rule.client, {"If-Match": "*"}
    renamed = STREAM | {"schema": "name STRING, action STRING, ts TIMESTAMP"}
    answer = client.put("/v1/streams/logins", json=renamed, headers=any_state)
    (flaw,) = answer.json()["errors"]
    assert flaw["pointer"] == "/schema"
    assert "'failed-logins', version 1, /key_by/0" in flaw["detail"]

    wider = STREAM | {"schema": STREAM["schema"] + ", ip STRING"}
    answer = client.put("/v1/streams/logins", json=wider, headers=any_state)
    assert (answer.json()["version"], answer.json()["epoch"]) == (2, 3)
    assert client.put("/v1/streams/logins", json=wider, headers=any_state).json()["version"] == 2


def test_no_description_of_a_stream_is_overwritten_unseen(with_stream: ServiceUnderTest) -> None:
    client = with_stream.client
    seen = {"If-Match": client.get("/v1/streams/logins").headers["ETag"]}
    statuses = [
        client.put(
            "/v1/streams/logins", json=STREAM | {"description": text}, headers=seen
        ).status_code
        for text in ("mine", "yours")
    ]
    assert statuses == [200, 412]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"schema": "user"}, "/schema"),
        ({"schema": "user NOTATYPE STRING"}, "/schema"),
        ({"event_time_column": "tss"}, "/event_time_column"),
        ({"event_time_column": "user"}, "/event_time_column"),
        ({"order_by": ["user", "nobody"]}, "/order_by/1"),
        ({"allowed_delay_ms": -1}, "/allowed_delay_ms"),
        ({"name": "no spaces"}, "/name"),
    ],
)
def test_a_stream_that_cannot_be_is_refused_with_the_place(
    service: ServiceUnderTest, changes: dict[str, Any], pointer: str
) -> None:
    answer = service.post("/v1/streams", Role.ADMIN, STREAM | changes, expect=422)
    assert [flaw["pointer"] for flaw in answer["errors"]] == [pointer]
