"""Several sources in one job: the one that is furthest behind is the time of the job.

The clock of these tests and the times of their events are the same, in milliseconds.
"""

from random import Random
from typing import Any

import pytest

from contract.report_parts import ReportPart
from processor_runtime.driver.checked_files import CheckpointDamaged
from processor_runtime.driver.checkpoint_identity import CheckpointMismatch, checkpoint_identity
from processor_runtime.driver.offset_log import BatchStart, fit_sources, planned_batch
from processor_runtime.driver.silence import Silence
from processor_runtime.driver.source_times import SourceTimes, read_times, write_times
from processor_runtime.driver.whole_checkpoint import _require_times
from processor_runtime.reporting.heartbeats import heartbeat
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS, BatchClock
from tests.letters import (
    absence,
    contents,
    event,
    processor,
    sequence,
    spelled,
    stream,
    taken,
    version,
)
from tests.processor_runtime.core.pipeline import SOURCE, DictFiles, Options, Pipeline

NAMES = ("left", "right")
DELAY_MS = 100
RULES = (
    processor("p", version(1, sequence("ab", within_ms=2_000))),
    processor("q", version(1, absence("a", "c", 2_000))),
)


def left(letter: str, time_ms: int) -> dict[str, Any]:
    return {**event(letter, time_ms), SOURCE: "left"}


def right(letter: str, time_ms: int) -> dict[str, Any]:
    return {**event(letter, time_ms), SOURCE: "right"}


def job(*, idle_after_ms: int | None = None, sources: tuple[str, ...] = NAMES) -> Pipeline:
    options = Options(shards=3, idle_after_ms=idle_after_ms, sources=sources)
    made = Pipeline(stream(DELAY_MS), options)
    made.publish(*RULES)
    return made


def test_the_source_that_is_behind_is_the_time_and_none_of_its_events_is_late() -> None:
    both = job()
    assert both.batch([left("a", 10_000), left("x", 50_000)]) == []
    # Spark's watermark is at 50,000 less the delay, and right has given nothing yet.
    assert both.batch([right("x", 9_000)]) == []
    assert both.job_status.watermark_ms == 9_000 - DELAY_MS - 1
    assert spelled(both.batch([right("b", 10_500), right("x", 11_000)])) == [
        "p1 match a10000 b10500"
    ]
    assert spelled(both.batch([right("x", 13_000)])) == ["q1 match a10000"]
    assert both.rows_of("late") == []
    # What is late is so by the least of both.
    rows = both.batch([left("b", 12_899), left("b", 12_900), right("b", 12_000)])
    assert sorted((row.kind, row.start_ms) for row in rows) == [("late", 12_000), ("late", 12_899)]


def test_a_source_that_has_given_nothing_holds_time_unless_it_is_idle() -> None:
    waiting, idle = job(), job(idle_after_ms=5_000)
    for each in (waiting, idle):
        each.batch([left("a", 10_000)], clock_ms=10_000)
        for number in range(1, 9):
            now_ms = 10_000 + 1_000 * number
            each.batch([left("x", now_ms)], clock_ms=now_ms, has_tick=True)
    assert waiting.rows == []
    assert waiting.job_status.watermark_ms is None
    assert spelled(idle.rows_of("match")) == ["q1 match a10000"]
    by_name = {each.name: each for each in idle.job_status.sources}
    assert by_name["left"].newest_event_ms == 18_000
    assert (by_name["left"].idle_since_ms, by_name["right"].idle_since_ms) == (None, 10_000)


USERS = [f"user-{number}" for number in range(9)]


def absences(rows: list[OutputRow]) -> list[str]:
    """Return the users of whom something has not come, in whatever shards they are."""
    return sorted(row.key or "" for row in rows if row.processor_id == "q")


def test_time_that_goes_on_by_two_sources_together_calls_every_shard() -> None:
    both = job()
    both.batch([*(event("a", 10_000, user=user) | {SOURCE: "left"} for user in USERS)])
    both.batch([right("x", 10_000)])
    # Neither alone lets time go on.
    rows = both.batch([left("x", 20_000), right("x", 15_000)])
    assert absences(rows) == [f'["{user}"]' for user in USERS]


