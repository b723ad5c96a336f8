"""What a match stands for is kept with it, however and in whatever order it is told."""

import csv
import io
import itertools
import json
import random
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.matches import groups
from cep.instants import iso_text
from contract.service.tokens import Role
from tests.api.documents import STREAM
from tests.api.running import START_MS, Service
from tests.api.test_matches import PATH, listen
from tests.api.test_triage_counts import told
from tests.api.triage import found

STREAMS = itertools.count()
HOUR_MS = 3_600_000
GROUP_ID = "00ab" * 8


def group_of(number: int, matches: int, **fields: Any) -> dict[str, Any]:
    """Return what the match of a number stands for, as a job posts it."""
    group = {
        "match_id": f"match-{number:012}",
        "group_id": GROUP_ID,
        "processor_id": "failed-logins",
        "version": 1,
        "matches": matches,
        "keys": 1,
        "group": {"country": "XX"},
        "from_ms": START_MS,
        "until_ms": START_MS + HOUR_MS,
    }
    return group | fields


def post(
    service: Service,
    matches: Iterable[dict[str, Any]] = (),
    *told: dict[str, Any],
    path: str = PATH,
) -> Any:
    """Post matches, and what matches stand for."""
    body = {"job": "main", "matches": list(matches), "groups": told}
    return service.post(path, Role.JOB, body)


def standing(service: Service, path: str = PATH) -> dict[int, int | None]:
    """Return for how many matches each one stands, by its number in the output."""
    return {
        each["output"]["failures"]: each["stands_for"] and each["stands_for"]["matches"]
        for each in service.get(path, limit=500)["items"]
    }


def test_a_match_says_what_it_stands_for_and_no_group_is_malformed(with_stream: Service) -> None:
    post(with_stream, [found(1, group_id=GROUP_ID), found(2)])
    before = with_stream.get(f"{PATH}/match-{1:012}")
    assert (before["group_id"], before["stands_for"]) == (GROUP_ID, None)
    counted = {"keys": 31, "keys_are_estimated": True, "is_rest": True}
    assert post(with_stream, [], group_of(1, 37, **counted)) == {"added": 0, "known": 0}
    span = {"since": iso_text(START_MS), "until": iso_text(START_MS + HOUR_MS)}
    stands_for = {"matches": 37, "group": {"country": "XX"}} | counted | span
    assert with_stream.get(f"{PATH}/match-{1:012}") == before | {"stands_for": stands_for}
    assert standing(with_stream) == {1: 37, 2: None}
    for fields, pointer in (
        ({"matches": 0}, "matches"),
        ({"group_id": "x"}, "group_id"),
        ({"match_id": "short"}, "match_id"),
        ({"group": {"country": "x" * 16_000}}, "group"),
        ({"until_ms": 2**60}, "until_ms"),
    ):
        body = {"job": "main", "matches": [], "groups": [group_of(1, 2) | fields]}
        answer = with_stream.post(PATH, Role.ADMIN, body, expect=422)
        assert answer["errors"][0]["pointer"] == f"/groups/0/{pointer}"


def test_those_it_stands_for_are_listed_only_if_asked_for(with_stream: Service) -> None:
    others = [found(number, group_id=GROUP_ID, kind="grouped") for number in (2, 3)]
    other = found(4, group_id="11" * 16, kind="grouped")
    post(with_stream, [found(1, group_id=GROUP_ID), *others, other], group_of(1, 3))
    assert standing(with_stream) == {1: 3}
    of_group = f"group={GROUP_ID}"
    for query, numbers in (
        (of_group, [1]),
        (f"{of_group}&kind=grouped", [3, 2]),
        ("kind=grouped", [4, 3, 2]),
    ):
        items = with_stream.get(f"{PATH}?{query}")["items"]
        assert [each["output"]["failures"] for each in items] == numbers, query
    assert with_stream.get(f"{PATH}/summary?{of_group}&kind=grouped")["total"] == 2
    with_stream.get(PATH, group="no", expect=422)


