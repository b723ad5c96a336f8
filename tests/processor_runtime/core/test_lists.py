"""Lists in a job: each event is tested against what is in effect at its time, whatever happens."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.list_content import list_content, list_digest
from contract.snapshot import SnapshotList, SnapshotListVersion, SnapshotProcessor
from processor_runtime.driver import pinning
from processor_runtime.schedule.interval import BEGINNING_MS
from processor_runtime.schedule.timeline_document import read_timeline, write_timeline
from tests.letters import (
    contents,
    event,
    followed,
    job_of,
    processor,
    sequence,
    spelled,
    stream,
    version,
    with_step,
)
from tests.processor_runtime.core.pipeline import Event, Options, Pipeline
from tests.properties import slow_property

IN_LIST, NOT_IN_LIST = "name IN LIST('good')", "name NOT IN LIST('good')"
IN_COLUMN, NOT_IN_COLUMN = "price = 1", "price <> 1"


def rules(listed: str, unlisted: str) -> list[SnapshotProcessor]:
    """Return rules that ask the same of a list, or of a column that says the same."""
    again = f"a.name = name OR price >= 0 AND b.price >= 0 AND {listed}"
    steps = followed(("a", listed), ("b", unlisted), ("c", again), within_ms=40)
    absent = with_step(
        followed(("a", listed), ("b", unlisted), within_ms=9), 1, contiguity="not_followed_by"
    )
    clause = (
        "MATCH_RECOGNIZE (PARTITION BY user ORDER BY ts MEASURES FIRST(L.ts) AS t "
        "PATTERN (L H+) WITHIN INTERVAL '40' MILLISECOND "
        f"DEFINE L AS {listed}, H AS {unlisted} AND ts >= PREV(ts))"
    )
    return [
        processor("absence", version(1, absent)),
        processor("anyone", version(1, steps, key_by=None)),
        processor("clause", version(1, {"match_recognize": clause})),
        processor("plain", version(1, sequence("ab", within_ms=20))),
        processor("steps", version(1, steps)),
    ]


def list_version(
    job: Pipeline, values: Iterable[str], number: int = 1, from_ms: int | None = None
) -> SnapshotListVersion:
    """Return a version of the list, whose content the source of rules of a job then has."""
    content = list_content(sorted(values))
    digest = list_digest(content)
    job.list_contents[digest] = content
    return SnapshotListVersion(
        version=number, effective_from_ms=from_ms, digest=digest, count=len({*values})
    )


def good(*versions: SnapshotListVersion) -> SnapshotList:
    return SnapshotList(name="good", type="STRING", versions=list(versions))


@dataclass(slots=True)
class Story:
    """A job with a list, and what the list is meant to hold at each event time."""

    job: Pipeline
    versions: list[SnapshotListVersion] = field(default_factory=list)
    values: dict[int, frozenset[str]] = field(default_factory=dict)
    published: list[tuple[int, tuple[SnapshotListVersion, ...]]] = field(default_factory=list)
    is_new: bool = False

    def change(self, values: frozenset[str], from_ms: int | None) -> None:
        """Publish another version of the list."""
        number = len(self.values) + 1
        self.values[number] = values
        made = list_version(self.job, values, number, from_ms)
        # As the service has it: the newest that is effective at once, and all that come after it.
        self.versions = [made] if from_ms is None else [*self.versions, made]
        self.job.publish(*rules(IN_LIST, NOT_IN_LIST), lists=[good(*self.versions)])
        self.is_new = True

    def batch(self, events: Sequence[tuple[str, int]]) -> Sequence[Event]:
        """Run a batch; return its events with what the list said of each."""
        if self.is_new:
            newest_ms = self.job.newest_ms
            begin_ms = BEGINNING_MS if newest_ms is None else newest_ms + 1
            self.published.append((begin_ms, tuple(self.versions)))
            self.is_new = False
        told = [
            event(name, at, user="uv"[at % 2], price=int(name in self.held_at(at)))
            for name, at in events
        ]
        self.job.batch(told)
        return told

    def held_at(self, time_ms: int) -> frozenset[str]:
        """Return what the list holds for an event."""
        versions = [found for begin_ms, found in self.published if begin_ms <= time_ms][-1]
        begun = [v.version for v in versions if (v.effective_from_ms or BEGINNING_MS) <= time_ms]
        return self.values[max(begun, default=versions[0].version)]


NAMES = "abcd"
SETS = st.frozensets(st.sampled_from(NAMES), max_size=3)
BATCHES = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(-8, 12)), min_size=1, max_size=8)
STEPS = st.one_of(
    st.tuples(st.just("change"), SETS, st.none() | st.integers(0, 60)),
    st.tuples(st.just("batch"), BATCHES, st.none()),
    st.tuples(st.sampled_from(["replay", "restart"]), st.none(), st.none()),
)


@slow_property()
@given(st.integers(0, 10), SETS, st.lists(STEPS, max_size=14), st.integers(1, 3))
def test_a_list_is_a_column_that_says_at_each_event_what_it_holds(
    delay_ms: int, first: frozenset[str], story: list[tuple[str, Any, Any]], shards: int
) -> None:
    told = Story(Pipeline(stream(delay_ms), Options(shards=shards)))
    told.change(first, None)
    column = job_of(*rules(IN_COLUMN, NOT_IN_COLUMN), delay_ms=delay_ms, shards=shards)
    now_ms = 1_000
    for what, values, from_ms in story:
        match what:
            case "change":
                told.change(values, None if from_ms is None else 1_000 + from_ms)
            case "batch":
                column.batch(told.batch([(name, now_ms + at) for name, at in values]))
                now_ms += 12
            case "restart":
                told.job.restart()
            case "replay" if told.job.batch_id:
                told.job.replay()
    told.job.advance(5_000)
    column.advance(5_000)
    assert not [*told.job.rows_of("error"), *column.rows_of("error")]
    assert contents(told.job.rows) == contents(column.rows)
    written = write_timeline(told.job._pins.timeline, told.job.stream)
    assert read_timeline(written)[0].lists == told.job._pins.timeline.lists


TWO_STEPS = followed(("a", IN_LIST), ("b", "name = 'x'"))


def publish(job: Pipeline, *values: str, number: int = 1) -> None:
    rule = processor("p", version(1, TWO_STEPS))
    job.publish(rule, lists=[good(list_version(job, values, number))])


def test_a_rule_of_a_list_that_is_not_there_is_set_apart_and_runs_once_it_is() -> None:
    job = job_of(version(1, TWO_STEPS), processor("q", version(1, sequence("ax"))))
    job.batch([event("a", 1_000), event("x", 1_001)], until_ms=2_000)
    (quarantined,) = job._pins.timeline.quarantined
    assert "there is no list 'good'" in quarantined.reason
    assert spelled(job.rows) == ["q1 match a1000 x1001"]
    job.publish(processor("p", version(2, TWO_STEPS)), lists=[good(list_version(job, ["a"]))])
    job.batch([event("a", 3_000), event("x", 3_001)], until_ms=4_000)
    assert spelled(job.rows)[-1] == "p2 match a3000 x3001"


def files_of_lists(job: Pipeline) -> Iterator[str]:
    return (name for name in job._files if name.startswith("rules/list-"))


def test_contents_that_no_batch_needs_leave_the_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinning, "RECORDS_KEPT", 10)
    job = Pipeline(stream())
    for number in range(1, 8):
        publish(job, f"n{number}", number=number)
        job.batch([event("a", 1_000 + number)])
    assert len(list(files_of_lists(job))) == 7
    for number in range(25):
        job.batch([event("a", 2_000 + number)])
    publish(job, "last", number=9)
    for number in range(25):
        job.batch([event("a", 3_000 + number)])
    # The one before is kept until the next change.
    assert len(list(files_of_lists(job))) == 2


@pytest.mark.parametrize("size", [0, 100_000])
def test_lists_may_be_empty_or_large(size: int) -> None:
    job = Pipeline(stream())
    publish(job, *map(str, range(size)))
    job.batch([event(name, 1_000) for name in ("99999", "100000", "-1")])
    job.batch([event("x", 1_001)], until_ms=2_000)
    assert spelled(job.rows) == (["p1 match 999991000 x1001"] if size else [])
