"""What a match stands for is kept with it, however and in whatever order it is told."""

import csv
import io
import itertools
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.matches import groups
from cep.instants import iso_text
from contract.service.tokens import Role
from tests.api.documents import STREAM
from tests.api.running import START_MS, ServiceUnderTest
from tests.api.test_matches import PATH, listen
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
    service: ServiceUnderTest,
    matches: list[dict[str, Any]],
    told: list[dict[str, Any]],
    path: str = PATH,
) -> Any:
    body = {"job": "main", "matches": matches, "groups": told}
    return service.post(path, Role.JOB, body)


def standing(service: ServiceUnderTest, path: str = PATH) -> dict[int, int | None]:
    """Return for how many matches each one stands, by its number in the output."""
    items = service.client.get(f"{path}?limit=500").json()["items"]
    return {
        each["output"]["failures"]: each["stands_for"] and each["stands_for"]["matches"]
        for each in items
    }


def test_a_match_says_what_it_stands_for(with_stream: ServiceUnderTest) -> None:
    post(with_stream, [found(1, group_id=GROUP_ID), found(2)], [])
    before = with_stream.client.get(f"{PATH}/match-{1:012}").json()
    assert (before["group_id"], before["stands_for"]) == (GROUP_ID, None)
    told = group_of(1, 37, keys=31, keys_are_estimated=True, is_rest=True)
    assert post(with_stream, [], [told]) == {"added": 0, "known": 0}
    one = with_stream.client.get(f"{PATH}/match-{1:012}").json()
    assert one == before | {
        "stands_for": {
            "matches": 37,
            "keys": 31,
            "keys_are_estimated": True,
            "group": {"country": "XX"},
            "is_rest": True,
            "since": iso_text(START_MS),
            "until": iso_text(START_MS + HOUR_MS),
        }
    }
    assert standing(with_stream) == {1: 37, 2: None}


def test_those_it_stands_for_are_listed_only_if_asked_for(with_stream: ServiceUnderTest) -> None:
    others = [found(number, group_id=GROUP_ID, kind="grouped") for number in (2, 3)]
    other = found(4, group_id="11" * 16, kind="grouped")
    post(with_stream, [found(1, group_id=GROUP_ID), *others, other], [group_of(1, 3)])
    assert standing(with_stream) == {1: 3}
    for query, numbers in (
        (f"group={GROUP_ID}", [1]),
        (f"group={GROUP_ID}&kind=grouped", [3, 2]),
        ("kind=grouped", [4, 3, 2]),
    ):
        items = with_stream.client.get(f"{PATH}?{query}").json()["items"]
        assert [each["output"]["failures"] for each in items] == numbers, query
    summary = with_stream.client.get(f"{PATH}/summary?group={GROUP_ID}&kind=grouped").json()
    assert summary["total"] == 2
    assert with_stream.client.get(f"{PATH}?group=no").status_code == 422


def test_what_it_stands_for_is_exported(with_stream: ServiceUnderTest) -> None:
    post(with_stream, [found(1, group_id=GROUP_ID), found(2)], [group_of(1, 37, keys=31)])
    answer = with_stream.client.get(f"{PATH}/export")
    alone, group = csv.DictReader(io.StringIO(answer.text))
    assert {name: group[name] for name in group if name.startswith(("group", "stands"))} == {
        "group": GROUP_ID,
        "stands_for_matches": "37",
        "stands_for_keys": "31",
        "stands_for_since": iso_text(START_MS),
        "stands_for_until": iso_text(START_MS + HOUR_MS),
    }
    assert not any(alone[name] for name in alone if name.startswith(("group", "stands")))
    answer = with_stream.client.get(f"{PATH}/export?format=jsonl")
    written = [json.loads(line)["stands_for"] for line in answer.text.splitlines()]
    assert [told and told["matches"] for told in written] == [None, 37]


