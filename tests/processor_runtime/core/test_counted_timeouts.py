"""Timeouts that no output takes are counted as those that make rows, and change nothing else."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processor_runtime.stages.shard_matcher import MatchSettings
from tests.letters import contents, event, job_of, processor, sequence, version
from tests.processor_runtime.core.pipeline import Event, Pipeline
from tests.properties import slow_property

ALL = MatchSettings()
QUIET = replace(ALL, wanted=ALL.wanted - {"timeout"})
SQL = {
    "match_recognize": "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES b.price AS price "
    "PATTERN (a {- x*? -} b) WITHIN INTERVAL '15' MILLISECOND "
    "DEFINE a AS name = 'a', b AS name = 'b')"
}
RULES = [
    processor("ab", version(1, sequence("ab", within_ms=20))),
    processor("bc", version(1, sequence("bc", within_ms=20))),
    processor("abc", version(1, sequence("abc", within_ms=9))),
    processor("sql", version(1, SQL)),
]


pytestmark = pytest.mark.usefixtures("machines")


def run(events: Sequence[Event], matching: MatchSettings, size: int) -> Pipeline:
    job = job_of(*RULES, matching=matching)
    for begin in range(0, len(events), size):
        job.batch(events[begin : begin + size])
    job.batch([event("x", 10_000)])
    job.batch([event("x", 20_000)])
    return job


@slow_property()
@given(
    names=st.text("aabc", min_size=1, max_size=40),
    steps=st.lists(st.integers(0, 9), min_size=40, max_size=40),
    size=st.integers(5, 40),
)
def test_timeouts_that_no_output_takes(names: str, steps: list[int], size: int) -> None:
    times = [1_000 + sum(steps[:place]) for place in range(len(names))]
    events = [
        event(name, time_ms, user="uv"[place % 2])
        for place, (name, time_ms) in enumerate(zip(names, times, strict=True))
    ]
    told, quiet = run(events, ALL, size), run(events, QUIET, size)
    assert contents(quiet.rows) == contents([row for row in told.rows if row.kind != "timeout"])
    assert quiet.job_status.versions == told.job_status.versions
    assert quiet.job_status.totals.timeouts == len(told.rows_of("timeout"))
