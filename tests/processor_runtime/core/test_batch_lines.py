"""The lines of a job: every change of rules, every find, and a sign of life."""

from typing import Any

from processor_runtime.batch_lines import BatchLines
from processor_runtime.driver.job_status import JobStatus, SourceStatus, Totals, VersionStatus
from processor_runtime.schedule.interval import BEGINNING_MS, END_MS, EndReason, Interval
from processor_runtime.schedule.timeline import Timeline

OLD = Interval("guess", 1, BEGINNING_MS, END_MS, "old", {})
REPLACED = Interval("guess", 1, BEGINNING_MS, 61_000, "old", {}, EndReason.REPLACED)
NEW = Interval("guess", 2, 61_000, END_MS, "new", {})
NOBODY, FIRST, SECOND = Timeline(), Timeline((OLD,)), Timeline((REPLACED, NEW))


def status(batch_id: int, matches: int = 0, **fields: Any) -> JobStatus:
    totals = Totals(events=100 * batch_id, matches=matches)
    return JobStatus(epoch=3, batch_id=batch_id, totals=totals, **fields)


def test_a_change_of_rules_is_a_block_of_its_own() -> None:
    lines = BatchLines()
    told = list(lines.lines(status(0), NOBODY, FIRST, now_seconds=100.0))
    assert told[:2] == ["epoch 3, batch 0", "  guess v1: active from the first event"]
    assert "no events yet" in told[2]
    assert list(lines.lines(status(1), FIRST, SECOND, now_seconds=100.5)) == [
        "epoch 3, batch 1",
        "  guess v1: replaced at 1970-01-01T00:01:01.000Z",
        "  guess v2: active from 1970-01-01T00:01:01.000Z",
    ]


def test_why_a_version_runs_in_python_is_said_once() -> None:
    lines, reason = BatchLines(), "a condition that calls Python"
    version = VersionStatus("guess", 1, "active", interpreted_reason=reason)
    said = [
        list(lines.lines(status(n, versions=(version,)), FIRST, FIRST, now_seconds=100.5 + n))
        for n in range(3)
    ]
    assert [each[:1] for each in said[:1]] == [[f"  guess v1 runs in Python: {reason}"]]
    assert said[1:] == [[], []]


def test_finds_are_told_at_once_and_otherwise_that_the_job_lives() -> None:
    lines = BatchLines()
    read = status(0, newest_event_ms=60_000)
    (first,) = lines.lines(read, FIRST, FIRST, now_seconds=100.0)
    assert "first events read" in first
    later = status(1, newest_event_ms=60_000, watermark_ms=59_999)
    assert list(lines.lines(later, FIRST, FIRST, now_seconds=105.0)) == []
    found = status(2, matches=1_200, newest_event_ms=60_000, watermark_ms=59_999)
    (told,) = lines.lines(found, FIRST, FIRST, now_seconds=106.0)
    assert "event time 1970-01-01T00:00:59.999Z" in told
    assert "100 events read, 200 in all" in told
    assert told.endswith("+ 1,200 matches")
    assert list(lines.lines(found, FIRST, FIRST, now_seconds=110.0)) == []
    (told,) = lines.lines(found, FIRST, FIRST, now_seconds=117.0)
    assert "+" not in told


def test_at_its_end_a_job_says_what_it_has_read_and_found() -> None:
    lines = BatchLines()
    assert list(lines.end()) == ["0 events read: no matches"]
    list(lines.lines(status(20, matches=3), FIRST, FIRST, now_seconds=100.0))
    assert list(lines.end()) == ["2,000 events read: 3 matches"]


def test_events_that_could_not_be_read_come_first() -> None:
    lines = BatchLines()
    reason = "does not fit the stream's schema: ts"
    counts = {"events": 2_000, "errors": 2_001, "late": 1, "malformed": 2_000}
    totals = Totals(**counts, why_malformed=reason)
    unread = JobStatus(epoch=3, batch_id=1, totals=totals)
    (progress,) = lines.lines(unread, FIRST, FIRST, now_seconds=100.0)
    assert progress.endswith("+ 2,001 errors, 1 late")
    malformed, errors, read = lines.end()
    assert malformed.startswith(f"2,000 of 2,000 events could not be read: {reason}. Add `error`")
    assert errors.startswith("1 errors of rules that failed on an event. Add `error`")
    assert read == "2,000 events read: no matches, 2,001 errors, 1 late"


def test_the_source_that_holds_time_back_is_told_once_for_each_change() -> None:
    lines, minute_ms = BatchLines(), 60_000

    def told(left_ms: int | None, right_ms: int, idle_since_ms: int | None = None) -> list[str]:
        sources = (SourceStatus("left", left_ms, idle_since_ms), SourceStatus("right", right_ms))
        said = lines.lines(status(0, sources=sources), FIRST, FIRST, now_seconds=100.0)
        return [line for line in said if line.startswith("time waits")]

    left, right = (
        "time waits for the source left: newest",
        "time waits for the source right: newest",
    )
    assert told(None, 0) == [f"{left} nothing yet, another has come to 1970-01-01T00:00:00.000Z"]
    assert told(None, minute_ms) == []
    assert told(minute_ms, minute_ms + 59_999) == []
    times = "1970-01-01T00:01:00.000Z, another has come to 1970-01-01T00:03:00.000Z"
    assert told(minute_ms, 3 * minute_ms) == [f"{left} {times}"]
    assert told(3 * minute_ms, minute_ms) == [f"{right} {times}"]
    assert told(minute_ms, 3 * minute_ms, idle_since_ms=7) == []
