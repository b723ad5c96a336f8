"""By processing time: a clock that is set back makes no event late, and holds nothing up."""

from tests.processor_runtime.core.pipeline import Options, Pipeline
from tests.processor_runtime.core.published import (
    absence,
    letters,
    processor,
    sequence,
    spelled,
    stream,
    version,
)

HOUR_MS = 3_600_000
NOON_MS = 12 * HOUR_MS


def job() -> Pipeline:
    pipeline = Pipeline(stream(), Options(by_clock=True))
    pipeline.publish(
        processor("p", version(1, sequence("ab", within_ms=60_000))),
        processor("q", version(1, absence("a", "b", 60_000))),
    )
    return pipeline


def read(pipeline: Pipeline, text: str, clock_ms: int) -> list[str]:
    """Return what comes out of a batch with these letters, in which there is a tick."""
    return spelled(pipeline.batch(letters(text, 1), clock_ms=clock_ms, has_tick=True))


def test_time_goes_on_by_the_clock() -> None:
    pipeline = job()
    read(pipeline, "a", NOON_MS)
    assert read(pipeline, "b", NOON_MS + 1_000) == ["p1 match a1 b1"]


def test_no_event_is_late_or_waits_after_the_clock_was_set_back() -> None:
    pipeline = job()
    read(pipeline, "a", NOON_MS)
    set_back_ms = NOON_MS - HOUR_MS
    assert read(pipeline, "b", set_back_ms) == ["p1 match a1 b1"]
    assert read(pipeline, "a", set_back_ms + 1_000) == []
    pipeline.restart()
    assert read(pipeline, "b", set_back_ms + 2_000) == ["p1 match a1 b1"]
    assert pipeline.rows_of("late") == []


def test_windows_close_once_the_clock_has_caught_up() -> None:
    pipeline = job()
    read(pipeline, "a", NOON_MS)
    read(pipeline, "a", NOON_MS - HOUR_MS)
    assert read(pipeline, "", NOON_MS - HOUR_MS + 120_000) == []
    read(pipeline, "", NOON_MS + 60_000)
    found = read(pipeline, "", NOON_MS + 61_000) + read(pipeline, "", NOON_MS + 62_000)
    assert [each for each in found if each.startswith("q1")] == ["q1 match a1", "q1 match a1"]


def test_a_batch_that_runs_again_after_the_clock_was_set_back_is_the_same() -> None:
    pipeline = job()
    read(pipeline, "a", NOON_MS)
    read(pipeline, "b", NOON_MS - HOUR_MS)
    first = pipeline.batch(clock_ms=NOON_MS - HOUR_MS + 1, has_tick=True)
    assert pipeline.replay() == first
