"""A version taken out of a pinned batch: as if it had never been, from that batch on."""

from dataclasses import replace

import pytest

from contract.snapshot import SnapshotProcessor
from processor_runtime.driver.amendment import NothingToSkip, set_aside, skip, versions_with_code
from processor_runtime.driver.batch_record import RECORDS_KEPT, BatchRecords
from tests.letters import (
    absence,
    contents,
    job_of,
    letters,
    processor,
    sequence,
    stream,
    version,
    without,
)
from tests.processor_runtime.core.pipeline import Pipeline

OTHERS = (
    processor("same", version(1, sequence("ab"))),  # shares a machine with it
    processor("absence", version(1, absence("a", "b", 12))),
)


def begun(*processors: SnapshotProcessor) -> Pipeline:
    """Return a job that has partial matches of all its rules from an earlier batch."""
    job = job_of(*processors)
    job.batch(letters("aab", 1_000))
    job.batch(letters("a", 1_010, user="v"))
    return job


def take_out(job: Pipeline, processor_id: str, *, by_hand: bool = False) -> None:
    """Take all versions of a processor out of the newest batch."""
    records = BatchRecords(job._files)
    record = records.newest()
    assert record is not None
    found = {
        (item.processor_id, item.version, item.digest)
        for item in job.timeline.intervals
        if item.processor_id == processor_id
    }
    set_aside(records, record, sorted(found), "it kills", by_hand=by_hand)


def runnable(name: str = "bad") -> SnapshotProcessor:
    return processor(name, version(1, sequence("ab")))


def states(job: Pipeline, processor_id: str) -> list[tuple[int, str]]:
    found = [each for each in job.job_status.versions if each.processor_id == processor_id]
    return [(each.version, each.state) for each in found]


def test_the_batch_and_all_after_it_are_as_if_the_version_had_never_been() -> None:
    job, alone = begun(runnable(), *OTHERS), begun(*OTHERS)
    for each in (job, alone):
        each.batch(letters("babz", 1_020))
    take_out(job, "bad")
    rows = job.replay()
    assert {row.processor_id for row in rows} == {"same", "absence"}
    assert job.replay() == rows
    for each in (job, alone):
        each.batch(letters("b", 1_030, user="v"), until_ms=1_200)
    assert contents(without(job.rows, "bad")) == contents(alone.rows)
    assert states(job, "bad") == [(1, "quarantined")]
    (quarantine,) = job.timeline.quarantined
    assert (quarantine.reason, quarantine.since_ms) == ("it kills", 1_010)


def test_replays_differ_in_the_version_alone() -> None:
    job = begun(runnable(), *OTHERS)
    job.batch(letters("bab", 1_020))
    before = BatchRecords(job._files).newest()
    take_out(job, "bad")
    after = BatchRecords(job._files).newest()
    assert before is not None
    assert after is not None
    assert (after.revision, before.revision) == (1, 0)
    assert after.timeline != before.timeline
    assert replace(after, revision=0, timeline=before.timeline) == before


def test_several_versions_can_go_one_after_the_other() -> None:
    job = begun(runnable(), runnable("worse"), *OTHERS)
    alone = begun(*OTHERS)
    for each in (job, alone):
        each.batch(letters("bab", 1_020))
    for name in ("bad", "worse"):
        take_out(job, name)
        job.replay()
    assert BatchRecords(job._files).newest() == job._pins.record
    assert contents([row for row in job.rows if row.epoch]) >= contents(alone.rows)
    assert [item.processor_id for item in job.timeline.quarantined] == ["bad", "worse"]
    for each in (job, alone):
        each.advance(1_200)
    assert contents(without(job.rows, "bad", "worse")) == contents(alone.rows)


