"""How far partial matches get in a job: over shards, batches and versions, and as reported."""

from dataclasses import astuple

from contract.reports import StepReport
from processor_runtime.driver.job_status import VersionStatus
from processor_runtime.reporting.heartbeats import running_version
from tests.processor_runtime.core.pipeline import Pipeline
from tests.processor_runtime.core.published import event, processor, sequence, stream, version

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
        first: (10, 10, 5, 0, 0, 1_009),
        second: (5, 5, 0, 0, 0, 1_019),
    }
    assert steps(before) in ({}, {first: (10, 10, 0, 0, 0, 1_009)})  # not changed meanwhile
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
