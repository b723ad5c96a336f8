"""Rules whose tests are true independently make a kind of event of each event; few are kept."""

import sys
from typing import cast

import polars as pl
import pytest

from cep.bounded_cache import BoundedCache
from cep.nfa.machine import Machine
from percept import BatchMatcher, Detection, Limits, Pattern, Schema

RULES = 60
COLUMNS = [f"c{number}" for number in range(RULES)]
SCHEMA = Schema.from_ddl("ts BIGINT, user BIGINT, " + ", ".join(f"{c} BIGINT" for c in COLUMNS))


def independent_rules() -> dict[str, Pattern]:
    """Each looks at a column of its own."""
    return {
        column: Pattern.begin("s")
        .where(f"{column} = 1")
        .next("t")
        .where(f"{column} = 2")
        .within(20)
        for column in COLUMNS
    }


def events(count: int) -> pl.DataFrame:
    """Columns of values from 0 to 2 that have nothing to do with each other."""
    numbers = pl.int_range(count, eager=True)
    return pl.DataFrame({"ts": numbers, "user": numbers % 7}).with_columns(
        pl.Series(column, numbers.hash(salt) % 3, dtype=pl.Int64)
        for salt, column in enumerate(COLUMNS)
    )


def detections(matcher: BatchMatcher, frame: pl.DataFrame) -> list[tuple[str, object, int, bool]]:
    found: list[Detection] = []
    for part in frame.iter_slices(500):
        found += matcher.process(part)
    return [(one.rule, one.key, one.time_ms, one.is_timeout) for one in found]


def caches(matcher: BatchMatcher) -> list[BoundedCache[object, object]]:
    """What grows with the kinds of events."""
    tables = [cast("Machine", shape.machine).table for shape in matcher.matcher.shapes]
    return [matcher._kinds, *(table._transitions for table in tables)]  # type: ignore[list-item]


def matcher_of_independent_rules(capacity: int | None = None) -> BatchMatcher:
    matcher = BatchMatcher(
        independent_rules(), schema=SCHEMA, key_by=["user"], limits=Limits(10_000, 10_000)
    )
    if capacity is not None:
        for cache in caches(matcher):
            cache.capacity = capacity
    return matcher


def test_what_is_kept_of_very_many_kinds_of_events_is_bounded() -> None:
    matcher = matcher_of_independent_rules()
    matcher.process(events(3_000))
    assert len(matcher.matcher.shapes) == 1
    kinds, transitions = caches(matcher)
    assert kinds.size <= kinds.capacity
    assert transitions.clears > 0
    assert transitions.size <= transitions.capacity
    assert len(transitions) < 3_000


@pytest.mark.parametrize("capacity", [0, 1_000])
def test_matches_do_not_depend_on_what_is_kept(capacity: int) -> None:
    frame = events(1_500)
    keeping_everything = matcher_of_independent_rules(sys.maxsize)
    forgetting = matcher_of_independent_rules(capacity)
    expected = detections(keeping_everything, frame)
    assert len(expected) > 1_000
    assert detections(forgetting, frame) == expected
    assert all(cache.clears == 0 for cache in caches(keeping_everything))
    assert all(cache.size <= capacity for cache in caches(forgetting))
