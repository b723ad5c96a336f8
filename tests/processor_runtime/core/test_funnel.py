"""How far partial matches get in a job: over shards, batches and versions, and as reported."""

from dataclasses import astuple

import pytest

from contract.reports import StepReport
from contract.snapshot import SnapshotProcessor
from processor_runtime.driver.job_status import VersionStatus
from processor_runtime.reporting.heartbeats import running_version
from tests.letters import event, job_of, pass_by, processor, sequence, version
from tests.processor_runtime.core.pipeline import Event, Pipeline

AB = processor("ab", version(1, sequence("ab", within_ms=20)))
SEARCHED = {
    "match_recognize": "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES b.price AS price "
    "PATTERN (a b) DEFINE a AS name = 'a', b AS name > PREV(name))"
}


def found(job: Pipeline, rule: str, number: int = 1) -> VersionStatus:
    versions = {(each.processor_id, each.version): each for each in job.job_status.versions}
    return versions[rule, number]


def steps(status: VersionStatus) -> dict[str, tuple[int | None, ...]]:
    return {name: astuple(counts) for name, counts in status.steps.items()}


def test_the_steps_of_all_shards_and_batches_are_added_up() -> None:
    job = job_of(AB)
    job.batch([event("a", 1_000 + user, user=str(user)) for user in range(10)])
    before = found(job, "ab")
    job.batch([event("b", 1_015 + user, user=str(user)) for user in range(5)])
    pass_by(job, 5_000, 9_000)
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
    job = job_of(AB)
    job.batch([event("a", 1_000)])
    pass_by(job, 1_500)
    job.publish(processor("ab", version(2, sequence("bc", within_ms=20))))
    job.batch([event("b", 2_000)])
    pass_by(job, 5_000, 9_000)
    old, new = found(job, "ab"), found(job, "ab", 2)
    assert [counts.reached for counts in old.steps.values()] == [1]
    assert [counts.reached for counts in new.steps.values()] == [1]


def test_a_clause_that_is_searched_counts_no_steps() -> None:
    job = job_of(processor("sql", version(1, SEARCHED)))
    job.batch([event("a", 1_000), event("b", 1_001)])
    pass_by(job, 5_000, 9_000)
    status = found(job, "sql")
    assert (status.totals.matches, status.steps) == (1, {})


ABC = sequence("abc")


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
    job = job_of(processor("abc", version(1, ABC)), processor("kept", version(1, ABC)))
    job.batch(THREE)
    pass_by(job, 1_100)
    job.publish(*ENDS[end], processor("kept", version(1, ABC)))
    pass_by(job, 2_000, 3_000, 4_000)
    assert dropped(job, "abc") == {"a": 4, "b": 2}
    assert dropped(job, "kept") == stopped(job, "kept") == stopped(job, "abc") == {}
    (a, b) = running_version(found(job, "abc")).steps
    assert [(step.name, step.dropped) for step in (a, b)] == [("a", 4), ("b", 2)]


@pytest.mark.usefixtures("machines")
def test_a_version_that_drains_drops_only_what_is_open_when_it_has() -> None:
    within = sequence("abc", within_ms=200)
    job = job_of(processor("abc", version(1, within)))
    job.batch(THREE)
    pass_by(job, 1_020)
    job.publish(processor("abc", version(2, sequence("xyz"), on_update="drain")))
    job.batch([event("c", 1_030, user="0"), event("x", 5_000)])
    pass_by(job, 9_000, 9_100)
    status = found(job, "abc")
    assert (status.totals.matches, status.totals.timeouts) == (1, 5)
    assert dropped(job, "abc") == {}


OF_KEY, OF_SHARD = {"partial_matches_per_key": 2}, {"partial_matches_per_shard": 5}
MORE = [[event("a", 1_100, user="0"), event("a", 1_101, user="0")]]


@pytest.mark.parametrize(
    ("shards", "limits", "more", "expected"),
    [
        # The event that was one too many has been taken by none.
        (1, OF_KEY, MORE, {"a": 5, "b": 2}),
        (3, OF_KEY, MORE, {"a": 5, "b": 2}),
        # The second batch goes up to 1,010: the last "b" is not in it.
        (1, OF_SHARD, [], {"a": 5, "b": 1}),
    ],
)
@pytest.mark.usefixtures("machines")
def test_what_a_limit_stops_is_told_by_step_in_every_shard(
    shards: int, limits: dict[str, int], more: list[list[Event]], expected: dict[str, int]
) -> None:
    """The key that goes beyond the limit is in one batch, what the others hold in those before."""
    narrow, wide = (version(1, ABC, limits=of) for of in (limits, {}))
    job = job_of(processor("narrow", narrow), processor("wide", wide), shards=shards)
    job.batch(THREE)
    for batch in more:
        job.batch(batch)
    pass_by(job, 1_200, 2_000, 3_000, 4_000)
    status = found(job, "narrow")
    assert (status.state, status.totals.dropped) == ("quarantined", 0)
    assert "partial matches of one" in status.error
    assert stopped(job, "narrow") == expected
    assert stopped(job, "wide") == dropped(job, "narrow") == {}
