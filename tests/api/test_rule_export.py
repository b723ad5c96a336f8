"""Rules read as documents over REST: `percept apply` finds them unchanged, a set imports them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from api.client import Client, RuleChange, ServiceError
from api.rules import exporting
from cep.definition.text import json_text
from tests.api.commands import Run
from tests.api.documents import PATTERN, processor_document
from tests.api.listening import listening_service
from tests.api.running import Service

EXPORT = "/v1/streams/logins/export"
CLAUSE = (
    "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES A.user AS who "
    "PATTERN (A B) DEFINE A AS action = 'fail', B AS action = 'login')"
)


def fill(client: Client) -> None:
    """Publish rules of every kind: labelled, paused, scheduled, clauses, tried, deleted."""
    labels = {"owner": "fraud", "tags": ["b", "a"], "description": "Three failures"}
    examples = [{"events": [{"ts": 1, "user": "a", "action": "x"}], "matches": []}]
    client.create(processor_document(id="labelled", examples=examples, **labels))
    client.create(processor_document(id="paused"), paused=True)
    client.create(processor_document(id="scheduled"))
    for year in (2030, 2031):
        later = {"effective_from": f"{year}-01-01T00:00:00.000Z", "severity": "high"}
        pattern = PATTERN | {"within": f"{year} seconds"}
        client.replace(processor_document(id="scheduled", pattern=pattern, **later), if_match="*")
    client.create({"id": "clause", "stream": "logins", "pattern": {"match_recognize": CLAUSE}})
    client.create(processor_document(id="tried"), shadow=True)
    client.create(processor_document(id="gone"))
    client.delete("gone")


def changes_of(documents: list[dict[str, Any]]) -> Iterator[RuleChange]:
    """Yield what publishes exported documents where none of these rules is."""
    seen = set()
    for document in documents:
        written = {name: value for name, value in document.items() if name != "paused"}
        change: RuleChange = {"action": "publish", "document": written}
        if document["id"] not in seen and document.get("paused"):
            change["paused"] = True
        seen.add(document["id"])
        yield change


def test_apply_finds_what_is_exported_unchanged(client: Client, run: Run, tmp_path: Path) -> None:
    fill(client)
    file = tmp_path / "rules.json"
    file.write_text(json_text(list(client.export_rules("logins"))), encoding="utf-8")
    assert run("apply", file, "--dry-run").output == "Plan: 4 unchanged\n"


def test_what_is_exported_is_imported_by_a_change_set(
    client: Client, migrated_store: Callable[[str], str]
) -> None:
    fill(client)
    documents = list(client.export_rules("logins"))
    told = [document["id"] for document in documents]
    assert told == ["clause", "labelled", "paused", *["scheduled"] * 3]
    with listening_service(migrated_store("sqlite")) as other, other.client() as importing:
        made = importing.change_rules("logins", changes_of(documents), comment="imported")
        assert made.epoch == 2
        assert list(importing.export_rules("logins")) == documents
        states = [rule.state for rule in importing.processors("logins")]
        assert states == ["published", "published", "paused", "scheduled"]
        with pytest.raises(ServiceError) as refused:
            importing.change_rules("logins", changes_of(documents))
        shown = (refused.value.status, refused.value.flaws[0].pointer)
        assert shown == (428, "/changes/0/based_on")


def test_the_client_waits_longer_for_a_set_than_for_other_answers() -> None:
    waited = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        waited.append(request.extensions["timeout"]["read"])
        body = {"stream": "logins", "is_dry_run": False, "epoch": None, "changes": []}
        return httpx2.Response(200, json=body | {"items": [], "next_cursor": None})

    transport = httpx2.MockTransport(answer)
    for seconds in (30.0, 300.0):
        it = Client("http://127.0.0.1", "token", timeout_seconds=seconds, transport=transport)
        with it:
            it.change_rules("logins", [])
            assert list(it.export_rules("logins")) == []
    assert waited == [120.0, 30.0, 300.0, 300.0]


def test_pages_end_between_rules_and_where_they_become_too_long(
    with_stream: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rule in ("a", "b", "c"):
        with_stream.publish(id=rule)
    with_stream.publish(
        id="b", pattern=PATTERN | {"within": "1 minute"}, effective_from="2030-01-01T00:00:00Z"
    )

    def pages(limit: int) -> list[list[str]]:
        found = list(with_stream.pages(EXPORT, limit=limit))
        assert {page["epoch"] for page in found} == {5}
        return [[document["id"] for document in page["items"]] for page in found]

    assert pages(100) == [["a", "b", "b", "c"]]
    assert pages(2) == [["a", "b", "b"], ["c"]]
    monkeypatch.setattr(exporting, "MOST_CHARACTERS", 10)
    assert pages(100) == [["a"], ["b", "b"], ["c"]]


def test_what_is_not_there_and_what_is_asked_wrongly(with_stream: Service) -> None:
    assert with_stream.get(EXPORT) == {"items": [], "next_cursor": None, "epoch": 1}
    with_stream.get(EXPORT.replace("logins", "none"), expect=404)
    for query in ("limit=0", "limit=501", "cursor=x", "page=1"):
        assert with_stream.client.get(f"{EXPORT}?{query}").status_code in {400, 422}, query
    with_stream.publish()
    with_stream.done("DELETE", "/v1/processors/failed-logins")
    assert with_stream.get(EXPORT)["items"] == []
