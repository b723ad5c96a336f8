"""Event time follows the clock: of a silent source, if the job says so, or by processing time.

The clock of these tests and the times of their events are the same, in milliseconds.
"""

from itertools import pairwise

import pytest

from contract.snapshot import StreamDefinition
from processor_runtime.driver.offset_log import BatchStart
from processor_runtime.driver.silence import Silence
from processor_runtime.schedule.interval import BEGINNING_MS
from tests.letters import (
    absence,
    contents,
    event,
    job_of,
    letters,
    processor,
    sequence,
    spelled,
    stream,
    taken,
    version,
)
from tests.processor_runtime.core.pipeline import Options, Pipeline

IDLE_MS = 5_000
DELAY_MS = 100
ABSENCE = processor("absence", version(1, absence("a", "b", 2_000)))


def job(
    definition: StreamDefinition | None = None, *, idle_after_ms: int | None = IDLE_MS
) -> Pipeline:
    made = Pipeline(definition or stream(DELAY_MS), Options(shards=3, idle_after_ms=idle_after_ms))
    made.publish(ABSENCE)
    return made


def ticking(job: Pipeline, from_ms: int, until_ms: int) -> None:
    for clock_ms in range(from_ms, until_ms + 1, 1_000):
        job.tick(clock_ms)


def silent_until(clock_ms: int) -> Pipeline:
    """Return a job that has read one event, and nothing but ticks since."""
    silent = job()
    silent.batch(letters("a", 10_000), clock_ms=10_050)
    ticking(silent, 11_000, clock_ms)
    return silent


def test_an_absence_comes_by_the_clock_once_the_source_has_been_silent() -> None:
    silent = silent_until(15_000)
    # The window closed at 12,000, but the source has not been silent for long enough.
    assert silent.rows == []
    # At 16,000 it has; then everything that can have come by 15,000 less the delay has come.
    assert spelled(silent.tick(16_000)) == ["absence1 match a10000"]
    assert silent.rows[0].end_ms == 12_000


def test_a_batch_that_cannot_call_the_shards_leaves_time_alone() -> None:
    """Else rules whose time is over by then would be forgotten before shards have seen it."""
    silent = silent_until(15_000)
    before_ms = silent.job_status.watermark_ms
    silent.batch(clock_ms=16_000)
    assert silent.job_status.watermark_ms == before_ms
    assert spelled(silent.tick(17_000)) == ["absence1 match a10000"]


def test_without_the_option_the_last_absence_waits_for_the_next_event() -> None:
    waiting = job(idle_after_ms=None)
    waiting.batch(letters("a", 10_000), clock_ms=10_050)
    ticking(waiting, 11_000, 100_000)
    assert waiting.rows == []
    waiting.batch(letters("x", 100_000), clock_ms=100_000)
    waiting.batch()
    assert spelled(waiting.rows) == ["absence1 match a10000"]


@pytest.mark.parametrize("has_events", [True, False], ids=["after events", "before any event"])
def test_new_and_scheduled_rules_come_into_effect(has_events: bool) -> None:  # noqa: FBT001 - a parameter
    silent = job()
    if has_events:
        silent.batch(letters("a", 10_000), clock_ms=10_050)
    ticking(silent, 11_000, 20_000)
    new = processor("new", version(1, sequence("ab")))
    scheduled = processor("scheduled", version(1, sequence("ab"), from_ms=23_000))
    silent.publish(ABSENCE, new, scheduled)
    found = {}
    for clock_ms in (21_000, 22_000, 23_000, 24_000):
        silent.tick(clock_ms)
        states = {each.processor_id: each.state for each in silent.job_status.versions}
        found[clock_ms] = (states["new"], states["scheduled"])
    # In each batch event time is what the clock was at the batch before.
    assert found == {
        21_000: ("active", "pending"),
        22_000: ("active", "pending"),
        23_000: ("active", "pending"),
        24_000: ("active", "active"),
    }
    begun = {each.processor_id: each.active_from_ms for each in silent.timeline.intervals}
    assert begun == {"absence": BEGINNING_MS, "new": 20_001, "scheduled": 23_000}


def test_an_event_after_a_tick_is_late_by_the_rule_for_all_and_counted() -> None:
    silent = silent_until(20_000)
    # Event time has come to 19,000: what is older than the delay, 100 ms, is late.
    rows = silent.batch(
        [event("b", 18_899), event("a", 18_900), event("b", 18_901)], clock_ms=20_100
    )
    assert [(row.kind, row.start_ms) for row in rows] == [("late", 18_899)]
    assert silent.job_status.totals.late == 1
    # The others are matched; the source is not silent any more.
    ticking(silent, 21_000, 24_000)
    assert [taken(row) for row in silent.rows_of("match")] == ["a10000"]
    silent.batch(letters("x", 30_000), clock_ms=30_000)
    silent.batch()
    assert [taken(row) for row in silent.rows_of("match")] == ["a10000"]
    assert silent.job_status.totals.matches == 1


def test_an_event_that_took_no_longer_than_the_delay_is_never_late() -> None:
    """It happened within the delay before its batch, and no batch before could have found it."""
    silent = silent_until(20_000)
    # It has arrived just after the batch of 20,000, and is as old as the delay allows.
    silent.batch([event("b", 20_000 - DELAY_MS)], clock_ms=25_000)
    assert silent.job_status.totals.late == 0


