"""How far partial matches get in a job: over shards, batches and versions, and as reported."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.reports import StepReport
from contract.snapshot import SnapshotProcessor
from processor_runtime.driver.job_status import VersionStatus
from processor_runtime.reporting.heartbeats import running_version
from tests.matching.compiled_machine import machines_of
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline
from tests.processor_runtime.core.published import event, processor, sequence, stream, version
from tests.properties import slow_property

AB = processor("ab", version(1, sequence("ab", within_ms=20)))
SEARCHED = {
    "match_recognize": "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES b.price AS price "
    "PATTERN (a b) DEFINE a AS name = 'a', b AS name > PREV(name))"
}


def found(job: Pipeline, rule: str, number: int = 1) -> VersionStatus:
    (status,) = [
        each
        for each in job.job_status.versions
        if (each.processor_id, each.version) == (rule, number)
    ]
    return status


def steps(status: VersionStatus) -> dict[str, tuple[int | None, ...]]:
    return {name: astuple(counts) for name, counts in status.steps.items()}


def test_the_steps_of_all_shards_and_batches_are_added_up() -> None:
    job = Pipeline(stream())
    job.publish(AB)
    job.batch([event("a", 1_000 + user, user=str(user)) for user in range(10)])
    before = found(job, "ab")
    job.batch([event("b", 1_015 + user, user=str(user)) for user in range(5)])
    job.batch([event("x", 5_000)])
    job.batch([event("x", 9_000)])
    after = found(job, "ab")
    first, second = list(after.steps)
    assert steps(after) == {
        first: (10, 10, 5, 0, 0, 0, 0, 1_009),
        second: (5, 5, 0, 0, 0, 0, 0, 1_019),
    }
    assert steps(before) in ({}, {first: (9, 9, 0, 0, 0, 0, 0, 1_008)})  # not changed meanwhile
    reported = running_version(after).steps
    assert reported[0] == StepReport(
        name=first, reached=10, events=10, timed_out=5, last_event_ms=1_009
    )


def test_a_version_keeps_its_funnel_when_another_takes_its_place() -> None:
    job = Pipeline(stream())
    job.publish(AB)
    job.batch([event("a", 1_000)])
    job.batch([event("x", 1_500)])
    job.publish(processor("ab", version(2, sequence("bc", within_ms=20))))
    job.batch([event("b", 2_000)])
    job.batch([event("x", 5_000)])
    job.batch([event("x", 9_000)])
    old, new = found(job, "ab"), found(job, "ab", 2)
    assert [counts.reached for counts in old.steps.values()] == [1]
    assert [counts.reached for counts in new.steps.values()] == [1]


def test_a_clause_that_is_searched_counts_no_steps() -> None:
    job = Pipeline(stream())
    job.publish(processor("sql", version(1, SEARCHED)))
    job.batch([event("a", 1_000), event("b", 1_001)])
    job.batch([event("x", 5_000)])
    job.batch([event("x", 9_000)])
    status = found(job, "sql")
    assert (status.totals.matches, status.steps) == (1, {})


ABC = sequence("abc")


@pytest.fixture(params=["compiled", "interpreted"])
def machines(request: pytest.FixtureRequest) -> Iterator[None]:
    with machines_of(request.param):
        yield


def dropped(job: Pipeline, rule: str, number: int = 1) -> dict[str, int]:
    """Return what was dropped at each step: in all, what the counter of the version says."""
    status = found(job, rule, number)
    by_step = {name: counts.dropped for name, counts in status.steps.items() if counts.dropped}
    assert status.totals.dropped == sum(by_step.values())
    return by_step


def stopped(job: Pipeline, rule: str) -> dict[str, int]:
    return {name: each.stopped for name, each in found(job, rule).steps.items() if each.stopped}


THREE = [
    *(event("a", 1_000 + user, user=str(user)) for user in range(6)),
    *(event("b", 1_010 + user, user=str(user)) for user in range(2)),
]
"""Of six partial matches, one a key, two go on to the second step and stay in both."""

ENDS: dict[str, list[SnapshotProcessor]] = {
    "replaced": [processor("abc", version(2, sequence("xyz"), on_update="drop"))],
    "paused": [processor("abc", version(1, ABC), paused=True)],
    "removed": [],
    "over": [processor("abc", version(1, ABC, until_ms=1_500))],
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.usefixtures("machines")
def test_what_a_version_gives_up_is_told_by_the_step_it_had_come_to(end: str) -> None:
    job = Pipeline(stream())
    job.publish(processor("abc", version(1, ABC)), processor("kept", version(1, ABC)))
    job.batch(THREE)
    job.batch([event("x", 1_100)])
    job.publish(*ENDS[end], processor("kept", version(1, ABC)))
    job.batch([event("x", 2_000)])
    job.batch([event("x", 3_000)])
    job.batch([event("x", 4_000)])
    assert dropped(job, "abc") == {"a": 4, "b": 2}
    assert dropped(job, "kept") == stopped(job, "kept") == stopped(job, "abc") == {}
    (a, b) = running_version(found(job, "abc")).steps
    assert [(step.name, step.dropped) for step in (a, b)] == [("a", 4), ("b", 2)]


@pytest.mark.usefixtures("machines")
def test_a_version_that_drains_drops_only_what_is_open_when_it_has() -> None:
    within = sequence("abc", within_ms=200)
    job = Pipeline(stream())
    job.publish(processor("abc", version(1, within)))
    job.batch(THREE)
    job.batch([event("x", 1_020)])
    job.publish(processor("abc", version(2, sequence("xyz"), on_update="drain")))
    job.batch([event("c", 1_030, user="0"), event("x", 5_000)])
    job.batch([event("x", 9_000)])
    job.batch([event("x", 9_100)])
    status = found(job, "abc")
    assert (status.totals.matches, status.totals.timeouts) == (1, 5)
    assert dropped(job, "abc") == {}


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.usefixtures("machines")
def test_what_a_limit_stops_is_told_by_step_in_every_shard(shards: int) -> None:
    """The key that goes beyond the limit is in one batch, what the others hold in those before."""
    narrow = version(1, ABC, limits={"partial_matches_per_key": 2})
    job = Pipeline(stream(), Options(shards=shards))
    job.publish(processor("narrow", narrow), processor("wide", version(1, ABC)))
    job.batch(THREE)
    job.batch([event("a", 1_100, user="0"), event("a", 1_101, user="0")])
    for time_ms in (1_200, 2_000, 3_000, 4_000):
        job.batch([event("x", time_ms)])
    status = found(job, "narrow")
    assert (status.state, status.totals.dropped) == ("quarantined", 0)
    assert "partial matches of one key" in status.error
    # The event that was one too many has been taken by none.
    assert stopped(job, "narrow") == {"a": 5, "b": 2}
    assert stopped(job, "wide") == dropped(job, "narrow") == {}


@pytest.mark.usefixtures("machines")
def test_what_all_keys_of_a_shard_hold_beyond_their_limit_is_told_by_step() -> None:
    narrow = version(1, ABC, limits={"partial_matches_per_shard": 5})
    job = Pipeline(stream(), Options(shards=1))
    job.publish(processor("narrow", narrow))
    job.batch(THREE)
    for time_ms in (1_200, 2_000, 3_000):
        job.batch([event("x", time_ms)])
    # The second batch goes up to 1,010: the last "b" is not in it.
    assert stopped(job, "narrow") == {"a": 5, "b": 1}
    assert found(job, "narrow").state == "quarantined"


MORE = {
    "all": sequence("ab", within_ms=40),
    "skip": sequence("abc", within_ms=60, after_match_skip={"strategy": "skip_past_last_event"}),
    "many": {
        "steps": [
            {"name": "a", "where": "name = 'a'", "times": {"from": 1}, "allow_combinations": True},
            {"name": "b", "where": "name = 'b'", "contiguity": "followed_by_any"},
        ],
        "within_ms": 30,
    },
    "long": sequence("xab", within_ms=500),
}


@pytest.mark.long
@slow_property()
@given(st.integers(0, 10**9), st.integers(1, 3))
def test_ends_are_the_same_from_both_machines_and_any_batches(seed: int, shards: int) -> None:
    random = Random(seed)  # noqa: S311 - a test
    events = [
        event(random.choice("abcx"), 1_000 + 3 * place, user=random.choice("uvw"))
        for place in range(60)
    ]
    at_once = ended(events, [], shards, "interpreted")
    cuts = sorted(random.sample(range(1, 60), 5))
    assert ended(events, cuts, shards, "compiled") == at_once
    assert ended(events, cuts, 1, "interpreted") == at_once


def ended(
    events: Sequence[Event], cuts: list[int], shards: int, kind: str
) -> dict[str, dict[str, tuple[int | None, ...]]]:
    """Return the funnels of rules that all end at one time, which has been told before."""
    rules = [processor(name, version(1, pattern, until_ms=1_120)) for name, pattern in MORE.items()]
    with machines_of(kind):
        job = Pipeline(stream(), Options(shards=shards))
        job.publish(*rules)
        for begin, end in zip([0, *cuts], [*cuts, len(events)], strict=True):
            job.batch(events[begin:end])
        for time_ms in (5_000, 6_000, 7_000, 8_000):
            job.batch([event("x", time_ms)])
    for name in MORE:
        dropped(job, name)
    open_now = Counter({name: found(job, name).partial_matches for name in MORE})
    assert not +open_now
    return {name: steps(found(job, name)) for name in MORE}
