"""Conditions with functions: each executor finds what a loop over the events does."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from cep.executors.choice import choices_of, interpreted_rules
from percept import BatchMatcher, Pattern, Schema, find_matches, match_recognize
from tests.matching.test_compiled_shapes import outcome

SCHEMA = Schema.from_ddl(
    "ts BIGINT, user BIGINT, host STRING, ip STRING, at TIMESTAMP, tags ARRAY<STRING>, "
    "items ARRAY<STRUCT<name: STRING, price: DOUBLE>>"
)
FIRST = (
    "EXISTS(items, item -> item.price > 2 AND item.name = host) AND CIDR_MATCH(ip, '10.0.0.0/9')"
)
OFFICE = "HOUR(CONVERT_TIMEZONE('Europe/Berlin', at)) BETWEEN 8 AND 17"


def events() -> list[dict[str, Any]]:
    random = Random(7)  # noqa: S311 - a test
    return [
        {
            "ts": second,
            "user": random.randrange(3),
            "host": random.choice(["Web-1", "web-2", "DB", None]),
            "ip": random.choice(["10.1.2.3", "10.200.0.1", "::ffff:10.0.0.9", "fe80::1", "x"]),
            "at": datetime(2026, 3, 28, tzinfo=UTC) + timedelta(hours=second),
            "tags": random.choice([None, [], ["a"], ["b", None], ["a", "c"]]),
            "items": [
                {"name": random.choice(["Web-1", "DB"]), "price": random.choice([1.0, 3.0, None])}
                for _ in range(random.randrange(3))
            ],
        }
        for second in range(800)
    ]


def is_first(event: dict[str, Any]) -> bool:
    items = [each for each in event["items"] if each["price"] is not None]
    if not any(each["price"] > 2 and each["name"] == event["host"] for each in items):
        return False
    return event["ip"] != "x" and event["ip"].rsplit(":")[-1] in {"10.1.2.3", "10.0.0.9"}


def is_second(event: dict[str, Any], first: dict[str, Any], *, overlaps: bool) -> bool:
    hour = event["at"].astimezone(ZoneInfo("Europe/Berlin")).hour
    if (event["host"] or "")[:3].lower() != "web" or not 8 <= hour <= 17:
        return False
    return not overlaps or bool({*(event["tags"] or ())} & {*(first["tags"] or ())} - {None})


def expected(rows: list[dict[str, Any]], *, overlaps: bool) -> list[tuple[int, int]]:
    found = []
    for place, first in enumerate(rows):
        if not is_first(first):
            continue
        later = (row for row in rows[place + 1 :] if row["user"] == first["user"])
        second = next((row for row in later if is_second(row, first, overlaps=overlaps)), None)
        if second is not None:
            found.append((first["ts"], second["ts"]))
    return sorted(found)


@pytest.mark.parametrize(
    ("more", "is_compiled"),
    [("", True), (" AND EXISTS(a.tags, tag -> ARRAY_CONTAINS(tags, tag))", False)],
)
def test_each_executor_finds_what_a_loop_does(more: str, *, is_compiled: bool) -> None:
    rows = events()
    wanted = expected(rows, overlaps=bool(more))
    assert len(wanted) > 10
    pattern = (
        Pattern.begin("a")
        .where(FIRST)
        .followed_by("b")
        .where(f"host ILIKE 'WEB%' AND {OFFICE}{more}")
    )
    one_by_one = find_matches(pattern, rows, key_by="user").matches
    assert sorted((m.steps["a"][0]["ts"], m.steps["b"][0]["ts"]) for m in one_by_one) == wanted
    (shape,) = BatchMatcher({"r": pattern}, schema=SCHEMA).matcher.shapes
    assert (not interpreted_rules(choices_of([shape]))) == is_compiled
    frame = pl.DataFrame(rows, schema=SCHEMA.to_polars())
    for kind in ("compiled", "interpreted"):
        parts = outcome({"r": pattern}, frame, [100, 150], kind)
        steps = [each[-1] for part in parts for each in part if isinstance(each[-1], dict)]
        assert sorted((step["a"][0][0], step["b"][0][0]) for step in steps) == wanted, kind


def test_the_reason_for_python_names_the_function() -> None:
    pattern = Pattern.begin("a").followed_by("b").where("SHIFTLEFT(a.ts, 2) = 3")
    (shape,) = BatchMatcher({"r": pattern}, schema=SCHEMA).matcher.shapes
    assert "SHIFTLEFT of values of earlier events" in str(interpreted_rules(choices_of([shape])))


def test_a_clause_finds_the_same_and_measures_call_functions() -> None:
    rows = events()
    clause = f"""MATCH_RECOGNIZE (
        PARTITION BY "user" ORDER BY ts
        MEASURES A.ts AS first_ts, B.ts AS second_ts,
            SIZE(FILTER(A.items, item -> item.price > 2)) AS dear,
            EXISTS(B.tags, tag -> ARRAY_CONTAINS(A.tags, tag)) AS overlaps
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A X*? B)
        DEFINE A AS {FIRST}, B AS host ILIKE 'WEB%' AND {OFFICE}
            AND EXISTS(A.tags, tag -> ARRAY_CONTAINS(tags, tag)))"""
    frame = pl.DataFrame(rows, schema=SCHEMA.to_polars())
    inputs: tuple[Any, ...] = (rows, frame)
    for given in inputs:
        found = match_recognize(clause, given, schema=SCHEMA).rows
        assert sorted((first, second) for _, first, second, _, _ in found) == expected(
            rows, overlaps=True
        )
        for _, first, _, dear, overlaps in found:
            prices = [item["price"] or 0 for item in rows[first]["items"]]
            assert dear == sum(price > 2 for price in prices)
            assert overlaps is True