def test_a_source_that_becomes_idle_lets_a_tick_call_every_shard() -> None:
    both = job(idle_after_ms=5_000)
    both.batch([right("x", 9_000)], clock_ms=10_000)
    both.batch(
        [*(event("a", 10_000, user=user) | {SOURCE: "left"} for user in USERS)], clock_ms=11_000
    )
    both.batch([left("x", 20_000)], clock_ms=12_000)
    assert both.tick(14_000) == []
    assert absences(both.tick(15_000)) == [f'["{user}"]' for user in USERS]


def test_a_source_that_is_not_idle_any_more_takes_time_not_back() -> None:
    both = job(idle_after_ms=5_000)
    both.batch([left("x", 10_000), right("x", 10_000)], clock_ms=10_000)
    for now_ms in range(11_000, 18_000, 1_000):
        both.batch([left("x", now_ms)], clock_ms=now_ms, has_tick=True)
    reached_ms = both.job_status.watermark_ms
    assert reached_ms == 17_000 - DELAY_MS - 1
    rows = both.batch([right("a", 16_000), right("a", 16_900)], clock_ms=18_000, has_tick=True)
    assert [(row.kind, row.start_ms) for row in rows] == [("late", 16_000)]
    # It is waited for again.
    both.batch([left("x", 30_000)], clock_ms=18_500)
    assert both.job_status.watermark_ms == reached_ms
    assert both.rows_of("match") == []


def test_time_follows_the_clock_once_all_sources_are_idle() -> None:
    both = job(idle_after_ms=5_000)
    both.batch([left("a", 10_000), right("x", 9_000)], clock_ms=10_000)
    for now_ms in range(11_000, 20_000, 1_000):
        both.tick(now_ms)
    assert spelled(both.rows_of("match")) == ["q1 match a10000"]
    assert both.job_status.watermark_ms == 18_000 - DELAY_MS - 1


