"""A checkpoint is of one job, in one format, and with one start of it; else it is refused."""

from importlib.metadata import version as installed_version

import pytest
from pydantic_core import from_json, to_json

from processor_runtime.driver.checkpoint_identity import (
    CheckpointIdentity,
    CheckpointMismatch,
    checkpoint_identity,
)
from processor_runtime.driver.checkpoint_owner import CheckpointTaken, take_over
from tests.letters import job_of, letters, processor, sequence, spelled, stream, version
from tests.processor_runtime.core.pipeline import DictFiles, Pipeline

NAME = "percept.json"


def identity(files: DictFiles, shards: int | None = None) -> CheckpointIdentity:
    return checkpoint_identity(files, "payments", shards, 8)


def test_a_checkpoint_is_the_same_at_every_start() -> None:
    files = DictFiles()
    made = identity(files)
    assert (made.stream, made.shards) == ("payments", 8)
    assert identity(files) == identity(files, 8) == made


@pytest.mark.parametrize("made_in", [4, 6])
def test_a_checkpoint_of_another_format_is_refused_with_versions_and_mend(made_in: int) -> None:
    files = DictFiles()
    identity(files)
    files.write(NAME, to_json(from_json(files[NAME]) | {"format": made_in, "percept": "0.0.7"}))
    before = dict(files)
    with pytest.raises(CheckpointMismatch) as raised:
        identity(files)
    assert str(raised.value) == (
        f"checkpoint: it has format {made_in}, made by Percept 0.0.7; this is Percept "
        f"{installed_version('percept')}, which reads format 5 only; run the version that made it, "
        "or choose another directory and begin anew"
    )
    assert files == before


OLD = to_json({"format": 1, "id": "x", "stream": "payments", "shards": 8})


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        (NAME, OLD, "format 1, made by Percept of an earlier build"),
        ("offsets/0", b"v1", "a query that is not Percept's"),
    ],
)
def test_what_is_no_checkpoint_of_this_job_is_refused(name: str, content: bytes, told: str) -> None:
    files = DictFiles()
    files.write(name, content)
    with pytest.raises(CheckpointMismatch, match=told):
        identity(files)


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
    job = job_of(version(1, sequence("ab")))
    for _ in range(620):
        job.batch()
        if job.batch_id % 7 == 0:
            job.restart()
    assert len(job._files.names("epochs/")) <= 401
