"""What is refused or warned of when a document is checked, and where the answer points."""

from typing import Any

from contract.service.tokens import Role
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.running import Service

EVENTS = [
    {"ts": index * 1_000, "user": user, "action": action}
    for index, (user, action) in enumerate(
        [("eve", "fail"), ("eve", "fail"), ("bob", "fail"), ("eve", "fail"), ("eve", "login")]
    )
]
MATCH = {"fail": [0, 1, 3], "login": [4]}


def validate(service: Service, status: int = 200, **changes: Any) -> Any:
    return service.post("/v1/validate", Role.ADMIN, processor_document(**changes), expect=status)


def pattern(**step: Any) -> dict[str, Any]:
    return {"steps": [{"name": "a", **step}, {"name": "b", "contiguity": "next"}], "within": "PT1H"}


def test_a_mistake_is_refused_with_its_place(with_stream: Service) -> None:
    for changes, pointer, detail in (
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
    ):
        (flaw,) = validate(with_stream, 422, **changes)["errors"]
        assert (flaw["pointer"], detail in flaw["detail"]) == (pointer, True)


def test_a_condition_that_is_never_true_is_warned_of(with_stream: Service) -> None:
    never = (
        *("amount > 10 AND amount < 5", "amount > 10 AND amount <= 10", "action = NULL", "1 = 2"),
        *("5 > amount AND 10 < amount", "action = 'a' AND action = 'b'"),
        *("action = 'a' AND action <> 'a'", "action IN ('a') AND action = 'b'"),
    )
    others = (
        *("amount >= 10 AND amount <= 10", "amount >= 10 AND 10 >= amount", "1 = 1"),
        *("action = 'a' OR action = 'b'", "action = 'a' AND user = 'b'", "action IS NULL"),
    )
    for where in (*never, *others):
        flaws = validate(with_stream, pattern=pattern(where=where))["warnings"]
        told = {each["pointer"] for each in flaws if "is never true" in each["detail"]}
        assert told == ({"/pattern/steps/0/where"} if where in never else set()), where


def test_a_pattern_and_the_same_rule_under_another_id_are_warned_of(with_stream: Service) -> None:
    endless = {"steps": [{"name": "a", "where": "amount > 1", "times": {"from": 1, "to": None}}]}
    warned = validate(with_stream, pattern=endless)["warnings"]
    assert warned[0]["pointer"] == "/pattern/steps/0/times"
    assert with_stream.publish(pattern=endless)["warnings"] == warned
    listed = with_stream.get("/v1/processors?problem=true")["items"]
    assert [processor["warning_count"] for processor in listed] == [len(warned)]
    with_stream.publish(id="first")
    (warning,) = with_stream.publish(id="second", pattern=PATTERN | {"within": "600 seconds"})[
        "warnings"
    ]
    assert "'first'" in warning["detail"]
    assert with_stream.publish(id="third", key_by=["action"])["warnings"] == []
    (warning,) = with_stream.publish(id="Third", key_by=[])["warnings"]
    assert (warning["pointer"], "'third'" in warning["detail"]) == ("/id", True)


def test_a_rule_whose_example_fails_is_refused_with_the_difference(with_stream: Service) -> None:
    right = {"name": "three, then in", "events": EVENTS, "matches": [MATCH]}
    wrong = {"events": EVENTS, "matches": [{"fail": [0, 1, 2], "login": [4]}]}
    document = processor_document(examples=[right, wrong])
    answer = with_stream.post("/v1/processors", Role.ADMIN, document, expect=422)
    missing, surplus = answer["errors"]
    assert missing["pointer"] == surplus["pointer"] == "/examples/1/matches"
    assert '{"fail":[0,1,2],"login":[4]}' in missing["detail"]
    assert '{"fail":[0,1,3],"login":[4]}' in surplus["detail"]
    assert with_stream.get("/v1/processors")["items"] == []
    # Those that hold are kept with the version.
    assert with_stream.publish(examples=[right])["document"]["examples"] == [right]


def test_events_and_timeouts_of_an_example_are_compared_where_given(with_stream: Service) -> None:
    late = {"events": EVENTS[:1], "final_watermark_ms": 700_000}
    for given, status in (
        ({"timed_out": [{"fail": [0]}]}, 200),
        ({"timed_out": []}, 422),
        ({}, 200),
    ):
        validate(with_stream, status, examples=[late | given])
    for events in (EVENTS[::-1], [{"user": "eve"}], [{"ts": "yesterday"}]):
        answer = validate(with_stream, 422, examples=[{"events": events}])
        assert answer["errors"][0]["pointer"] == "/examples/0/events"


def test_a_new_schema_must_fit_what_is_published(with_rule: Service) -> None:
    path = "/v1/streams/logins"
    renamed = STREAM | {"schema": "name STRING, action STRING, ts TIMESTAMP"}
    (flaw,) = with_rule.send("PUT", path, renamed).json()["errors"]
    assert flaw["pointer"] == "/schema"
    assert "'failed-logins', version 1, /key_by/0" in flaw["detail"]
    wider = STREAM | {"schema": STREAM["schema"] + ", ip STRING"}
    for _ in range(2):
        put = with_rule.done("PUT", path, wider)
        assert (put["version"], put["epoch"]) == (2, 3)


def test_no_description_of_a_stream_is_overwritten_unseen(with_stream: Service) -> None:
    path = "/v1/streams/logins"
    seen = {"If-Match": with_stream.client.get(path).headers["ETag"]}
    for text, status in (("mine", 200), ("yours", 412)):
        described = STREAM | {"description": text}
        assert with_stream.send("PUT", path, described, **seen).status_code == status


def test_a_stream_that_cannot_be_is_refused_with_the_place(service: Service) -> None:
    for changes, pointer in (
        ({"schema": "user"}, "/schema"),
        ({"schema": "user NOTATYPE STRING"}, "/schema"),
        ({"event_time_column": "tss"}, "/event_time_column"),
        ({"event_time_column": "user"}, "/event_time_column"),
        ({"order_by": ["user", "nobody"]}, "/order_by/1"),
        ({"allowed_delay_ms": -1}, "/allowed_delay_ms"),
        ({"name": "no spaces"}, "/name"),
    ):
        answer = service.post("/v1/streams", Role.ADMIN, STREAM | changes, expect=422)
        assert [flaw["pointer"] for flaw in answer["errors"]] == [pointer]
