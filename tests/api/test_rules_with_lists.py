"""Rules that name lists: checked with lists of their stream, tried with their values, counted."""

from functools import partial
from typing import Any

from contract.service.tokens import Role
from tests.api.documents import processor_document
from tests.api.lists import LISTS, Lists
from tests.api.running import Service

RULE = "/v1/processors/failed-logins"
PATTERN = {"steps": [{"name": "a", "where": "action = 'fail' AND user IN LIST('vip')"}]}
PLAIN = {"steps": [{"name": "a", "where": "action = 'fail'"}]}
CLAUSE = {
    "match_recognize": "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES A.user AS u "
    "PATTERN (A) DEFINE A AS user IN LIST('vip'))"
}
MINUTE = "2027-01-01T00:00:0{}Z"
EVENTS = [
    {"user": user, "action": "fail", "ts": MINUTE.format(place)}
    for place, user in enumerate(("ana", "eve", "bob"))
]
DRAFT = (
    "id: a\nstream: logins\nkey_by: [user]\n"
    "pattern: {steps: [{name: a, where: \"UPPER(user) IN LIST('vip')\"}]}\n"
)


def naming(service: Service, name: str = "vip") -> Any:
    shown = service.get(f"{LISTS}/{name}")
    assert shown["rule_count"] == len(shown["rules"])
    (line,) = [each for each in service.get(LISTS)["items"] if each["name"] == name]
    assert line["rule_count"] == shown["rule_count"]
    return {each["processor_id"]: each["versions"] for each in shown["rules"]}


def validate(lists: Lists, status: int = 200, **changes: Any) -> Any:
    document = processor_document(**changes)
    return lists.service.post("/v1/validate", Role.ADMIN, document, expect=status)


def test_a_rule_that_names_an_unknown_list_or_one_of_another_type_is_not_published(
    lists: Lists,
) -> None:
    for pattern in (PATTERN, CLAUSE):
        refused = validate(lists, 422, pattern=pattern, key_by=None)
        assert "vip" in refused["errors"][0]["detail"]
    lists.create(name="vips")
    (flaw,) = validate(lists, 422, pattern=PATTERN)["errors"]
    assert "vips" in flaw["remedy"]
    lists.create("ana")
    for pattern in (PATTERN, CLAUSE):
        validate(lists, pattern=pattern, key_by=None)
    lists.create(1, name="numbers", type="BIGINT")
    validate(lists, 422, pattern={"steps": [{"name": "a", "where": "user IN LIST('numbers')"}]})


def test_a_list_that_a_rule_names_is_not_deleted(lists: Lists) -> None:
    service = lists.service
    lists.create("ana")
    for name in ("failed-logins", "second"):
        service.publish(id=name, pattern=PATTERN)
    assert naming(service) == {"failed-logins": [1], "second": [1]}
    for path in (RULE, f"{RULE}/versions/1"):
        assert service.get(path)["lists"] == ["vip"]
    refused = lists.delete()
    assert refused.status_code == 409
    assert "'failed-logins', 'second'" in refused.json()["detail"]
    service.done("DELETE", "/v1/processors/second")
    service.done("POST", f"{RULE}/pause")
    assert naming(service) == {"failed-logins": [1]}
    assert lists.delete().status_code == 409
    service.publish(pattern=PLAIN)
    assert naming(service) == {}
    assert lists.delete().status_code == 204


def test_versions_that_are_scheduled_or_tried_name_it_too(lists: Lists) -> None:
    service = lists.service
    lists.create("ana")
    service.publish(pattern=PLAIN)
    service.publish(pattern=PATTERN, effective_from="2099-01-01T00:00:00Z")
    assert naming(service) == {"failed-logins": [2]}
    assert lists.delete().status_code == 409
    service.done("POST", f"{RULE}/versions/2/cancel")
    assert naming(service) == {}
    service.done("POST", f"{RULE}/rollout", processor_document(pattern=PATTERN))
    assert naming(service) == {"failed-logins": [3]}
    assert lists.delete().status_code == 409


def test_a_version_whose_list_is_gone_is_not_rolled_back_to(lists: Lists) -> None:
    roll_back = partial(lists.service.send, "POST", f"{RULE}/rollback", {"version": 1})
    lists.create("ana")
    for pattern in (PATTERN, PLAIN):
        lists.service.publish(pattern=pattern)
    assert lists.delete().status_code == 204
    refused = roll_back()
    assert (refused.status_code, "'vip'" in refused.json()["detail"]) == (409, True)
    lists.create(1, type="BIGINT")
    refused = roll_back()
    assert (refused.status_code, "no longer STRING" in refused.json()["detail"]) == (409, True)
    lists.delete()
    lists.create("eve")
    assert roll_back().status_code == 200
    assert naming(lists.service) == {"failed-logins": [3]}


def test_a_new_definition_of_the_stream_fits_the_lists(lists: Lists) -> None:
    lists.create("ana")
    lists.service.publish(pattern=PATTERN)
    stream = {"name": "logins", "event_time_column": "ts"}
    for user, status in (("BIGINT", 422), ("STRING", 200)):
        wider = stream | {"schema": f"user {user}, action STRING, more STRING, ts TIMESTAMP"}
        answer = lists.service.send("PUT", "/v1/streams/logins", wider)
        assert answer.status_code == status, answer.text


def test_examples_are_run_with_the_values_that_are_in_effect(lists: Lists) -> None:
    lists.create("eve")
    lists.put(["ana"], effective_from="2099-01-01T00:00:00Z")
    for pattern, step in ((PATTERN, "a"), (CLAUSE, "A")):
        for position, status in ((1, 200), (0, 422)):
            example = {"events": EVENTS, "matches": [{step: [position]}]}
            validate(lists, status, pattern=pattern, key_by=None, examples=[example])


def test_drafts_are_tried_with_lists(lists: Lists) -> None:
    lists.create("ANA", "EVE")
    lists.create(*(f"u{number}" for number in range(1_000)), name="long")
    post = partial(lists.service.post, role=Role.AUTHOR)
    answer = post("/v1/drafts/trial", body={"text": DRAFT, "events": EVENTS})
    assert [match["key"] for match in answer["matches"]] == [["ana"], ["eve"]]
    post("/v1/drafts/samples", body={"text": DRAFT})
    unknown = {"text": DRAFT.replace("vip", "vop"), "events": EVENTS}
    refused = post("/v1/drafts/trial", body=unknown, expect=422)
    assert "Did you mean vip" in refused["errors"][0]["remedy"]