def test_listeners_hear_what_it_stands_for_and_of_triage_in_their_order(
    with_stream: ServiceUnderTest,
) -> None:
    post(with_stream, [found(number) for number in (1, 2, 3)], [])
    triage = with_stream.client.patch(
        f"{PATH}/match-{2:012}/triage", json={"status": "resolved"}, headers={"If-Match": "*"}
    )
    assert triage.status_code == 200
    post(with_stream, [], [group_of(1, 5)])
    post(with_stream, [], [group_of(1, 5), group_of(9, 2)])  # nothing new of a match that is there
    post(with_stream, [], [group_of(3, 4)])
    answer = with_stream.client.get(f"{PATH}/stream?after=3&changes_after=0&wait=0s")
    blocks = [
        dict(line.split(": ", 1) for line in block.splitlines())
        for block in answer.text.split("\n\n")
        if "data: " in block
    ]
    heard = [(each["event"], json.loads(each["data"])["output"]["failures"]) for each in blocks]
    assert heard == [("triage", 2), ("group", 1), ("group", 3)]
    last = {"Last-Event-ID": blocks[1]["id"]}
    again = with_stream.client.get(f"{PATH}/stream?changes_after=0&wait=0s", headers=last)
    assert again.text.count("event: group") == 1
    assert listen(with_stream, "after=3&wait=0s") == []


@pytest.mark.long
@given(
    order=st.randoms(use_true_random=False),
    told=st.lists(st.tuples(st.integers(0, 7), st.integers(1, 4)), max_size=12),
    cuts=st.lists(st.integers(0, 30), max_size=6),
)
def test_neither_order_nor_repetition_matters(
    with_stream: ServiceUnderTest,
    order: random.Random,
    told: list[tuple[int, int]],
    cuts: list[int],
) -> None:
    stream = f"g{next(STREAMS)}"
    with_stream.client.post("/v1/streams", json=STREAM | {"name": stream})
    path = f"/v1/streams/{stream}/matches"
    rows: list[tuple[str, dict[str, Any]]] = [("match", found(number)) for number in range(6)]
    rows += [("group", group_of(number, matches)) for number, matches in told]
    rows += order.sample(rows, order.randint(0, len(rows)))
    order.shuffle(rows)
    for start, end in itertools.pairwise([0, *sorted(cuts), len(rows)]):
        part = rows[start:end]
        matches = [row for kind, row in part if kind == "match"]
        post(with_stream, matches, [row for kind, row in part if kind == "group"], path)
    expected: dict[int, int | None] = dict.fromkeys(range(6))
    for number, size in told:
        if number in expected:
            expected[number] = max(expected[number] or 0, size)
    assert standing(with_stream, path) == expected


def test_a_group_of_a_match_that_was_let_go_is_found_again_if_the_match_is(
    service: ServiceUnderTest,
) -> None:
    service.begin_with_stream(matches_per_processor=2)
    post(service, [found(number) for number in range(3)], [])
    post(service, [], [group_of(0, 9)])
    assert standing(service) == {1: None, 2: None}
    post(service, [found(0)], [])
    assert standing(service) == {2: None, 0: 9}


def test_of_groups_without_a_match_only_the_newest_are_kept(
    with_stream: ServiceUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "WAITING_GROUPS", 3)
    post(with_stream, [], [group_of(number, 2) for number in range(5)])
    post(with_stream, [], [group_of(2, 2)])  # told again, it is the newest
    post(with_stream, [], [group_of(5, 2)])
    post(with_stream, [found(number) for number in range(6)], [])
    assert standing(with_stream) == {0: None, 1: None, 2: 2, 3: None, 4: 2, 5: 2}


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"matches": 0}, "matches"),
        ({"group_id": "x"}, "group_id"),
        ({"match_id": "short"}, "match_id"),
        ({"group": {"country": "x" * 16_000}}, "group"),
        ({"until_ms": 2**60}, "until_ms"),
    ],
)
def test_a_malformed_group_is_refused_with_its_place(
    with_stream: ServiceUnderTest, fields: dict[str, Any], pointer: str
) -> None:
    body = {"job": "main", "matches": [], "groups": [group_of(1, 2) | fields]}
    answer = with_stream.post(PATH, Role.ADMIN, body, expect=422)
    assert answer["errors"][0]["pointer"] == f"/groups/0/{pointer}"
