"""Triage counted per rule, as an order of rules, as labels, as metrics; and heard as it changes."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.service.tokens import Role
from tests.api.running import START_MS, Service
from tests.api.triage import (
    MATCHES,
    TRIAGE,
    bulk,
    counts,
    found,
    listed,
    match_id,
    post,
    selected,
    triage,
)
from tests.properties import slow_property

RULES = ("a", "b")
STATUSES = ("open", "acknowledged", "false_positive", "resolved")
NUMBERS = st.integers(0, 11)
CHANGES = st.fixed_dictionaries(
    {"status": st.sampled_from(STATUSES)}, optional={"assignee": st.sampled_from(["", "ana"])}
)
ACTIONS = st.one_of(
    st.tuples(st.just("post"), st.lists(NUMBERS, min_size=1, max_size=4)),
    st.tuples(st.just("one"), NUMBERS, CHANGES),
    st.tuples(st.just("many"), st.lists(NUMBERS, min_size=1, max_size=3), CHANGES),
    st.tuples(st.just("found"), st.sampled_from(RULES), st.sampled_from(STATUSES), CHANGES),
)
KEPT = 4


class Model:
    """What the service should know: recent matches by rule, and what was decided of which match."""

    def __init__(self) -> None:
        self.recent: list[int] = []
        self.decided: dict[int, tuple[str, str]] = {}

    def post(self, numbers: list[int]) -> None:
        self.recent += [each for each in dict.fromkeys(numbers) if each not in self.recent]
        for rule in RULES:
            of_rule = [number for number in self.recent if rule_of(number) == rule]
            gone = set(of_rule[:-KEPT])
            self.recent = [number for number in self.recent if number not in gone]

    def knows(self, number: int) -> bool:
        return number in self.recent or number in self.decided

    def state(self, number: int) -> tuple[str, str]:
        return self.decided.get(number, ("open", ""))

    def change(self, number: int, change: dict[str, str]) -> None:
        status, assignee = self.state(number)
        wanted = change["status"], change.get("assignee", assignee)
        if wanted != (status, assignee):
            self.decided[number] = wanted

    def counts(self, rule: str) -> dict[str, int]:
        decided = [number for number in self.decided if self.state(number)[0] != "open"]
        still_open = [number for number in self.recent if self.state(number)[0] == "open"]
        of_rule = [number for number in decided + still_open if rule_of(number) == rule]
        return dict.fromkeys(STATUSES, 0) | Counter(self.state(number)[0] for number in of_rule)


def rule_of(number: int) -> str:
    return RULES[number % 2]


@slow_property()
@given(actions=st.lists(ACTIONS, max_size=14))
def test_lists_and_counts_are_those_of_a_model(
    module_service: Service, actions: list[tuple[Any, ...]]
) -> None:
    service = module_service
    service.begin_with_stream(matches_per_processor=KEPT)
    model = Model()
    for what, *arguments in actions:
        _ACT[what](service, model, *arguments)
    for status in STATUSES:
        expected = [number for number in reversed(model.recent) if model.state(number)[0] == status]
        assert listed(service, status=status) == expected
    assert listed(service, assignee="ana") == [
        number for number in reversed(model.recent) if model.state(number)[1] == "ana"
    ]
    counted = counts(service)
    for rule in RULES:
        expected_counts = model.counts(rule)
        looked_at = sum(expected_counts.values()) - expected_counts["open"]
        of_rule = counted.get(rule, dict.fromkeys(STATUSES, 0) | {"false_positive_rate": None})
        rate = of_rule.pop("false_positive_rate")
        assert of_rule == expected_counts
        assert (rate is None) == (looked_at == 0)
        if rate is not None:
            assert rate == pytest.approx(expected_counts["false_positive"] / looked_at, abs=1e-6)


def _post(service: Service, model: Model, numbers: list[int]) -> None:
    post(service, *[found(number, processor_id=rule_of(number)) for number in numbers])
    model.post(numbers)


def _one(service: Service, model: Model, number: int, change: dict[str, str]) -> None:
    _many(service, model, [number], change)


def _many(service: Service, model: Model, numbers: list[int], change: dict[str, str]) -> None:
    answer = bulk(service, {"matches": selected(*numbers), **change})
    if all(map(model.knows, numbers)):
        assert answer.status_code == 200, answer.text
        for number in numbers:
            model.change(number, change)
    else:
        assert answer.status_code == 422


def _found(service: Service, model: Model, rule: str, status: str, change: dict[str, str]) -> None:
    assert bulk(service, change, processor=rule, status=status).status_code == 200
    for number in model.recent:
        if rule_of(number) == rule and model.state(number)[0] == status:
            model.change(number, change)


_ACT: dict[str, Callable[..., None]] = {
    "post": _post,
    "one": _one,
    "many": _many,
    "found": _found,
}


def test_counts_are_of_a_rule_a_version_a_kind(with_stream: Service) -> None:
    post(
        with_stream,
        found(1),
        found(2, version=2),
        found(3, version=2, kind="timeout"),
        found(4, processor_id="other"),
        found(5, version=3, kind="shadow"),
    )
    for number, status in ((5, "false_positive"), (2, "false_positive"), (3, "resolved")):
        triage(with_stream, number, status=status)
    names = ("open", "false_positive", "resolved", "false_positive_rate")
    none = (1, 0, 0, None)
    for query, expected in (
        ({}, {"failed-logins": (1, 1, 1, 0.5), "other": none}),
        ({"processor": "other"}, {"other": none}),
        ({"processor": "unknown"}, {}),
        ({"version": 1}, {"failed-logins": none, "other": none}),
        ({"version": 2}, {"failed-logins": (0, 1, 1, 0.5)}),
        ({"kind": "match", "version": 2}, {"failed-logins": (0, 1, 0, 1.0)}),
        ({"kind": "shadow"}, {"failed-logins": (0, 1, 0, 1.0)}),
    ):
        told = counts(with_stream, **query).items()
        assert {rule: tuple(each[name] for name in names) for rule, each in told} == expected


def test_rules_are_counted_page_by_page_and_metrics_tell_what_waits(with_stream: Service) -> None:
    post(with_stream, *[found(number, processor_id=f"r{number}") for number in range(5)])
    pages = [page["items"] for page in with_stream.pages(TRIAGE, limit=3)]
    rules = [[item["processor_id"] for item in items] for items in pages]
    assert rules == [["r0", "r1", "r2"], ["r3", "r4"]]
    bulk(with_stream, {"matches": selected(0, 1), "status": "false_positive"})
    triage(with_stream, 2, assignee="ana")
    text = with_stream.client.get("/metrics").text
    lines = set(re.findall(r"^percept_recent_matches\{(.*)\} (.*)$", text, re.MULTILINE))
    assert lines == {
        ('status="open",stream="logins"', "3.0"),
        ('status="false_positive",stream="logins"', "2.0"),
    }


def test_rules_are_listed_with_their_counts_and_sorted_by_rate(with_stream: Service) -> None:
    for rule in ("good", "bad", "none", "worse"):
        with_stream.publish(id=rule)
    rules = ["good", "bad", "bad", "bad", "none", "worse", "worse"]
    post(with_stream, *[found(place, processor_id=rule) for place, rule in enumerate(rules)])
    bulk(with_stream, {"matches": selected(0, 2, 3), "status": "resolved"})
    bulk(with_stream, {"matches": selected(1, 5), "status": "false_positive"})
    path = "/v1/streams/logins/rules"
    lines = with_stream.get(path, sort="-false_positive_rate")["items"]
    rates = [(line["id"], line["triage"]["false_positive_rate"]) for line in lines]
    assert rates == [("worse", 1.0), ("bad", 0.333333), ("good", 0.0), ("none", None)]
    assert lines[1]["triage"] == counts(with_stream)["bad"]
    pages = with_stream.pages(path, sort="false_positive_rate", limit=1)
    walked = [line["id"] for page in pages for line in page["items"]]
    assert walked == ["none", "good", "bad", "worse"]


def test_assignees_are_known_by_how_much_they_have(with_stream: Service) -> None:
    post(with_stream, *map(found, range(4)))
    bulk(with_stream, {"matches": selected(0, 1), "assignee": "ana"})
    triage(with_stream, 2, assignee="Ben <b>")
    assert with_stream.get(f"{TRIAGE}/assignees") == [
        {"value": "ana", "count": 2},
        {"value": "Ben <b>", "count": 1},
    ]
    assert listed(with_stream, assignee="Ben <b>") == [2]
    assert listed(with_stream, unassigned=True) == [3]
    assert listed(with_stream, unassigned=False) == [2, 1, 0]
    for wrong in ("", " ana"):
        answer = with_stream.client.get(MATCHES, params={"assignee": wrong})
        assert answer.status_code == 422


def exported(service: Service, **query: Any) -> list[dict[str, str]]:
    headers = service.as_role(Role.VIEWER)
    answer = service.client.get(f"{TRIAGE}/labels", params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="labels-logins.csv"'
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


def test_labels_say_what_was_decided_of_which_match(with_stream: Service) -> None:
    post(with_stream, found(2, key=['=cmd|"x"\n', None, 7]), found(1, version=3), found(3))
    with_stream.clock.time_ms += 60_000
    triage(with_stream, 1, status="resolved")
    triage(with_stream, 2, status="false_positive")
    triage(with_stream, 3, assignee="ana")
    first, second = exported(with_stream)
    assert first == {
        "match_id": match_id(1),
        "rule": "failed-logins",
        "version": "3",
        "kind": "match",
        "key": '["eve"]',
        "start": "2027-01-15T08:00:00.000Z",
        "end": "2027-01-15T08:00:00.001Z",
        "label": "resolved",
        "labelled_at": "2027-01-15T08:01:00.000Z",
    }
    assert json.loads(second["key"]) == ['=cmd|"x"\n', None, 7]
    assert second["key"].startswith("[")
    assert second["label"] == "false_positive"


def test_labels_are_filtered(with_stream: Service) -> None:
    post(with_stream, found(0), found(1), found(2, version=2), found(3, processor_id="other"))
    bulk(with_stream, {"status": "resolved"}, kind="match")
    for query, numbers in (
        ({"processor": "other"}, [3]),
        ({"version": 2}, [2]),
        ({"since": "2027-01-15T08:00:00.002Z"}, [2, 3]),
        ({"until": "2027-01-15T08:00:00.002Z"}, [0, 1]),
        ({"processor": "none"}, []),
    ):
        ids = [line["match_id"] for line in exported(with_stream, **query)]
        assert ids == [match_id(number) for number in numbers], query


@pytest.mark.long
def test_many_labels_are_exported_once_each_in_the_order_of_time(with_stream: Service) -> None:
    total = 2_300
    for start in range(0, total, 460):
        ends = range(start, start + 460)
        matches = [found(total - number, processor_id=f"r{number % 5}") for number in ends]
        # Many end at the same time: their ids decide.
        post(with_stream, *[each | {"end_ms": START_MS + each["end_ms"] % 7} for each in matches])
    for rule in range(5):
        assert bulk(with_stream, {"status": "resolved"}, processor=f"r{rule}").is_success
    lines = [(line["end"], line["match_id"]) for line in exported(with_stream)]
    assert len(set(lines)) == total
    assert lines == sorted(lines)


def told(service: Service, query: str, **headers: str) -> list[tuple[str, str, Any]]:
    """Return the events of a listener: name, id, data."""
    answer = service.client.get(f"{MATCHES}/stream?{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    blocks = [
        dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        for block in answer.text.split("\n\n")
    ]
    return [(b["event"], b["id"], json.loads(b["data"])) for b in blocks if "data" in b]


def brief(events: list[tuple[str, str, Any]]) -> list[tuple[str, str, int, str]]:
    return [
        (name, event_id, data["output"]["failures"], data["triage"]["status"])
        for name, event_id, data in events
    ]


def test_changes_are_heard_by_those_who_ask_for_them(with_stream: Service) -> None:
    post(with_stream, found(1), found(2))
    triage(with_stream, 1, status="resolved")
    triage(with_stream, 2, note="hm")
    triage(with_stream, 1, status="open")
    first, last = ("triage", "2.2", 2, "open"), ("triage", "2.3", 1, "open")
    seen = {"Last-Event-ID": "2.2"}
    for query, headers, heard in (
        ("after=0", {}, [("match", "1", 1, "open"), ("match", "2", 2, "open")]),
        ("after=1&changes_after=0", {}, [("match", "2.0", 2, "open"), first, last]),
        ("after=1&changes_after=0", seen, [last]),
        ("after=0", seen, []),
        ("after=2&changes_after=99", {}, []),
    ):
        assert brief(told(with_stream, f"{query}&wait=0s", **headers)) == heard


def test_who_has_read_a_list_misses_no_change_after_it(with_stream: Service) -> None:
    post(with_stream, found(1))
    triage(with_stream, 1, status="resolved")
    newest = with_stream.get(MATCHES)["newest_change"]
    with ThreadPoolExecutor() as pool:
        listening = pool.submit(told, with_stream, f"after=1&changes_after={newest}&wait=1.5s")
        with_stream.wait_for_reader()
        triage(with_stream, 1, status="false_positive", assignee="ana")
        assert brief(listening.result()) == [("triage", "1.2", 1, "false_positive")]
    # A filter by status does not hide that a match has left it.
    post(with_stream, found(2, processor_id="other"))
    triage(with_stream, 2, status="resolved")
    query = "after=2&changes_after=0&wait=0s&status=open&processor=failed-logins"
    heard = brief(told(with_stream, query))
    assert [(number, status) for _, _, number, status in heard][-1] == (1, "false_positive")


def test_many_changes_are_heard_whole_and_in_order_by_who_comes_back(with_stream: Service) -> None:
    post(with_stream, *map(found, range(250)))
    assert bulk(with_stream, {"status": "resolved"}, kind="match").json()["changed"] == 250
    heard: list[tuple[str, str, Any]] = []
    while some := told(
        with_stream,
        "after=0&changes_after=0&wait=0s",
        **({"Last-Event-ID": heard[-1][1]} if heard else {}),
    ):
        heard += some
    assert [name for name, _, _ in heard] == ["match"] * 250 + ["triage"] * 250
    numbers = [int(event_id.partition(".")[2]) for _, event_id, _ in heard[250:]]
    assert numbers == list(range(1, 251))
