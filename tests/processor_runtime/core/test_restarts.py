"""Restarts, replays, any split and any number of shards change nothing; nor do new columns."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from contract.snapshot import SnapshotProcessor
from tests.letters import (
    absence,
    contents,
    event,
    followed,
    job_of,
    letters,
    processor,
    sequence,
    spelled,
    stream,
    taken,
    version,
    with_step,
)
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline
from tests.properties import slow_property

LOOP = with_step(
    followed(("a", "name = 'a'"), ("b", "name = 'b' AND price > AVG(a.price)"), within_ms=30),
    0,
    times={"from": 1, "to": None},
)
RULES = (
    processor("absence", version(1, absence("a", "b", 12))),
    processor("anyone", version(1, sequence("abc", within_ms=20), key_by=None)),
    processor("loop", version(1, LOOP, select={"n": "COUNT(a.*)", "last": "b.price"})),
    processor("price", version(1, sequence("ab"), key_by=["price % 3", "user"])),
)


@st.composite
def split_events(draw: st.DrawFn) -> tuple[list[Event], list[int]]:
    """Return events in order of time, and where to cut them into batches."""
    time_ms = 1_000
    events: list[Event] = []
    for _ in range(draw(st.integers(1, 25))):
        time_ms += draw(st.sampled_from([0, 0, 1, 2, 5]))
        events.append(
            event(
                draw(st.sampled_from("aabcx")),
                time_ms,
                user=draw(st.sampled_from(["u", "v", None])),
                price=draw(st.sampled_from([0, 1, 2, None])),
            )
        )
    return events, sorted(draw(st.lists(st.integers(0, len(events)), max_size=6)))


def batches_of(events: list[Event], cuts: list[int]) -> list[list[Event]]:
    return [events[a:b] for a, b in zip([0, *cuts], [*cuts, len(events)], strict=True)]


@slow_property()
@given(
    drawn=split_events(),
    shards=st.integers(1, 5),
    partitions=st.integers(1, 3),
    filters=st.booleans(),
)
def test_rows_and_their_ids_are_the_same_for_any_split_and_number_of_shards(
    drawn: tuple[list[Event], list[int]], shards: int, partitions: int, *, filters: bool
) -> None:
    events, cuts = drawn
    whole = job_of(*RULES, shards=1)
    whole.batch(events, until_ms=2_000)
    parts = job_of(*RULES, shards=shards, filters=filters)
    for batch in batches_of(events, cuts):
        parts.batch(batch, partitions=partitions)
    parts.advance(2_000)
    assert contents(parts.rows) == contents(whole.rows)
    ids = [row.match_id for row in parts.rows]
    assert len(set(ids)) == len(ids)


@pytest.mark.long
@slow_property()
@given(split_events(), st.sets(st.integers(0, 6)), st.sets(st.integers(0, 6)))
def test_restarts_and_replays_change_nothing(
    drawn: tuple[list[Event], list[int]], restarts: set[int], replays: set[int]
) -> None:
    events, cuts = drawn
    steady, shaken = Pipeline(stream(3)), Pipeline(stream(3))
    for job in (steady, shaken):
        job.publish(*RULES)
    for number, batch in enumerate(batches_of(events, cuts)):
        if number == 2:
            for job in (steady, shaken):
                job.publish(*RULES[:2], processor("loop", version(2, LOOP)))
        rows = shaken.batch(batch)
        if number in replays:
            assert shaken.replay() == rows
        if number in restarts:
            shaken.restart()
        steady.batch(batch)
        # When a version that is over is forgotten depends on what a process has been told.
        assert shaken.rows == steady.rows
    steady.advance(2_000)
    shaken.advance(2_000)
    assert shaken.rows == steady.rows


CHANGED_COLUMNS = (
    "ts BIGINT, device STRING, amount DOUBLE, seen TIMESTAMP, name STRING, price BIGINT, "
    "user STRING, tags ARRAY<STRING>"
)


@pytest.mark.parametrize("then", ["waiting alone", "with new events"])
def test_what_was_read_goes_on_when_columns_are_moved_and_added(then: str) -> None:
    reading_new = "name = 'b' OR UPPER(device) LIKE 'X%' OR amount + 1 > 2 OR seen > '2020-01-01'"
    job = job_of(
        version(1, sequence("abc")),
        processor("q", version(1, sequence("ac"), select={"price": "a.price + c.price"})),
        delay_ms=50,
    )
    job.batch(letters("ab", 1_000), until_ms=1_000)
    job.restart(job.stream.model_copy(update={"ddl": CHANGED_COLUMNS}))
    new = sequence("ac")
    new["steps"][0]["where"] = reading_new
    job.publish(*job.snapshot.processors, processor("r", version(1, new)))
    if then == "with new events":
        job.batch([event("x", 1_055) | {"device": "xerox", "amount": 0.5, "tags": ["t"]}])
    job.batch(letters("c", 1_060), until_ms=1_100)
    assert [taken(row) for row in job.rows_of("match", "p")] == ["a1000 b1001 c1060"]
    assert [row.output for row in job.rows_of("match", "q")] == ['{"price":0}']
    found = [taken(row) for row in job.rows_of("match", "r")]
    assert found == (["x1055 c1060"] if then == "with new events" else [])
    assert job.rows_of("error") == []


def test_what_was_read_goes_on_when_a_column_is_taken_away() -> None:
    job = job_of(version(1, sequence("abc")), delay_ms=50)
    job.batch(letters("ab", 1_000), until_ms=1_000)
    job.restart(job.stream.model_copy(update={"ddl": "name STRING, ts BIGINT, user STRING"}))
    job.batch([{"name": "c", "ts": 1_060, "user": "u"}], until_ms=1_100)
    (row,) = job.rows_of("match")
    assert from_json(row.events or "")["a"] == [{"name": "a", "ts": 1_000, "user": "u"}]
    assert taken(row) == "a1000 b1001 c1060"


def test_a_replayed_batch_sees_the_rules_of_its_first_try() -> None:
    job = job_of(version(1, sequence("a")))
    job.batch(letters("a", 1_000))
    job.batch(letters("a", 1_005))
    rows = job.batch(letters("a", 1_010))
    assert spelled(rows) == ["p1 match a1005"]
    job.publish(processor("p", version(2, sequence("b"))))
    assert job.replay() == rows
    assert {row.epoch for row in job.rows} == {1}
    job.batch(letters("ab", 1_020))
    assert [(row.version, row.epoch) for row in job.rows] == [(1, 1), (1, 1), (1, 2)]  # a1010


def test_equal_events_make_matches_with_ids_of_their_own() -> None:
    twice = [event("a", 1_000), event("a", 1_000), event("b", 1_001)]
    found = []
    for batches in ([twice], [twice[:1], twice[1:]], [[one] for one in twice]):
        job = job_of(version(1, sequence("ab")), delay_ms=10)
        for batch in batches:
            job.batch(batch)
        job.advance(1_100)
        first, second = job.rows_of("match")
        assert first._replace(match_id=None) == second._replace(match_id=None)
        found.append({first.match_id, second.match_id})
    assert len(found[0]) == 2
    assert found == [found[0]] * 3


def test_equal_matches_that_come_out_at_different_times_have_ids_of_their_own() -> None:
    # The second is held back by the loop that the first goes on with.
    skips = sequence("ab", after_match_skip={"strategy": "skip_to_first", "step": "a"})
    loop = with_step(skips, 1, times={"from": 1, "to": None}, until="name = 'c'")
    job = job_of(version(1, loop))
    job.batch([event("a", 1_000), event("a", 1_000), event("b", 1_001)], until_ms=1_010)
    job.batch([event("c", 1_020)], until_ms=1_100)
    assert [taken(row) for row in job.rows_of("match")] == ["a1000 b1001"] * 2
    assert len({row.match_id for row in job.rows}) == 2


BEGIN_MS = 1_000
EVENTS = 60
PATTERNS = ("ab", "ac", "bc", "abc")


@dataclass(frozen=True)
class Change:
    """Version `number`, in effect from the event of place `start` on, published at `after`."""

    number: int
    pattern: str
    start: int
    after: int


@st.composite
def changes(draw: st.DrawFn) -> list[Change]:
    """Return later versions in the order in which they are published and begin."""
    starts = sorted(draw(st.sets(st.integers(1, EVENTS), max_size=4)))
    published = sorted(draw(st.integers(0, start)) for start in starts)
    return [
        Change(number, draw(st.sampled_from(PATTERNS)), start, min(after, start))
        for number, (start, after) in enumerate(zip(starts, published, strict=True), start=2)
    ]


def published(known: list[Change]) -> SnapshotProcessor:
    later = [
        version(each.number, sequence(each.pattern), from_ms=BEGIN_MS + each.start)
        for each in known
    ]
    return processor("p", version(1, sequence("ab")), *later)


def run(
    text: str, plan: list[Change], cuts: list[int], lag: int, *, restarts: bool = False
) -> Pipeline:
    """Run a job in batches that end at `cuts`; it hears of changes `lag` events late.

    But it hears of each, and of those before, before it reads the event at which it begins.
    """
    events = letters(text, BEGIN_MS)
    pipeline = Pipeline(stream(), Options(shards=2))
    heard = -1
    for begin, end in zip([0, *cuts], [*cuts, EVENTS], strict=True):
        due = [n for n, each in enumerate(plan, 1) if min(each.after + lag, each.start) <= end]
        if max(due, default=0) > heard:
            heard = max(due, default=0)
            pipeline.publish(published(plan[:heard]))
        pipeline.batch(events[begin:end])
        if restarts:
            pipeline.restart()
    pipeline.batch([event("x", BEGIN_MS + 10 * EVENTS)])
    pipeline.batch()
    return pipeline


CUTS = st.sets(st.integers(1, EVENTS - 1), max_size=6).map(sorted)
TEXT = st.text("abc", min_size=EVENTS, max_size=EVENTS)


@slow_property()
@given(TEXT, changes(), st.tuples(CUTS, CUTS), st.integers(0, EVENTS))
def test_both_find_the_same_with_the_same_ids(
    text: str, plan: list[Change], cuts: tuple[list[int], list[int]], lag: int
) -> None:
    one = run(text, plan, cuts[0], lag=0)
    slow = run(text, plan, cuts[1], lag, restarts=True)
    assert contents(one.rows_of("match")) == contents(slow.rows_of("match"))