@pytest.mark.parametrize("restarts", [False, True])
def test_it_runs_again_once_replaced_and_is_gone_once_deleted(*, restarts: bool) -> None:
    job = begun(runnable(), *OTHERS)
    take_out(job, "bad")
    job.replay()
    if restarts:
        job.restart()
    job.batch(letters("b", 1_020))
    assert states(job, "bad") == [(1, "quarantined")]
    job.publish(processor("bad", version(2, sequence("ba"))), *OTHERS)
    job.batch(letters("ba", 1_030), until_ms=1_040)
    assert states(job, "bad") == [(2, "active")]
    assert [row.version for row in job.rows_of("match", "bad")][-1] == 2
    job.publish(*OTHERS)
    job.batch(letters("b", 1_050))
    assert job.timeline.quarantined == ()


@pytest.mark.parametrize("restarts", [False, True])
def test_a_version_that_would_have_replaced_another_leaves_it_running(*, restarts: bool) -> None:
    job = Pipeline(stream())
    scheduled = processor(
        "bad", version(1, sequence("ab")), version(2, sequence("ba"), from_ms=1_100)
    )
    job.publish(scheduled, *OTHERS)
    job.batch(letters("a", 1_000))
    records = BatchRecords(job._files)
    record = records.newest()
    assert record is not None
    (second,) = [item for item in job.timeline.intervals if item.version == 2]
    set_aside(records, record, [("bad", 2, second.digest)], "it dies when it is loaded")
    job.replay()
    if restarts:
        job.restart()
    job.batch(letters("b", 1_010))
    job.batch(letters("ab", 1_200), until_ms=1_300)
    assert {row.version for row in job.rows_of("match", "bad")} == {1}
    assert len(job.rows_of("match", "bad")) == 2
    assert states(job, "bad") == [(1, "active"), (2, "quarantined")]


def test_a_job_of_the_only_rule_goes_on_without_it() -> None:
    job = begun(runnable())
    take_out(job, "bad")
    assert job.replay() == []
    job.batch(letters("b", 1_020))
    assert job.rows == []
    assert job.timeline.intervals == ()


def test_amended_records_are_forgotten_with_their_batch() -> None:
    job = begun(runnable(), *OTHERS)
    take_out(job, "bad")
    job.replay()
    records = BatchRecords(job._files)
    assert "epochs/1.1" in job._files
    records.forget_before(2 + RECORDS_KEPT)
    assert [name for name in job._files if name.startswith("epochs/")] == []


def test_what_holds_code_is_known_without_loading_it() -> None:
    job = begun(processor("bad", version(1, sequence("ab"), function={})), *OTHERS)
    assert versions_with_code(job.timeline) == ()  # it does not load, and is out already
    assert [item.processor_id for item in job.timeline.quarantined] == ["bad"]


def test_people_can_take_a_rule_out_of_a_batch_that_is_not_done() -> None:
    job, alone = begun(runnable(), *OTHERS), begun(*OTHERS)
    for each in (job, alone):
        each.batch(letters("bab", 1_020))
    record = skip(job._files, "bad")
    assert (record.batch_id, record.revision) == (2, 1)
    job.replay()
    for each in (job, alone):
        each.advance(1_200)
    assert contents(without(job.rows, "bad")) == contents(alone.rows)
    (quarantine,) = job.timeline.quarantined
    assert quarantine.by_hand
    assert states(job, "bad") == [(1, "quarantined")]
    job.restart()
    assert job.timeline.quarantined == (quarantine,)


def test_there_is_nothing_to_skip_where_the_rule_does_not_run() -> None:
    job = begun(runnable(), *OTHERS)
    with pytest.raises(NothingToSkip, match="batch 1 does not run baad; it runs absence, bad, sa"):
        skip(job._files, "baad")
    skip(job._files, "bad")
    with pytest.raises(NothingToSkip, match="quarantined in batch 1 already: left out by hand"):
        skip(job._files, "bad")
    job._files.write("commits/1", b"")
    with pytest.raises(NothingToSkip, match="batch 1 is done"):
        skip(job._files, "same")
    with pytest.raises(NothingToSkip, match="no batch"):
        skip(Pipeline(stream())._files, "same")
