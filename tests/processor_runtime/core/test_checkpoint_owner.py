"""A checkpoint is with one start of a job; a hundred starts in a row leave nothing behind."""

import pytest

from processor_runtime.driver.checkpoint_owner import CheckpointTaken, take_over
from tests.processor_runtime.core.pipeline import DictFiles, Pipeline
from tests.processor_runtime.core.published import (
    letters,
    processor,
    sequence,
    spelled,
    stream,
    version,
)

RESTARTS = 100


def test_the_newest_start_has_the_checkpoint_and_the_one_before_is_told() -> None:
    files = DictFiles()
    first = take_over(files, "fraud on driver-1, process 7")
    first.require()
    second = take_over(files, "fraud on driver-2, process 8")
    second.require()
    with pytest.raises(CheckpointTaken, match=r"driver-2, process 8.* a checkpoint of its own"):
        first.require()
    second.require()


def test_while_the_owner_is_being_written_nobody_is_ended() -> None:
    files = DictFiles()
    owner = take_over(files, "fraud on driver-1, process 7")
    files.clear()
    owner.require()


@pytest.mark.long
def test_a_hundred_restarts_in_a_row_change_nothing_and_leave_nothing_behind() -> None:
    rule = processor("p", version(1, sequence("ab", within_ms=50)))
    steady, shaken = Pipeline(stream()), Pipeline(stream())
    sizes: list[tuple[int, int, int]] = []
    for job in (steady, shaken):
        job.publish(rule)
    for number in range(RESTARTS):
        events = letters("ab"[number % 2], 1_000 + 10 * number)
        steady.batch(events)
        shaken.batch(events)
        shaken.restart()
        state_bytes = sum(len(value) for state in shaken.states for value in state.values())
        rules = [name for name in shaken._files if name.startswith("rules/")]
        sizes.append((len(shaken._files) - number, len(rules), state_bytes))
    for job in (steady, shaken):
        job.advance(5_000)
    assert shaken.rows == steady.rows
    assert len(spelled(shaken.rows)) == RESTARTS // 2
    # One record for each batch, which are forgotten later, and nothing else that grows.
    settled = sizes[10:]
    assert len({(files, rule_files) for files, rule_files, _ in settled}) == 1
    assert max(size for _, _, size in settled[:10]) >= max(size for _, _, size in settled[-10:])


def test_records_of_batches_are_forgotten_across_restarts() -> None:
    job = Pipeline(stream())
    job.publish(processor("p", version(1, sequence("ab"))))
    for _ in range(620):
        job.batch()
        if job.batch_id % 7 == 0:
            job.restart()
    assert len(job._files.names("epochs/")) <= 401