@pytest.mark.parametrize("seed", range(6))
def test_restarts_and_replays_at_any_batch_change_no_row(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - no secret
    steady, broken = job(), job()
    times = {"left": 10_000, "right": 10_000}
    for _ in range(25):
        events = []
        for _ in range(random.randrange(4)):
            name = random.choice(NAMES)
            times[name] += random.randrange(1, 1_500) * (2 if name == "left" else 1)
            give = left if name == "left" else right
            events.append(give(random.choice("abcx"), times[name]))
        for each in (steady, broken):
            each.batch(events)
        match random.randrange(3):
            case 0:
                broken.restart()
            case 1:
                before = list(broken.rows)
                broken.replay()
                assert broken.rows == before
            case _:
                pass
        assert contents(broken.rows) == contents(steady.rows)
        assert broken.job_status.watermark_ms == steady.job_status.watermark_ms
        assert broken.states == steady.states
    assert steady.rows_of("match")
    assert steady.rows_of("late") == []


@pytest.mark.parametrize("seed", range(4))
def test_in_whatever_batches_they_come_the_same_is_found(seed: int) -> None:
    """Sources that are read at different speeds give what one in order of time gives."""
    random = Random(seed)  # noqa: S311 - no secret
    events = [
        (left if random.randrange(2) else right)(random.choice("abcx"), 10_000 + 400 * number)
        for number in range(60)
    ]
    merged, apart = job(sources=()), job()
    merged.batch([{k: v for k, v in each.items() if k != SOURCE} for each in events])
    merged.close()
    queues = [[each for each in events if each[SOURCE] == name] for name in NAMES]
    while any(queues):
        taken_now = []
        for queue in queues:
            count = random.randrange(5)
            taken_now += queue[:count]
            del queue[:count]
        apart.batch(taken_now)
    apart.close()
    assert apart.rows_of("late") == []
    assert sorted(map(taken, apart.rows_of("match"))) == sorted(map(taken, merged.rows_of("match")))
    assert len(apart.rows_of("match")) > 5


def clock(**sources_ms: int | None) -> BatchClock:
    return BatchClock(3, 1, 500, 0, watermark_delay_ms=101, sources_ms=sources_ms)


@pytest.mark.parametrize(
    ("before", "read", "complete_ms"),
    [
        ({"left": 900, "right": 800}, {}, 699),
        ({"left": 900, "right": 800}, {"right": 1_000}, 799),
        ({"left": 900, "right": None}, {"left": 1_000}, 500),
        ({"left": 900, "right": None}, {"right": 700}, 599),
        ({"left": 900}, {"left": 1_000}, 899),
        ({"left": 590}, {"left": 580}, 500),
    ],
)
def test_a_batch_is_complete_up_to_the_least(
    before: dict[str, int | None], read: dict[str, int], complete_ms: int
) -> None:
    newest_ms = max(read.values(), default=None)
    assert clock(**before).having_read(newest_ms, read).complete_ms == complete_ms


def test_times_are_read_as_they_were_written_and_never_go_back() -> None:
    times = SourceTimes({"left": 900}, 700).after(clock(left=900), {"left": 800, "right": 600})
    assert times.newest_ms == {"left": 900, "right": 600}
    assert read_times(write_times(times)) == times
    assert read_times(write_times(SourceTimes())).complete_ms == NO_WATERMARK_MS
    assert times.waited_for(NAMES, {"left"}) == {"right": 600}
    # All are idle: none holds time back.
    assert times.waited_for(NAMES, set(NAMES)) == {"left": 900}


def test_a_source_is_idle_by_itself_and_only_from_a_tick_on() -> None:
    silence = Silence(1_000)
    told = []
    steps = [(0, True, True), (1_500, False, False), (1_600, False, True), (1_700, True, True)]
    for now_ms, reads_right, has_tick in steps:
        start = BatchStart(0, 0, now_ms, reads=(True, reads_right), has_tick=has_tick)
        assert silence.event_time_ms(start) is None
        told.append((set(silence.idle), silence.idle_since_ms(1)))
    assert told == [(set(), None), (set(), None), ({1}, 0), (set(), None)]
    assert silence.since_ms is None


def test_each_source_has_a_line_in_the_plan_of_a_batch_and_ticks_the_last() -> None:
    files = DictFiles()
    head = b'v1\n{"batchWatermarkMs":900,"batchTimestampMs":1000}\n'
    files.write("offsets/0", head + b"1\n5\n7")
    files.write("offsets/1", head + b"1\n6\n8")
    start = planned_batch(files, 1, has_ticks=True)
    assert (start.reads, start.has_tick) == ((False, True), True)
    fit_sources(files, has_ticks=False, sources=2)
    assert files["offsets/1"] == head + b"1\n6"
    fit_sources(files, has_ticks=True, sources=2)
    assert files["offsets/1"] == head + b"1\n6\n-"


def test_a_checkpoint_belongs_to_its_sources_in_their_order() -> None:
    files = DictFiles()
    assert checkpoint_identity(files, "logins", None, 2, NAMES).source_count == 2
    for others in (("right", "left"), ("left",), ("left", "other"), ()):
        with pytest.raises(CheckpointMismatch, match="it belongs to the sources left, right"):
            checkpoint_identity(files, "logins", None, 2, others)
    assert checkpoint_identity(files, "logins", None, 2, NAMES).sources == NAMES
    one = DictFiles()
    checkpoint_identity(one, "logins", None, 2)
    with pytest.raises(CheckpointMismatch, match="one source, this job reads the sources left"):
        checkpoint_identity(one, "logins", None, 2, NAMES)


def test_a_checkpoint_without_the_times_of_its_sources_is_not_whole() -> None:
    both = job()
    both.batch([left("a", 10_000), right("a", 10_000)])
    both.batch([left("a", 11_000), right("a", 11_000)])
    files = both._files
    _require_times(files, 1)
    del files["source-times/1"]
    with pytest.raises(CheckpointDamaged, match="source-times/1"):
        _require_times(files, 1)


def test_a_heartbeat_has_the_sources() -> None:
    both = job()
    both.batch([left("a", 10_000)])
    told = heartbeat(both.job_status, ReportPart([], None, replaces_all=False), "instance-1", 1)
    assert [(each.name, each.newest_event_ms, each.idle_since_ms) for each in told.sources] == [
        ("left", 10_000, None),
        ("right", None, None),
    ]
