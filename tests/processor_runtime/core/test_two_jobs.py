"""Two jobs on one stream, each with its own checkpoint, hear of the same rules at other times.

A version with a start is in effect from that event time on in both, if both hear of it before they
have read that far; so both find the same, with the same ids.
"""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from contract.snapshot import SnapshotProcessor
from tests.processor_runtime.core.pipeline import Options, Pipeline
from tests.processor_runtime.core.published import (
    contents,
    event,
    letters,
    processor,
    sequence,
    stream,
    version,
)
from tests.properties import slow_property

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


def test_a_job_that_was_away_makes_each_change_at_its_instant() -> None:
    patterns = enumerate(("ac", "bc", "abc"), start=2)
    plan = [Change(number, pattern, 15 * (number - 1), 0) for number, pattern in patterns]
    text = "abc" * (EVENTS // 3)
    listening = run(text, plan, [10, 20, 30, 40, 50], lag=0)
    away = run(text, plan, [], lag=0)
    assert contents(listening.rows_of("match")) == contents(away.rows_of("match"))
    assert {row.version for row in away.rows_of("match")} == {1, 2, 3, 4}
