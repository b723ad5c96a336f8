"""A change under an idempotency key is made once, however often it is asked for."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from httpx2 import Response
from sqlalchemy import func, select

from api.idempotency import answers
from api.idempotency.tables import IdempotentRequest
from contract.service.tokens import Role
from tests.api.documents import ANY_STATE, PATTERN, processor_document
from tests.api.running import Publish, ServiceUnderTest

RULES = "/v1/processors"
RULE = f"{RULES}/failed-logins"
KEY = {"Idempotency-Key": "a1b2"}


def create(service: ServiceUnderTest, headers: dict[str, str] = KEY, **changes: Any) -> Response:
    document = processor_document(**changes)
    return service.client.post(RULES, json=document, headers=headers)


def actions(service: ServiceUnderTest) -> list[str]:
    return [each["action"] for each in service.client.get("/v1/changes").json()["items"]]


def kept(service: ServiceUnderTest) -> int:
    with service.app.state.runtime.database.reading() as session:
        return session.scalar(select(func.count()).select_from(IdempotentRequest)) or 0


def test_the_same_request_again_is_answered_as_before_and_changes_nothing(
    with_stream: ServiceUnderTest,
) -> None:
    first = create(with_stream)
    again = create(with_stream)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    for name in ("ETag", "Location", "Content-Type"):
        assert first.headers[name] == again.headers[name]
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert actions(with_stream).count("processor.create") == 1


def test_an_answer_with_a_key_is_that_without_one(with_stream: ServiceUnderTest) -> None:
    plain = create(with_stream, {})
    with_stream.client.delete(RULE, headers=ANY_STATE)
    again = create(with_stream)
    moments = {"created_at", "updated_at", "revision", "version", "published", "latest_version"}
    shown = [
        {name: value for name, value in each.json().items() if name not in moments}
        for each in (plain, again)
    ]
    assert shown[0] == shown[1]
    assert set(plain.json()) == set(again.json())


def test_it_is_answered_before_anything_of_it_is_checked_again(
    with_stream: ServiceUnderTest, publish: Publish
) -> None:
    shown = publish()
    paused = with_stream.client.post(
        f"{RULE}/pause", headers=KEY | {"If-Match": f'"{shown["revision"]}"'}
    )
    with_stream.client.delete(RULE, headers=ANY_STATE)
    again = with_stream.client.post(
        f"{RULE}/pause", headers=KEY | {"If-Match": f'"{shown["revision"]}"'}
    )
    assert (again.status_code, again.json()) == (200, paused.json())
    assert create(with_stream).status_code == 422  # the key was of another request

    deleted = with_stream.client.delete(RULE, headers={"Idempotency-Key": "x"} | ANY_STATE)
    assert deleted.status_code == 404  # refused: nothing is kept, and the key is free
    assert create(with_stream, {"Idempotency-Key": "x"}).status_code == 201
    for _ in range(2):
        deleted = with_stream.client.delete(RULE, headers={"Idempotency-Key": "y"} | ANY_STATE)
        assert (deleted.status_code, deleted.content) == (204, b"")


def test_another_request_with_the_key_is_refused_and_another_token_has_its_own_keys(
    with_stream: ServiceUnderTest,
) -> None:
    create(with_stream)
    other = create(with_stream, id="other")
    assert other.json()["errors"][0]["pointer"] == "header/Idempotency-Key"
    other_token = create(with_stream, KEY | with_stream.as_role(Role.PUBLISHER), id="other")
    assert other_token.status_code == 201
    too_long = create(with_stream, {"Idempotency-Key": "k" * 256}, id="third")
    assert too_long.status_code == 422


def test_one_of_many_at_once_is_made_and_all_are_answered_alike(
    with_stream: ServiceUnderTest,
) -> None:
    together = threading.Barrier(8)

    def send(_number: int) -> Response:
        together.wait()
        return create(with_stream)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(send, range(8)))
    assert [each.status_code for each in found] == [201] * 8
    assert all(each.json() == found[0].json() for each in found)
    assert actions(with_stream).count("processor.create") == 1


def test_secrets_are_not_kept(service: ServiceUnderTest) -> None:
    def ask() -> Response:
        token = {"name": "ci", "role": "author"}
        return service.client.post("/v1/tokens", json=token, headers=KEY)

    text = ask().json()["token"]
    again = ask()
    assert again.status_code == 409
    assert "secret" in again.json()["detail"]
    names = [each["name"] for each in service.client.get("/v1/tokens").json()]
    assert names.count("ci") == 1
    with service.app.state.runtime.database.reading() as session:
        row = session.scalars(select(IdempotentRequest)).one()
    assert text not in f"{row.body}{row.headers}"


def test_an_answer_that_is_very_long_is_not_kept(
    with_stream: ServiceUnderTest, monkeypatch: Any
) -> None:
    monkeypatch.setattr(answers, "LONGEST_KEPT", 10)
    assert create(with_stream).status_code == 201
    assert create(with_stream).status_code == 409
    assert actions(with_stream).count("processor.create") == 1


def test_keys_are_forgotten_after_a_day_and_beyond_so_many(
    with_rule: ServiceUnderTest, monkeypatch: Any
) -> None:
    def label(key: str) -> int:
        headers = ANY_STATE | {"Idempotency-Key": key}
        return with_rule.client.patch(RULE, json={"owner": key}, headers=headers).status_code

    monkeypatch.setattr(answers, "KEPT_PER_TOKEN", 3)
    assert [label(f"key {number}") for number in range(5)] == [200] * 5
    assert kept(with_rule) == 3
    with_rule.clock.time_ms += answers.KEPT_MS + 60_000
    label("new")
    assert kept(with_rule) == 1


def test_after_a_day_a_change_is_made_again_even_if_its_key_was_not_forgotten(
    with_rule: ServiceUnderTest, monkeypatch: Any
) -> None:
    def pause_and_resume() -> list[str | None]:
        return [
            with_rule.client.post(
                f"{RULE}/{action}", headers=ANY_STATE | {"Idempotency-Key": action}
            ).headers.get("Idempotent-Replayed")
            for action in ("pause", "resume")
        ]

    assert pause_and_resume() == [None, None]
    assert pause_and_resume() == ["true", "true"]
    with_rule.clock.time_ms += answers.KEPT_MS
    monkeypatch.setattr(answers, "_FORGOTTEN_AT_ONCE", 0)
    assert pause_and_resume() == [None, None]
    assert pause_and_resume() == ["true", "true"]
    assert actions(with_rule).count("processor.pause") == 2


@pytest.mark.parametrize("store_kind", ["postgresql"], indirect=True, scope="module")
def test_no_change_waits_for_another_that_forgets_old_keys(with_rule: ServiceUnderTest) -> None:
    create(with_rule, id="old")
    with_rule.clock.time_ms += answers.KEPT_MS
    database = with_rule.app.state.runtime.database
    with database.writing() as session:
        session.scalars(select(IdempotentRequest).with_for_update()).all()
        answer = with_rule.client.patch(
            RULE, json={"owner": "a"}, headers=ANY_STATE | {"Idempotency-Key": "another"}
        )
        assert answer.status_code == 200
        assert kept(with_rule) == 2


def test_an_upload_takes_no_key(with_stream: ServiceUnderTest) -> None:
    lists = "/v1/streams/logins/lists"
    created = with_stream.client.post(lists, json={"name": "vip", "type": "STRING"}, headers=KEY)
    assert created.status_code == 201
    put = with_stream.client.put(
        f"{lists}/vip/values",
        content=b"ana",
        headers=KEY | ANY_STATE | {"Content-Type": "text/csv"},
    )
    assert put.json()["errors"][0]["pointer"] == "header/Idempotency-Key"


def test_a_pattern_is_the_first_one_even_where_the_rule_has_gone_on(
    with_rule: ServiceUnderTest,
) -> None:
    changed = processor_document(pattern=PATTERN | {"within": "5 minutes"})
    first = with_rule.client.put(RULE, json=changed, headers=ANY_STATE | KEY)
    with_rule.client.put(RULE, json=processor_document(), headers=ANY_STATE)
    again = with_rule.client.put(RULE, json=changed, headers=ANY_STATE | KEY)
    assert again.json() == first.json()
    assert with_rule.client.get(RULE).json()["version"] == 3
