"""A wrong document is refused for the same reasons wherever it is handed in, all at once."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.gitops.planning import make_plan
from api.offline.streams import streams_at_hand
from api.offline.testing import Surroundings, outcomes_of
from api.trials.processes import TrialProcesses
from cep.definition.rule_files import FileDocument, read_documents
from cep.pattern.document.text import SourceDocument
from contract.service.tokens import Role
from discoverers import DiscovererSurroundings, create_discoverer
from discoverers.assembly import assemble
from discoverers.files import FilesDiscoverer
from tests.api.commands import write
from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.listening import ListeningService, listening_service

COLUMNS = f"{STREAM['schema']}, tags ARRAY<STRING>"
TAGGED = STREAM | {"name": "tagged", "schema": COLUMNS}
NEW = TAGGED | {"name": "new"}

Document = dict[str, Any]
Told = set[tuple[str, str]]
"""Path, and what is wrong there with how to mend it."""


def steps(*changes: Document) -> Document:
    """Return a pattern of steps a, b, … that follow each other, with changes."""
    names = iter("abcdef")
    made = [{"name": next(names), "contiguity": "next"} | change for change in changes]
    made[0].pop("contiguity")
    return {"steps": made, "within": "1 hour"}


LIMITS = {"events_per_kye": 3, "partial_matches_per_key": 0}
EXAMPLE = {"evnts": [], "events": [{"ts": 1}], "matches": {"fail": [0]}}
BACKWARDS = {"effective_from": "2030-01-01T00:00:00Z", "effective_until": "2029-01-01T00:00:00Z"}
SIGNED = {"format": 3, "name": "x", "python_version": "2.7", "key_id": "k", "signature": "?"}

WRONG: dict[str, tuple[Document, set[str]]] = {
    "a key of lists": ({"key_by": ["user", "tags"]}, {"key_by[1]"}),
    "a key that is a number": ({"key_by": 3}, {"key_by"}),
    "keys of which each is wrong": (
        {"key_by": ["usr", 3, "", "user +", "tags"]},
        {f"key_by[{index}]" for index in range(5)},
    ),
    "a column of no step": ({"select": {"total": "amount"}}, {"select.total"}),
    "columns of which each is wrong": (
        {"select": {"a": "login.amuont", "b": 3, "c": "SUM(lgin.amount)", "d/e": "COUNT("}},
        {"select.a", "select.b", "select.c", "select.d/e"},
    ),
    "a column without step beside an unknown one": (
        {"select": {"x": "CONCAT(user, login.usr)"}},
        {"select.x"},
    ),
    "an unknown column": ({"pattern": steps({"where": "amuont > 1"})}, {"pattern.steps[0].where"}),
    "conditions that are none": (
        {"pattern": steps({"where": "user > 1"}, {"where": "user >"})},
        {"pattern.steps[0].where", "pattern.steps[1].where"},
    ),
    "no steps": ({"pattern": {"steps": []}}, {"pattern.steps"}),
    "a pattern that is none": ({"pattern": 3}, {"pattern"}),
    "one step of which the shape is wrong, one of which the condition is": (
        {"pattern": steps({"tims": 3}, {"where": "amuont > 1"}, {"contiguity": "nxet"})},
        {"pattern.steps[0].tims", "pattern.steps[1].where", "pattern.steps[2].contiguity"},
    ),
    "a step that cannot be read, and expressions that may name it": (
        {
            "pattern": steps({"name": 3}, {"where": "amount > x.amount AND usr = 1"}),
            "select": {"x": "x.amount", "y": "b.amuont", "z": "amount"},
        },
        {"pattern.steps[0].name", "select.y", "select.z"},
    ),
    "a rule of the language": (
        {"pattern": steps({"greedy": True}, {"optional": True, "where": "usr = 1"})},
        {"pattern.steps[0].greedy", "pattern.steps[1].optional", "pattern.steps[1].where"},
    ),
    "words that are not known": (
        {"severity": "hgh", "on_update": "drian", "sevrity": "low"},
        {"severity", "on_update", "sevrity"},
    ),
    "labels": ({"tags": ["ok", "not ok"], "owner": 3}, {"tags[1]", "owner"}),
    "limits": ({"limits": LIMITS}, {"limits.events_per_kye", "limits.partial_matches_per_key"}),
    "examples": ({"examples": [EXAMPLE]}, {"examples[0].evnts", "examples[0].matches"}),
    "no time": ({"effective_from": "tomorrow"}, {"effective_from"}),
    "a time without zone": ({"effective_until": "2030-01-01T00:00:00"}, {"effective_until"}),
    "an end before the beginning": (BACKWARDS, {"effective_until"}),
    "code that is none": (
        {"function": SIGNED},
        {f"function.{key}" for key in ("format", "python_version", "signature", "payload")},
    ),
    "two outputs": (
        {"select": {}, "function": SIGNED | {"format": 1}},
        {"function", "function.python_version", "function.signature", "function.payload"},
    ),
    "an id that is none": ({"id": "not an id"}, {"id"}),
}
EVERYTHING: Document = {
    "key_by": ["tags"],
    "select": {"total": "amount"},
    "pattern": steps({"where": "amuont > 1"}, {"tims": 3}),
    "effective_from": BACKWARDS["effective_from"],
    "effective_until": BACKWARDS["effective_until"],
    "severity": "hgh",
    "limits": LIMITS,
    "examples": [EXAMPLE],
    "ownr": "me",
}
ALL_PATHS = {
    *("key_by[0]", "select.total", "pattern.steps[0].where", "pattern.steps[1].tims"),
    *("effective_until", "severity", "ownr"),
    *("limits.events_per_kye", "limits.partial_matches_per_key"),
    *("examples[0].evnts", "examples[0].matches"),
}


@pytest.fixture(scope="module")
def lasting(migrated_store: Callable[[str], str]) -> Iterator[ListeningService]:
    """One service that knows the stream `tagged`; nothing that is wrong is ever stored."""
    with listening_service(migrated_store("sqlite")) as service:
        service.service.client.post("/v1/streams", json=TAGGED).raise_for_status()
        yield service


def published(service: ListeningService, document: Document, _folder: Path) -> Told:
    answer = service.service.post("/v1/processors", Role.ADMIN, document, expect=422)
    return told_by_pointers(answer["errors"], document)


def drafted(service: ListeningService, document: Document, _folder: Path) -> Told:
    draft = {"text": yaml.safe_dump(document, sort_keys=False)}
    answer = service.service.client.post("/v1/drafts/check", json=draft).json()
    for problem in answer["problems"]:
        # The editor names the key in front of what is wrong with it.
        key, _, problem["detail"] = problem["detail"].partition(": ")
        assert problem["line"] is not None
        assert key.split("[")[0] in problem["pointer"].replace("~1", "/")
    return told_by_pointers(answer["problems"], document)


def plan(service: ListeningService, document: Document, folder: Path) -> Told:
    write(folder / "rule.yaml", document)
    documents, unreadable = read_documents([folder])
    assert unreadable == []
    with service.client() as client:
        _, problems = make_plan(client, documents, None, prune=False)
    assert all(problem.line is not None for problem in problems)
    return {(problem.path, problem.message) for problem in problems}


def planned_with_its_stream(service: ListeningService, document: Document, folder: Path) -> Told:
    write(folder / "stream.yaml", NEW)
    return plan(service, document | {"stream": "new"}, folder)


def discovered(_service: ListeningService, document: Document, folder: Path) -> Told:
    write(folder / "stream.yaml", TAGGED)
    write(folder / "good.yaml", processor_document(id="good", stream="tagged"))
    write(folder / "rule.yaml", document)
    config = {"type": "directory", "path": str(folder), "settle_seconds": 0}
    discoverer = create_discoverer(config, DiscovererSurroundings(stream="tagged", environment={}))
    assert isinstance(discoverer, FilesDiscoverer)
    found = discoverer.get_processors()
    assert found is not None
    (problem,) = assemble(found, None).problems
    lines = [line for line in problem.message.splitlines() if not line.startswith("  ")]
    parts = [re.fullmatch(r"(\S+)(?: \(line \d+, column \d+\))?: (.*)", line) for line in lines]
    return {(part[1], part[2]) for part in parts if part is not None}


def told_by_pointers(flaws: list[Document], document: Document) -> Told:
    place = FileDocument(Path("sent"), SourceDocument(document))
    return {
        (place.path_of_pointer(flaw["pointer"]), f"{flaw['detail']} {flaw['remedy']}".rstrip())
        for flaw in flaws
    }


def checked_in_files(_service: ListeningService, document: Document, folder: Path) -> Told:
    write(folder / "stream.yaml", TAGGED)
    write(folder / "rule.yaml", document)
    documents, _ = read_documents([folder])
    streams, _ = streams_at_hand(documents, [folder], [])
    around = Surroundings(streams, None, TrialProcesses(1, 100))
    rule, stream = outcomes_of(documents, [], around, lambda _place: True)
    assert not stream.all_problems
    assert all(problem.line is not None for problem in rule.problems)
    return {(problem.path, problem.message) for problem in rule.problems}


WAYS = [published, drafted, plan, planned_with_its_stream, discovered, checked_in_files]


@pytest.mark.parametrize("case", WRONG)
def test_every_way_tells_the_same(case: str, lasting: ListeningService, tmp_path: Path) -> None:
    changes, paths = WRONG[case]
    document = processor_document(stream="tagged") | changes
    answers = {}
    for way in WAYS:
        folder = tmp_path / way.__name__
        folder.mkdir()
        answers[way.__name__] = way(lasting, document, folder)
    first = answers["published"]
    assert {path for path, _ in first} == paths
    assert answers == dict.fromkeys(answers, first)


@pytest.mark.parametrize("way", WAYS)
def test_mistakes_of_every_kind_are_told_at_once_also_without_an_id(
    way: Callable[..., Told], lasting: ListeningService, tmp_path: Path
) -> None:
    document = processor_document(stream="tagged") | EVERYTHING
    assert {path for path, _ in way(lasting, document, tmp_path)} == ALL_PATHS
    without = processor_document(stream="tagged", key_by=["usr"])
    del without["id"]
    assert {path for path, _ in way(lasting, without, tmp_path)} == {"id", "key_by[0]"}


def test_what_is_beside_a_document_does_not_hide_the_rest_of_it(lasting: ListeningService) -> None:
    """An unknown stream, another id than that of the path, examples."""
    service, elsewhere = lasting.service, processor_document(stream="nowhere")
    service.post("/v1/validate", Role.ADMIN, elsewhere, expect=404)
    wrong = processor_document(stream="tagged", key_by=["usr"])
    example = {"events": [{"ts": 1, "user": "u"}], "matches": [{"fail": [0]}]}
    failing = processor_document(stream="tagged", severity="hgh", examples=[example])
    for method, path, document, pointers in (
        (
            "POST",
            "/v1/validate",
            elsewhere | {"severity": "hgh", "key_by": ["user +"]},
            ["/severity", "/key_by/0", "/stream"],
        ),
        ("PUT", "/v1/processors/another", wrong, ["/key_by/0", "/id"]),
        ("POST", "/v1/validate", failing, ["/severity", "/examples/0/matches"]),
    ):
        answer = service.send(method, path, document)
        assert answer.status_code == 422
        assert [flaw["pointer"] for flaw in answer.json()["errors"]] == pointers


def test_the_good_document_is_good(lasting: ListeningService, tmp_path: Path) -> None:
    document = processor_document(stream="tagged", pattern=PATTERN)
    assert lasting.service.client.post("/v1/validate", json=document).status_code == 200
    assert plan(lasting, document, tmp_path) == set()
