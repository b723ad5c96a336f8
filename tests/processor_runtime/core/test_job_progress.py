"""What a job says of its versions after a batch: nothing that was counted gets lost."""

from processor_runtime.driver.batch_record import BatchRecord
from processor_runtime.driver.job_progress import JobProgress
from processor_runtime.driver.job_status import JobStatus
from processor_runtime.driver.pinning import Pin
from processor_runtime.rows.shard_status import RuleCounts, ShardStatus
from processor_runtime.schedule.interval import BEGINNING_MS, END_MS, Interval
from processor_runtime.schedule.timeline import Timeline

OLD = Interval("guess", 1, BEGINNING_MS, 100, "old", {})
NEW = Interval("guess", 2, 100, END_MS, "new", {})


def counted(progress: JobProgress, batch_id: int, matches: int, *intervals: Interval) -> JobStatus:
    """Count a batch in which the old version found matches, and return the status after it."""
    record = BatchRecord(batch_id, 1, 50, 200, 0, "", "")
    rules = {OLD.rule_id: RuleCounts(matches=matches, last_match_ms=90)}
    return progress.add(pin(record, *intervals), [ShardStatus(0, rules=rules)], 10)


def pin(record: BatchRecord, *intervals: Interval) -> Pin:
    return Pin(record, Timeline(intervals), b"", 1)


def test_a_version_that_has_ended_still_tells_what_it_found() -> None:
    progress = JobProgress(shards=1)
    first = counted(progress, 0, 3, OLD, NEW)
    second = counted(progress, 1, 2, NEW)

    for status, matches in ((first, 3), (second, 5)):
        found = {each.version: each for each in status.versions}
        assert {version: each.state for version, each in found.items()} == {
            1: "superseded",
            2: "active",
        }
        assert found[1].totals.matches == status.totals.matches == matches
        assert found[1].last_match_ms == 90


def test_versions_share_the_bytes_of_each_shard_by_their_partial_matches() -> None:
    progress = JobProgress(shards=2)
    record = BatchRecord(0, 1, 50, 200, 0, "", "")
    other = Interval("other", 1, BEGINNING_MS, END_MS, "other", {})
    statuses = [
        ShardStatus(0, partial_matches={NEW.rule_id: 3, other.rule_id: 1}, state_bytes=400),
        ShardStatus(1, partial_matches={other.rule_id: 5}, state_bytes=1_000),
    ]
    status = progress.add(pin(record, NEW, other), statuses, 10)
    held = {each.processor_id: (each.partial_matches, each.state_bytes) for each in status.versions}
    assert held == {"guess": (3, 300), "other": (6, 1_100)}
    assert status.state_bytes == 1_400


def test_why_a_version_runs_in_python_is_as_each_shard_says_it_now() -> None:
    """It may be for a rule with the same steps, which is deleted."""
    progress = JobProgress(shards=2)
    record = BatchRecord(0, 1, 50, 200, 0, "", "")
    reasons = {NEW.rule_id: "a condition that calls Python"}
    shards = [ShardStatus(number, interpreted_reasons=reasons) for number in range(2)]
    said = [
        progress.add(pin(record, NEW), statuses, 10).versions[0].interpreted_reason
        for statuses in (shards, shards[:1], [ShardStatus(0)], [ShardStatus(1)])
    ]
    assert said == ["a condition that calls Python"] * 3 + [""]


def test_a_job_that_goes_on_tells_what_runs_before_its_first_batch() -> None:
    progress = JobProgress(shards=1)
    resumed = progress.resumed(BatchRecord(7, 3, 50, 200, 0, "", ""), Timeline((OLD, NEW)))
    assert (resumed.epoch, resumed.batch_id, resumed.watermark_ms) == (3, 7, 50)
    assert resumed.newest_event_ms == 200
    assert [(each.version, each.state) for each in resumed.versions] == [(2, "active")]
    after = counted(progress, 8, 3, OLD, NEW)
    assert after.totals.matches == 3
