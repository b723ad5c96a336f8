"""Every vector answered by Flink, through both stages: many rules, many keys, any batches."""

from collections import Counter
from random import Random

import pytest

from tests.matching.compiled_machine import machines_of
from tests.processor_runtime.core.pipeline import Options, Pipeline
from tests.processor_runtime.core.vector_stream import (
    AT_ONCE,
    COPIES,
    END_MS,
    IN_DEADLINE_ORDER,
    arrivals,
    batches,
    found_by_flink,
    found_by_key,
    in_deadline_order,
    processors,
    running_cases,
    stream,
)


@pytest.mark.long
def test_one_matcher_that_closes_windows_by_deadline_finds_what_flink_finds_but_for_ten() -> None:
    differing = {
        case.id
        for case in running_cases()
        if Counter(found_by_flink(case)) != Counter(in_deadline_order(case.id))
    }
    assert differing == IN_DEADLINE_ORDER


BEGINS = range(0, 2_000, AT_ONCE)
GATE = {(begin, turn % 4 == 0) for turn, begin in enumerate(BEGINS) if turn % 2 == 0}
"""Half of the vectors: with filters in the first stage and compiled machines, or without both."""


@pytest.mark.parametrize(
    ("begin", "filters"),
    [
        pytest.param(
            begin,
            filters,
            id=f"{begin}-{'filtered' if filters else 'unfiltered'}",
            marks=[] if (begin, filters) in GATE else [pytest.mark.nightly],
        )
        for begin in BEGINS
        for filters in (True, False)
    ],
)
def test_both_stages_find_what_that_matcher_finds(begin: int, *, filters: bool) -> None:
    cases = running_cases()[begin : begin + AT_ONCE]
    random = Random(begin + filters)  # noqa: S311 - any batches, but always the same
    delay_ms = random.choice([0, 3, 500])
    job = Pipeline(stream(delay_ms), Options(shards=random.randint(1, 3), filters=filters))
    job.publish(*processors(cases))
    with machines_of("compiled" if filters else "interpreted"):
        for events in batches(arrivals(cases, delay_ms, random), random.randint(1, 8), random):
            job.batch(events)
            if random.random() < 0.3:
                job.restart()
        job.advance(END_MS)
    assert not job.rows_of("late")
    found = found_by_key(job.rows, cases)
    for number, case in enumerate(cases):
        aborts = case.expected.failure is not None
        for copy in range(1 if aborts else COPIES):
            # Also in order: as one matcher, fed event by event, finds them.
            assert found.get((number, copy), []) == in_deadline_order(case.id), case.id
        reasons = [row.error for row in job.rows_of("error", f"v{number:03}")]
        assert len(reasons) == aborts, case.id
        assert all(reason and '"reason":"skip"' in reason for reason in reasons)
