"""Rules that name lists: checked with lists of their stream, tried with their values, counted."""

from typing import Any

import pytest
from httpx2 import Response

from contract.service.tokens import Role
from tests.api.documents import ANY_STATE, processor_document
from tests.api.lists import LISTS, Lists
from tests.api.running import Publish, ServiceUnderTest

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


def delete(service: ServiceUnderTest, name: str = "vip") -> Response:
    return service.client.delete(f"{LISTS}/{name}", headers=ANY_STATE)


def validate(service: ServiceUnderTest, **changes: Any) -> Response:
    return service.client.post("/v1/validate", json=processor_document(**changes))


def naming(service: ServiceUnderTest, name: str = "vip") -> Any:
    shown = service.client.get(f"{LISTS}/{name}").json()
    assert shown["rule_count"] == len(shown["rules"])
    (line,) = [each for each in service.client.get(LISTS).json()["items"] if each["name"] == name]
    assert line["rule_count"] == shown["rule_count"]
    return {each["processor_id"]: each["versions"] for each in shown["rules"]}


@pytest.mark.parametrize("pattern", [PATTERN, CLAUSE])
def test_a_rule_that_names_an_unknown_list_is_not_published(
    lists: Lists, pattern: dict[str, Any]
) -> None:
    refused = validate(lists.service, pattern=pattern, key_by=None)
    assert refused.status_code == 422
    assert "vip" in refused.json()["errors"][0]["detail"]
    lists.create("ana")
    assert validate(lists.service, pattern=pattern, key_by=None).status_code == 200


def test_a_near_name_is_suggested_and_another_type_refused(lists: Lists) -> None:
    lists.create(name="vips")
    lists.create(1, name="numbers", type="BIGINT")
    (flaw,) = validate(lists.service, pattern=PATTERN).json()["errors"]
    assert "vips" in flaw["remedy"]
    wrong = {"steps": [{"name": "a", "where": "user IN LIST('numbers')"}]}
    assert validate(lists.service, pattern=wrong).status_code == 422


def test_a_list_that_a_rule_names_is_not_deleted(lists: Lists, publish: Publish) -> None:
    lists.create("ana")
    publish(pattern=PATTERN)
    publish(id="second", pattern=PATTERN)
    assert naming(lists.service) == {"failed-logins": [1], "second": [1]}
    for path in (RULE, f"{RULE}/versions/1"):
        assert lists.client.get(path).json()["lists"] == ["vip"]
    refused = delete(lists.service)
    assert refused.status_code == 409
    assert "'failed-logins', 'second'" in refused.json()["detail"]

    lists.client.delete("/v1/processors/second", headers=ANY_STATE)
    lists.client.post(f"{RULE}/pause", headers=ANY_STATE)
    assert naming(lists.service) == {"failed-logins": [1]}
    assert delete(lists.service).status_code == 409
    publish(pattern=PLAIN)
    assert naming(lists.service) == {}
    assert delete(lists.service).status_code == 204


def test_versions_that_are_scheduled_or_tried_name_it_too(lists: Lists, publish: Publish) -> None:
    lists.create("ana")
    publish(pattern=PLAIN)
    publish(pattern=PATTERN, effective_from="2099-01-01T00:00:00Z")
    assert naming(lists.service) == {"failed-logins": [2]}
    assert delete(lists.service).status_code == 409
    lists.client.post(f"{RULE}/versions/2/cancel", headers=ANY_STATE)
    assert naming(lists.service) == {}
    document = processor_document(pattern=PATTERN)
    tried = lists.client.post(f"{RULE}/rollout", json=document, headers=ANY_STATE)
    assert tried.status_code == 200
    assert naming(lists.service) == {"failed-logins": [3]}
    assert delete(lists.service).status_code == 409


def test_a_version_whose_list_is_gone_is_not_rolled_back_to(lists: Lists, publish: Publish) -> None:
    lists.create("ana")
    publish(pattern=PATTERN)
    publish(pattern=PLAIN)
    assert delete(lists.service).status_code == 204

    def roll_back() -> Response:
        return lists.client.post(f"{RULE}/rollback", json={"version": 1}, headers=ANY_STATE)

    refused = roll_back()
    assert (refused.status_code, "'vip'" in refused.json()["detail"]) == (409, True)
    lists.create(1, type="BIGINT")
    refused = roll_back()
    assert (refused.status_code, "no longer STRING" in refused.json()["detail"]) == (409, True)
    delete(lists.service)
    lists.create("eve")
    assert roll_back().status_code == 200
    assert naming(lists.service) == {"failed-logins": [3]}


def test_a_new_definition_of_the_stream_fits_the_lists(lists: Lists, publish: Publish) -> None:
    lists.create("ana")
    publish(pattern=PATTERN)
    stream = {"name": "logins", "event_time_column": "ts"}
    for user, status in (("BIGINT", 422), ("STRING", 200)):
        ddl = f"user {user}, action STRING, more STRING, ts TIMESTAMP"
        answer = lists.client.put(
            "/v1/streams/logins", json=stream | {"schema": ddl}, headers=ANY_STATE
        )
        assert answer.status_code == status, answer.text


@pytest.mark.parametrize("pattern", [PATTERN, CLAUSE])
def test_examples_are_run_with_the_values_that_are_in_effect(
    lists: Lists, pattern: dict[str, Any]
) -> None:
    lists.create("eve")
    lists.put(["ana"], effective_from="2099-01-01T00:00:00Z")
    step = "a" if pattern is PATTERN else "A"
    for position, status in ((1, 200), (0, 422)):
        example = {"events": EVENTS, "matches": [{step: [position]}]}
        answer = validate(lists.service, pattern=pattern, key_by=None, examples=[example])
        assert answer.status_code == status, answer.text


def test_drafts_are_tried_with_lists(lists: Lists) -> None:
    lists.create("ANA", "EVE")
    lists.create(*(f"u{number}" for number in range(1_000)), name="long")
    author = lists.service.as_role(Role.AUTHOR)
    trial = {"text": DRAFT, "events": EVENTS}
    answer = lists.client.post("/v1/drafts/trial", json=trial, headers=author)
    assert answer.status_code == 200, answer.text
    assert [match["key"] for match in answer.json()["matches"]] == [["ana"], ["eve"]]
    samples = lists.client.post("/v1/drafts/samples", json={"text": DRAFT}, headers=author)
    assert samples.status_code == 200, samples.text
    unknown = {"text": DRAFT.replace("vip", "vop"), "events": EVENTS}
    refused = lists.client.post("/v1/drafts/trial", json=unknown, headers=author)
    assert refused.status_code == 422
    assert "Did you mean vip" in refused.json()["errors"][0]["remedy"]