def test_what_it_stands_for_is_exported(with_stream: Service) -> None:
    post(with_stream, [found(1, group_id=GROUP_ID), found(2)], group_of(1, 37, keys=31))
    text = with_stream.client.get(f"{PATH}/export").text
    alone, group = (
        {name: row[name] for name in row if name.startswith(("group", "stands"))}
        for row in csv.DictReader(io.StringIO(text))
    )
    assert group == {
        "group": GROUP_ID,
        "stands_for_matches": "37",
        "stands_for_keys": "31",
        "stands_for_since": iso_text(START_MS),
        "stands_for_until": iso_text(START_MS + HOUR_MS),
    }
    assert not any(alone.values())
    lines = with_stream.client.get(f"{PATH}/export?format=jsonl").text.splitlines()
    told = [json.loads(line)["stands_for"] for line in lines]
    assert [each and each["matches"] for each in told] == [None, 37]


def test_listeners_hear_what_it_stands_for_and_of_triage_in_their_order(
    with_stream: Service,
) -> None:
    post(with_stream, map(found, (1, 2, 3)))
    with_stream.done("PATCH", f"{PATH}/match-{2:012}/triage", {"status": "resolved"})
    post(with_stream, [], group_of(1, 5))
    post(with_stream, [], group_of(1, 5), group_of(9, 2))  # nothing new of a match that is there
    post(with_stream, [], group_of(3, 4))
    heard = told(with_stream, "after=3&changes_after=0&wait=0s")
    shown = [(name, data["output"]["failures"]) for name, _, data in heard]
    assert shown == [("triage", 2), ("group", 1), ("group", 3)]
    last = {"Last-Event-ID": heard[1][1]}
    again = told(with_stream, "changes_after=0&wait=0s", **last)
    assert [name for name, _, _ in again] == ["group"]
    assert listen(with_stream, "after=3&wait=0s") == []


@pytest.mark.long
@given(
    order=st.randoms(use_true_random=False),
    sizes=st.lists(st.tuples(st.integers(0, 7), st.integers(1, 4)), max_size=12),
    cuts=st.lists(st.integers(0, 30), max_size=6),
)
def test_neither_order_nor_repetition_matters(
    with_stream: Service,
    order: random.Random,
    sizes: list[tuple[int, int]],
    cuts: list[int],
) -> None:
    stream = f"g{next(STREAMS)}"
    with_stream.done("POST", "/v1/streams", STREAM | {"name": stream})
    path = f"/v1/streams/{stream}/matches"
    rows: list[tuple[str, dict[str, Any]]] = [("match", found(number)) for number in range(6)]
    rows += [("group", group_of(number, matches)) for number, matches in sizes]
    rows += order.sample(rows, order.randint(0, len(rows)))
    order.shuffle(rows)
    for start, end in itertools.pairwise([0, *sorted(cuts), len(rows)]):
        matches, groups = (
            [row for kind, row in rows[start:end] if kind == wanted]
            for wanted in ("match", "group")
        )
        post(with_stream, matches, *groups, path=path)
    expected: dict[int, int | None] = dict.fromkeys(range(6))
    for number, size in sizes:
        if number in expected:
            expected[number] = max(expected[number] or 0, size)
    assert standing(with_stream, path) == expected


def test_a_group_of_a_match_that_was_let_go_is_found_again_if_the_match_is(
    service: Service,
) -> None:
    service.begin_with_stream(matches_per_processor=2)
    post(service, map(found, range(3)))
    post(service, [], group_of(0, 9))
    assert standing(service) == {1: None, 2: None}
    post(service, [found(0)])
    assert standing(service) == {2: None, 0: 9}


def test_of_groups_without_a_match_only_the_newest_are_kept(
    with_stream: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "WAITING_GROUPS", 3)
    post(with_stream, [], *(group_of(number, 2) for number in range(5)))
    post(with_stream, [], group_of(2, 2))  # told again, it is the newest
    post(with_stream, [], group_of(5, 2))
    post(with_stream, map(found, range(6)))
    assert standing(with_stream) == {0: None, 1: None, 2: 2, 3: None, 4: 2, 5: 2}
