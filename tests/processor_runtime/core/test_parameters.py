"""Parameters in a job: it finds what it finds with constants, and values switch as versions do."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.snapshot import SnapshotVersion
from tests.letters import Document, event, job_of, processor, spelled, version
from tests.processor_runtime.core.pipeline import Event
from tests.properties import slow_property

SWITCH_MS = 1_020
VALUES = ((3, ["a"]), (6, ["a", "b"]))
SQL = (
    "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES FIRST(L.price) * {0} AS x "
    "PATTERN (L H) WITHIN INTERVAL '1' SECOND "
    "DEFINE L AS price < {0} AND name IN {1}, H AS price >= {0})"
)


def written(language: str, low: str, names: str) -> Document:
    """Return a pattern: a price below a limit by some, then one that is not."""
    if language == "match_recognize":
        return {language: SQL.format(low, names)}
    first = {"name": "l", "where": f"price < {low} AND name IN {names}"}
    later = {"name": "h", "contiguity": "followed_by", "where": f"price >= {low}"}
    return {"steps": [first, later], "within_ms": 1_000}


def versions(language: str, *, declared: bool) -> list[SnapshotVersion]:
    """Return a version, and one with other values from an instant on."""
    found = []
    for number, (low, names) in enumerate(VALUES, start=1):
        pattern = written(language, f"{low}", f"({', '.join(map(repr, names))})")
        if declared:
            parameters = {
                "low": {"type": "BIGINT", "value": low},
                "names": {"type": "ARRAY<STRING>", "value": names},
            }
            pattern = {"parameters": parameters} | written(language, ":low", ":names")
        select: dict[str, Any] = {}
        if language == "steps":
            select = {"select": {"x": f"l.price * {':low' if declared else low}"}}
        from_ms = None if number == 1 else SWITCH_MS
        found.append(version(number, pattern, from_ms=from_ms, **select))
    return found


def found_by(language: str, batches: Sequence[Sequence[Event]], *, declared: bool) -> Any:
    job = job_of(processor("p", *versions(language, declared=declared)))
    for batch in batches:
        job.batch(batch)
    job.advance(5_000)
    assert not [row for row in job.rows if row.kind == "error"]
    return spelled(job.rows), sorted(row.output or "" for row in job.rows)


@pytest.mark.parametrize("language", ["steps", "match_recognize"])
@slow_property()
@given(
    events=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=40),
    sizes=st.lists(st.integers(1, 15), max_size=6),
)
def test_values_switch_at_their_instant(
    language: str, events: list[tuple[str, int]], sizes: list[int]
) -> None:
    given_events = [
        event(name, 1_000 + place, price=price) for place, (name, price) in enumerate(events)
    ]
    batches, rest = [], given_events
    for size in sizes:
        batches.append(rest[:size])
        rest = rest[size:]
    batches = [batch for batch in [*batches, rest] if batch]
    wanted = found_by(language, batches, declared=False)
    assert found_by(language, batches, declared=True) == wanted
    assert found_by(language, [[one] for one in given_events], declared=True) == wanted


def test_before_the_instant_the_old_values_hold_and_from_it_on_the_new_ones() -> None:
    pairs = [("a", 2), ("b", 2), ("c", 4), ("c", 7)]
    events = [
        event(name, begin_ms + place, price=price)
        for begin_ms in (1_000, SWITCH_MS)
        for place, (name, price) in enumerate(pairs)
    ]
    rows, output = found_by("steps", [events], declared=True)
    assert rows == found_by("steps", [events], declared=False)[0]
    assert {row.split()[0] for row in rows} == {"p1", "p2"}
    assert sorted(set(output)) == ['{"x":12}', '{"x":6}']
