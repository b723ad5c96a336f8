"""Where a version ends, what was only held back comes out, and what is given up is counted."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep import Pattern, find_matches
from contract.snapshot import SnapshotProcessor
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.schedule.interval import EndReason
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline
from tests.processor_runtime.core.published import (
    Document,
    event,
    letters,
    processor,
    sequence,
    spelled,
    stream,
    version,
)
from tests.properties import slow_property

SAME_PRICE: Document = {
    "steps": [
        {"name": "a", "where": "name = 'a'"},
        {
            "name": "b",
            "contiguity": "followed_by",
            "where": "name = 'b' AND price = a.price",
        },
    ],
    "after_match_skip": {"strategy": "skip_past_last_event"},
}
V1 = processor("p", version(1, SAME_PRICE))
OTHER = processor("q", version(1, sequence("ab", within_ms=50)))


def held_back(begin_ms: int, user: str = "u") -> list[Event]:
    """Return events of which one match is complete, behind a partial match that began earlier."""
    return [
        event("a", begin_ms, price=1, user=user),
        event("a", begin_ms + 1, price=2, user=user),
        event("b", begin_ms + 2, price=2, user=user),
    ]


def ending(way: str) -> tuple[SnapshotProcessor, ...]:
    match way:
        case "pause":
            return (V1.model_copy(update={"paused": True}),)
        case "delete":
            return ()
        case "replace":
            return (processor("p", version(2, sequence("xy"))),)
        case _:
            raise AssertionError(way)


def totals(job: Pipeline) -> dict[tuple[str, int], tuple[int, int, int]]:
    return {
        (each.processor_id, each.version): (
            each.totals.matches,
            each.totals.dropped,
            each.partial_matches,
        )
        for each in job.job_status.versions
    }


@pytest.mark.parametrize("way", ["pause", "delete", "replace"])
def test_what_was_only_held_back_comes_out_where_its_version_ends(way: str) -> None:
    job = Pipeline(stream(), Options(shards=2))
    job.publish(V1, OTHER)
    job.batch(held_back(1_000))
    # Of v and w nothing comes any more: their shards have no event to be called for.
    job.batch([*held_back(1_010, "v"), event("a", 1_013, price=7, user="w")])
    assert job.rows_of("match", "p") == []
    job.publish(*ending(way), OTHER)
    job.batch(letters("z", 1_020))
    job.batch(letters("z", 1_030))
    job.batch(letters("z", 1_040))
    found = job.rows_of("match", "p")
    assert sorted((row.key, row.start_ms, row.end_ms) for row in found) == [
        ('["u"]', 1_001, 1_014),
        ('["v"]', 1_011, 1_014),
    ]
    assert totals(job)["p", 1] == (2, 3, 0)
    assert (job.job_status.totals.dropped, job.job_status.totals.released) == (3, 2)
    assert job.rows_of("error") == []
    assert [item.processor_id for item in job.timeline.intervals if item.version == 1] == ["q"]


def test_a_version_that_drains_gives_them_out_where_draining_ends() -> None:
    job = Pipeline(stream(), Options(shards=1))
    job.publish(V1)
    job.batch(held_back(1_000))
    job.publish(processor("p", version(2, sequence("xy"), on_update="drain")))
    job.batch(letters("z", 1_010))
    job.batch(letters("z", 1_020))
    assert job.rows_of("match") == []
    job.publish(
        processor("p", version(2, sequence("xy"), on_update="drain"), version(3, SAME_PRICE))
    )
    job.batch(letters("z", 1_030))
    job.batch(letters("z", 1_040))
    job.batch(letters("z", 1_050))
    assert spelled(job.rows_of("match")) == ["p1 match a1001 b1002"]
    assert job.rows_of("match")[0].end_ms == 1_021
    assert totals(job)["p", 1] == (1, 1, 0)


def test_the_skip_strategy_holds_among_what_comes_out() -> None:
    # Behind the open a1000 wait two matches that share events; the first takes the second away.
    overlapping = [
        event("a", 1_000, price=1),
        event("a", 1_001, price=2),
        event("a", 1_002, price=3),
        event("b", 1_003, price=2),
        event("b", 1_004, price=3),
    ]
    job = Pipeline(stream(), Options(shards=1))
    job.publish(V1)
    job.batch(overlapping)
    job.publish()
    job.batch(letters("z", 1_010))
    job.batch(letters("z", 1_020))
    assert spelled(job.rows) == ["p1 match a1001 b1003"]


def test_a_version_that_failed_gives_out_nothing_more() -> None:
    failing = version(1, SAME_PRICE, limits={"partial_matches_per_key": 5})
    job = Pipeline(stream(), Options(shards=1))
    job.publish(processor("p", failing))
    job.batch(held_back(1_000))
    job.batch(letters("aaaaaa", 1_010, user="v"))
    for begin_ms in (1_020, 1_030, 1_040):
        job.batch(letters("z", begin_ms))
    assert [item.end_reason for item in job.timeline.intervals] in ([], [EndReason.QUARANTINED])
    assert [row.kind for row in job.rows] == ["error"]
    assert totals(job)["p", 1] == (0, 0, 0)


def test_a_match_that_cannot_skip_where_its_version_ends_fails_its_rule_alone() -> None:
    throwing = SAME_PRICE | {
        "after_match_skip": {"strategy": "skip_to_first", "step": "a", "throw_on_miss": True}
    }
    job = Pipeline(stream(), Options(shards=1))
    job.publish(processor("t", version(1, throwing)), V1)
    job.batch(held_back(1_000))
    job.publish()
    for begin_ms in (1_010, 1_020, 1_030):
        job.batch(letters("z", begin_ms))
    assert spelled(job.rows) == ["p1 match a1001 b1002", "t1 error"]
    assert "cannot skip" in (job.rows[1].error or "")


def test_a_restart_and_a_replay_change_nothing_of_it() -> None:
    job = Pipeline(stream(), Options(shards=2))
    job.publish(V1)
    job.batch([*held_back(1_000), *held_back(1_000, "v")])
    job.publish(V1.model_copy(update={"paused": True}))
    job.batch(letters("z", 1_010))
    job.restart()
    job.batch(letters("z", 1_020))
    rows, status = list(job.rows), [dict(state) for state in job.states]
    assert len(rows) == 2
    job.replay()
    assert (job.rows, [dict(state) for state in job.states]) == (rows, status)
    for begin_ms in (1_030, 1_040):
        job.restart()
        job.batch(letters("z", begin_ms))
    assert job.rows == rows
    job.batch(letters("z", 1_050))
    assert job.timeline.intervals == ()


def test_what_is_gone_costs_shards_nothing() -> None:
    job = Pipeline(stream(), Options(shards=4))
    job.publish(V1)
    job.batch(held_back(1_000))
    job.publish()
    for begin_ms in (1_010, 1_020, 1_030):
        job.batch(letters("z", begin_ms))
    before = [state.accesses for state in job.states]
    job.batch(letters("z", 1_040))
    accesses = zip(before, (state.accesses for state in job.states), strict=True)
    # Whether there is anything at all, and whether anything has gone out.
    assert all(now - then <= 2 for then, now in accesses)


# Any split into batches

ENDS_MS = 1_030
STEPS: list[Document] = [
    SAME_PRICE,
    SAME_PRICE | {"after_match_skip": {"strategy": "skip_to_next"}},
    SAME_PRICE | {"after_match_skip": {"strategy": "skip_to_last", "step": "b"}, "within_ms": 12},
    SAME_PRICE | {"after_match_skip": {"strategy": "no_skip"}},
]
EVENTS = st.lists(
    st.builds(
        event,
        st.sampled_from("aab"),
        st.integers(1_000, 1_050),
        user=st.sampled_from(["u", "v", "w"]),
        price=st.integers(0, 3),
    ),
    max_size=25,
).map(lambda given: sorted(given, key=lambda each: each["ts"]))

FEW_PRICES = (
    st.lists(
        st.tuples(st.sampled_from("aab"), st.integers(0, 2), st.integers(0, 4)),
        min_size=4,
        max_size=15,
    )
    .map(
        lambda drawn: [
            event(name, 1_000 + 2 * place + after, price=price)
            for place, (name, price, after) in enumerate(drawn)
        ]
    )
    .map(lambda given: sorted(given, key=lambda each: each["ts"]))
)


def rows_of_split(
    pattern: Document, events: Sequence[Event], cuts: Sequence[int], **options: Any
) -> tuple[Counter[OutputRow], int]:
    job = Pipeline(stream(), Options(**options))
    # The end is known from the beginning, so that it does not depend on what has been read.
    job.publish(processor("p", version(1, pattern, until_ms=ENDS_MS)), OTHER)
    bounds = [0, *sorted(cut % (len(events) + 1) for cut in cuts), len(events)]
    for begin, end in pairwise(bounds):
        job.batch(events[begin:end])
    for begin_ms in (1_100, 1_110, 1_120):
        job.batch(letters("z", begin_ms))
    found = Counter(row._replace(epoch=None) for row in job.rows)
    return found, job.job_status.totals.dropped


@slow_property()
@given(
    st.sampled_from(STEPS),
    EVENTS,
    st.lists(st.integers(0, 30), max_size=6),
    st.fixed_dictionaries({"shards": st.integers(1, 3), "filters": st.booleans()}),
)
def test_any_split_gives_the_same_rows_and_counts(
    pattern: Document, events: list[Event], cuts: list[int], options: dict[str, Any]
) -> None:
    at_once = rows_of_split(pattern, events, [], shards=1)
    assert rows_of_split(pattern, events, cuts, **options) == at_once


@slow_property()
@given(st.sampled_from(STEPS[:2]), FEW_PRICES)
def test_what_comes_out_is_what_would_if_open_partial_matches_timed_out(
    pattern: Document, events: list[Event]
) -> None:
    found, dropped = rows_of_split(pattern, events, [3, 9], shards=2)
    before = [each for each in events if each["ts"] < ENDS_MS]
    # With a window nothing reaches, all partial matches end at one late watermark, earliest first.
    windowed = Pattern.from_document(pattern | {"within_ms": 10_000})
    result = find_matches(windowed, before, time_field="ts", key_by="user")
    assert dropped == result.open_partial_matches
    released = sum(
        len(_released(windowed, [each for each in before if each["user"] == user]))
        for user in "uvw"
    )
    given_out = [row for row in found.elements() if row.processor_id == "p"]
    assert len(given_out) == len(result.matches) + released


def _released(pattern: Pattern, events: list[Event]) -> list[Any]:
    result = find_matches(pattern, events, time_field="ts", final_watermark_ms=100_000)
    return [match for match in result.matches if match.at is None]
