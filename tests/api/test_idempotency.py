"""A change under an idempotency key is made once, however often it is asked for."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from httpx2 import Response
from sqlalchemy import func, select

from api.idempotency import answers
from api.idempotency.tables import IdempotentRequest
from contract.service.tokens import Role
from tests.api.documents import ANY_STATE, PATTERN, processor_document
from tests.api.lists import CSV, VIP, Lists
from tests.api.running import Service

RULES = "/v1/processors"
RULE = f"{RULES}/failed-logins"
KEY = {"Idempotency-Key": "a1b2"}


def create(service: Service, headers: dict[str, str] = KEY, **changes: Any) -> Response:
    return service.client.post(RULES, json=processor_document(**changes), headers=headers)


def under(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


def created(service: Service) -> int:
    """Return how often a rule was created."""
    return [each["action"] for each in service.log()].count("processor.create")


def kept(service: Service) -> int:
    with service.database.reading() as session:
        return session.scalar(select(func.count()).select_from(IdempotentRequest)) or 0


def test_the_same_request_is_answered_as_before_and_another_refused(with_stream: Service) -> None:
    first, again = create(with_stream), create(with_stream)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    for name in ("ETag", "Location", "Content-Type"):
        assert first.headers[name] == again.headers[name]
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert created(with_stream) == 1
    other = create(with_stream, id="other")
    assert other.json()["errors"][0]["pointer"] == "header/Idempotency-Key"
    other_token = create(with_stream, KEY | with_stream.as_role(Role.PUBLISHER), id="other")
    assert other_token.status_code == 201
    assert create(with_stream, under("k" * 256), id="third").status_code == 422


def test_an_answer_with_a_key_is_that_without_one(with_stream: Service) -> None:
    plain = create(with_stream, {}).json()
    with_stream.done("DELETE", RULE)
    again = create(with_stream).json()
    moments = ("created_at", "updated_at", "revision", "version", "published")
    assert again | {name: plain[name] for name in moments} == plain


def test_it_is_answered_before_anything_of_it_is_checked_again(with_rule: Service) -> None:
    seen = KEY | {"If-Match": with_rule.client.get(RULE).headers["ETag"]}
    paused = with_rule.send("POST", f"{RULE}/pause", **seen)
    with_rule.done("DELETE", RULE)
    again = with_rule.send("POST", f"{RULE}/pause", **seen)
    assert (again.status_code, again.json()) == (200, paused.json())
    assert create(with_rule).status_code == 422  # the key was of another request
    # What is refused is not kept, and the key is free.
    assert with_rule.send("DELETE", RULE, **under("x")).status_code == 404
    assert create(with_rule, under("x")).status_code == 201
    for _ in range(2):
        deleted = with_rule.send("DELETE", RULE, **under("y"))
        assert (deleted.status_code, deleted.content) == (204, b"")


def test_one_of_many_at_once_is_made_and_all_are_answered_alike(with_stream: Service) -> None:
    together = threading.Barrier(8)

    def send(_number: int) -> Response:
        together.wait()
        return create(with_stream)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(send, range(8)))
    assert [each.status_code for each in found] == [201] * 8
    assert all(each.json() == found[0].json() for each in found)
    assert created(with_stream) == 1


def test_secrets_are_not_kept_nor_an_answer_that_is_very_long(
    with_stream: Service, monkeypatch: Any
) -> None:
    ask = partial(with_stream.send, "POST", "/v1/tokens", {"name": "ci", "role": "author"}, **KEY)
    text = ask().json()["token"]
    again = ask()
    assert again.status_code == 409
    assert "secret" in again.json()["detail"]
    names = [each["name"] for each in with_stream.get("/v1/tokens", Role.ADMIN)]
    assert names.count("ci") == 1
    with with_stream.database.reading() as session:
        row = session.scalars(select(IdempotentRequest)).one()
    assert text not in f"{row.body}{row.headers}"
    monkeypatch.setattr(answers, "LONGEST_KEPT", 10)
    long = under("long")
    assert [create(with_stream, long).status_code for _ in range(2)] == [201, 409]
    assert created(with_stream) == 1


def test_keys_are_forgotten_after_a_day_and_beyond_so_many(
    with_rule: Service, monkeypatch: Any
) -> None:
    def label(key: str) -> int:
        return with_rule.send("PATCH", RULE, {"owner": key}, **under(key)).status_code

    monkeypatch.setattr(answers, "KEPT_PER_TOKEN", 3)
    assert [label(f"key {number}") for number in range(5)] == [200] * 5
    assert kept(with_rule) == 3
    with_rule.clock.time_ms += answers.KEPT_MS + 60_000
    label("new")
    assert kept(with_rule) == 1


def test_after_a_day_a_change_is_made_again_even_if_its_key_was_not_forgotten(
    with_rule: Service, monkeypatch: Any
) -> None:
    def pause_and_resume() -> list[str | None]:
        made = [
            with_rule.send("POST", f"{RULE}/{action}", **under(action))
            for action in ("pause", "resume")
        ]
        return [answer.headers.get("Idempotent-Replayed") for answer in made]

    assert pause_and_resume() == [None, None]
    assert pause_and_resume() == ["true", "true"]
    with_rule.clock.time_ms += answers.KEPT_MS
    monkeypatch.setattr(answers, "_FORGOTTEN_AT_ONCE", 0)
    assert pause_and_resume() == [None, None]
    assert pause_and_resume() == ["true", "true"]
    assert len(with_rule.log(action="processor.pause")) == 2


@pytest.mark.parametrize("store_kind", ["postgresql"], indirect=True, scope="module")
def test_no_change_waits_for_another_that_forgets_old_keys(with_rule: Service) -> None:
    create(with_rule, id="old")
    with_rule.clock.time_ms += answers.KEPT_MS
    with with_rule.database.writing() as session:
        session.scalars(select(IdempotentRequest).with_for_update()).all()
        assert with_rule.send("PATCH", RULE, {"owner": "a"}, **under("another")).is_success
        assert kept(with_rule) == 2


def test_an_upload_takes_no_key(lists: Lists) -> None:
    lists.create()
    headers = KEY | ANY_STATE | CSV
    put = lists.client.put(f"{VIP}/values", content=b"ana", headers=headers)
    assert put.json()["errors"][0]["pointer"] == "header/Idempotency-Key"


def test_a_pattern_is_the_first_one_even_where_the_rule_has_gone_on(with_rule: Service) -> None:
    changed = processor_document(pattern=PATTERN | {"within": "5 minutes"})
    first = with_rule.send("PUT", RULE, changed, **KEY)
    with_rule.publish()
    assert with_rule.send("PUT", RULE, changed, **KEY).json() == first.json()
    assert with_rule.get(RULE)["version"] == 3
