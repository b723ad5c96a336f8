"""Documents mutated from good ones by the thousand: each is taken, or refused with the place."""

import copy
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.api.documents import PATTERN, STREAM, processor_document
from tests.api.running import Service, running_service

MUTANTS = 100
"""For each seed."""

SEEDS = 40
JUNK: list[Any] = [
    *(None, True, False, 0, -1, 2**62, 1.5, -0.0, 1e300),
    *("", " ", "x", "ä", "'", "a.b", "SUM(fail.amount)", "1 = 1", "amount >", "((((", "/* x"),
    *("2026-12-01", "10 minuets", "P1D"),
    *([], {}, [[]], [{}], {"": 0}, list(range(50)), {"a": {"b": {"c": []}}}),
    *({"from": 1, "to": None}, {"name": "a"}, {"steps": []}),
]
EVENTS = [
    {"ts": at, "user": "eve", "action": action, "amount": 1.5}
    for at, action in enumerate(["fail", "fail", "fail", "login"])
]
EXAMPLE = {"matches": [{"fail": [0, 1, 2], "login": [3]}], "timed_out": []}
ROUND = [
    {"name": "b", "where": "amount > AVG(a.amount)"},
    {"name": "c", "contiguity": "next", "subtype": "login"},
]
STEPS = [
    {"name": "a", "where": "amount > 10 AND user LIKE 'e%'"},
    {"contiguity": "followed_by", "group": {"steps": ROUND}, "times": {"from": 1, "to": 3}},
    {"name": "d", "contiguity": "not_followed_by", "where": "action = 'x'"},
    {"name": "e", "contiguity": "followed_by", "times": 2},
]
SKIP = {"strategy": "skip_to_last", "step": "e"}
GOOD = [
    processor_document(
        select={"user": "login.user", "n": "COUNT(fail.*)", "sum": "SUM(fail.amount)"},
        effective_from="2030-01-01T00:00:00Z",
        effective_until="2031-01-01T00:00:00Z",
        on_update="drain",
        limits={"partial_matches_per_key": 100},
        severity="high",
        tags=["a", "b"],
        owner="fraud",
        examples=[EXAMPLE | {"events": EVENTS, "final_watermark_ms": 5}],
    ),
    processor_document(
        pattern={"steps": STEPS, "within": "1 hour", "after_match_skip": SKIP},
        key_by=["user", "LOWER(action)"],
        examples=[{"events": [{"ts": 1, "user": "u", "action": "x", "amount": 11}], "matches": []}],
    ),
    processor_document(pattern=PATTERN),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in inner:
        yield (*path, key)
        if isinstance(child, dict | list):
            yield from places(child, (*path, key))


def mutant(choice: random.Random) -> Any:
    document = copy.deepcopy(choice.choice(GOOD))
    for _ in range(choice.choice([1, 1, 1, 2, 3])):
        paths = list(places(document))
        if not paths:
            break
        *way, last = choice.choice(paths)
        holder = document
        for key in way:
            holder = holder[key]
        choice.choice(MUTATIONS)(choice, holder, last)
    return document


def delete(_choice: random.Random, holder: Any, key: Any) -> None:
    del holder[key]


def replace(choice: random.Random, holder: Any, key: Any) -> None:
    holder[key] = copy.deepcopy(choice.choice(JUNK))


def wrap(choice: random.Random, holder: Any, key: Any) -> None:
    holder[key] = choice.choice([[holder[key]], {"x": holder[key]}, [holder[key]] * 2])


def misspell(choice: random.Random, holder: Any, key: Any) -> None:
    if isinstance(key, str):
        holder[_typo(choice, key)] = holder.pop(key)
    else:
        replace(choice, holder, key)


def corrupt(choice: random.Random, holder: Any, key: Any) -> None:
    value = holder[key]
    if isinstance(value, str):
        holder[key] = _typo(choice, value)
    elif isinstance(value, int | float):
        holder[key] = choice.choice([-value, value * 10**6, value + 0.5, str(value)])
    else:
        replace(choice, holder, key)


def _typo(choice: random.Random, text: str) -> str:
    at = choice.randrange(len(text) + 1)
    return choice.choice(
        [text[:at] + text[at + 1 :], text[:at] + choice.choice("'\"`().,;:%$ \t\nßz9-") + text[at:]]
    )


MUTATIONS: list[Callable[[random.Random, Any, Any], None]] = [
    delete,
    replace,
    wrap,
    misspell,
    corrupt,
]


def points_into(pointer: str, document: Any) -> bool:
    """Return whether a pointer leads to a value, or to a key that is missing from one."""
    value = document
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for index, part in enumerate(parts):
        if isinstance(value, dict):
            if part not in value:
                return index == len(parts) - 1
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return False
    return True


@pytest.fixture(scope="module")
def lasting_service(migrated_store: Callable[[str], str]) -> Iterator[Service]:
    """One service for all mutants."""
    with running_service(migrated_store("sqlite"), raise_failures=False) as service:
        stream = STREAM | {"schema": f"{STREAM['schema']}, type STRING"}
        assert service.client.post("/v1/streams", json=stream).status_code == 201
        yield service


def test_the_good_documents_are_good(lasting_service: Service) -> None:
    for document in GOOD:
        answer = lasting_service.client.post("/v1/validate", json=document)
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=[pytest.mark.nightly] if seed > 3 else []) for seed in range(SEEDS)],
)
def test_a_mutant_is_taken_or_refused_with_its_place(lasting_service: Service, seed: int) -> None:
    choice = random.Random(seed)  # noqa: S311 - no secret
    statuses: Counter[int] = Counter()
    for _ in range(MUTANTS):
        document = mutant(choice)
        answer = lasting_service.client.post("/v1/validate", json=document)
        statuses[answer.status_code] += 1
        shown = json.dumps(document)
        assert answer.status_code in {200, 400, 404, 422}, f"{answer.status_code} {shown}"
        if answer.status_code in {400, 422}:
            errors = answer.json()["errors"]
            assert errors, shown
            for flaw in errors:
                assert points_into(flaw["pointer"], document), f"{flaw} {shown}"
                assert flaw["detail"]
    assert statuses[422] > MUTANTS / 2