def test_an_event_in_the_batch_of_a_tick_is_taken_and_ends_the_silence() -> None:
    silent = silent_until(15_000)
    silent.batch(letters("b", 11_000), clock_ms=16_000, has_tick=True)
    ticking(silent, 17_000, 20_000)
    assert silent.rows == []


@pytest.mark.parametrize("at_batch", range(12))
def test_a_kill_at_any_batch_changes_no_row(at_batch: int) -> None:
    """The batch runs again as it was pinned, though another process would decide differently."""
    steady, killed = job(), job()
    for number in range(12):
        for each in (steady, killed):
            if number == 7:
                each.publish(ABSENCE, processor("new", version(1, sequence("ab"))))
            if number in {0, 9}:
                each.batch(letters("a", 10_000 + 1_000 * number), clock_ms=10_000 + 1_000 * number)
            else:
                each.tick(10_000 + 1_000 * number)
        if number == at_batch:
            before = list(killed.rows)
            killed.replay()
            assert killed.rows == before
            assert killed.states == steady.states
    # Silence is waited for anew by the new process, so ticks may come later, but the rows do not.
    for each in (steady, killed):
        ticking(each, 22_000, 40_000)
    assert contents(killed.rows) == contents(steady.rows)
    assert len(steady.rows_of("match", "absence")) == 2


def test_time_goes_on_from_the_clock_after_a_restart_without_the_option() -> None:
    silent = silent_until(20_000)
    before = silent.watermark_ms
    silent.options = Options(shards=3)
    silent.restart()
    rows = silent.batch([event("b", 18_000), event("c", 20_000)], clock_ms=50_000)
    # What was decided stays: the first of them is late, as it was before.
    assert [(row.kind, row.start_ms) for row in rows] == [("late", 18_000)]
    assert silent.watermark_ms == before


def test_time_never_goes_back_with_the_clock() -> None:
    silent = job()
    silent.batch(letters("a", 10_000), clock_ms=10_000)
    times = []
    for clock_ms in (11_000, 20_000, 21_000, 5_000, 6_000, 12_000, 22_000, 23_000):
        silent.tick(clock_ms)
        times.append(silent.job_status.watermark_ms or BEGINNING_MS)
    assert all(first <= second for first, second in pairwise(times))
    assert times[-1] == 22_000 - DELAY_MS - 1


def test_silence_is_told_as_long_as_event_time_follows_the_clock() -> None:
    silence = Silence(1_000)
    told = []
    for clock_ms, reads in ((0, True), (600, False), (1_200, False), (1_800, True), (2_000, False)):
        silence.event_time_ms(BatchStart(0, 0, clock_ms, reads=(reads,), has_tick=True))
        told.append(silence.since_ms)
    assert told == [None, None, 0, None, None]


def test_a_clock_that_is_set_back_makes_the_wait_begin_anew() -> None:
    silence = Silence(IDLE_MS)
    hour_ms = 3_600_000
    silence.event_time_ms(BatchStart(0, 0, hour_ms))
    # The clock is set back by an hour. Nothing has been heard for as long as it takes.
    told = [
        silence.event_time_ms(BatchStart(number, 0, clock_ms, reads=(False,), has_tick=True))
        for number, clock_ms in enumerate(range(1_000, 8_000, 1_000), start=1)
    ]
    assert told == [None, None, None, None, None, 5_000, 6_000]
    assert silence.since_ms == 1_000


HOUR_MS = 3_600_000
NOON_MS = 12 * HOUR_MS


def by_clock() -> Pipeline:
    return job_of(
        version(1, sequence("ab", within_ms=60_000)),
        processor("q", version(1, absence("a", "b", 60_000))),
        by_clock=True,
    )


def read(pipeline: Pipeline, text: str, clock_ms: int) -> list[str]:
    """Return what comes out of a batch with these letters, in which there is a tick."""
    return spelled(pipeline.batch(letters(text, 1), clock_ms=clock_ms, has_tick=True))


def test_no_event_is_late_or_waits_after_the_clock_was_set_back() -> None:
    pipeline = by_clock()
    read(pipeline, "a", NOON_MS)
    set_back_ms = NOON_MS - HOUR_MS
    assert read(pipeline, "b", set_back_ms) == ["p1 match a1 b1"]
    assert read(pipeline, "a", set_back_ms + 1_000) == []
    pipeline.restart()
    assert read(pipeline, "b", set_back_ms + 2_000) == ["p1 match a1 b1"]
    assert pipeline.rows_of("late") == []


def test_windows_close_once_the_clock_has_caught_up() -> None:
    pipeline = by_clock()
    read(pipeline, "a", NOON_MS)
    read(pipeline, "a", NOON_MS - HOUR_MS)
    assert read(pipeline, "", NOON_MS - HOUR_MS + 120_000) == []
    read(pipeline, "", NOON_MS + 60_000)
    found = read(pipeline, "", NOON_MS + 61_000) + read(pipeline, "", NOON_MS + 62_000)
    assert [each for each in found if each.startswith("q1")] == ["q1 match a1", "q1 match a1"]


def test_a_batch_that_runs_again_after_the_clock_was_set_back_is_the_same() -> None:
    pipeline = by_clock()
    read(pipeline, "a", NOON_MS)
    read(pipeline, "b", NOON_MS - HOUR_MS)
    first = pipeline.batch(clock_ms=NOON_MS - HOUR_MS + 1, has_tick=True)
    assert pipeline.replay() == first
