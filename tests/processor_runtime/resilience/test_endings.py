"""How `percept run` ends: its exit code, what it says, and that nothing of it is left."""

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import from_json, to_json

from processor_runtime.driver.checked_files import sealed
from processor_runtime.driver.checkpoint_identity import checkpoint_identity
from tests.letters import followed, with_step
from tests.processor_runtime.core.pipeline import DictFiles
from tests.processor_runtime.resilience.job_process import (
    JobProcess,
    has_finished,
    job_document,
    numbers,
    write_events,
)
from tests.processor_runtime.rule_documents import put_job, rule_of, stream_of, write_rules
from tests.processor_runtime.written_rows import written

pytestmark = [pytest.mark.spark, pytest.mark.faults]

STREAM = stream_of("numbers", "kind STRING, value BIGINT, ts BIGINT")
POSITIVE = rule_of("p", "numbers", followed(("a", "value > 0"), within_ms=1_000))


def give(folder: Path, name: int, *values: int) -> None:
    """Give the source a file of events, and one after them that lets the watermark pass them."""
    times = [1_000 * (name + 1) + place for place in range(len(values) + 1)]
    events = [
        {"kind": "value", "value": value, "ts": time_ms}
        for value, time_ms in zip([*values, -1], times, strict=True)
    ]
    write_events(folder, f"{name}", events)


def owner(folder: Path) -> bytes:
    """Return what the checkpoint says of its owner, nothing while that is being written."""
    try:
        return (folder / "checkpoint/owner.json").read_bytes()
    except FileNotFoundError:
        return b""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a rule of a job, and a first file of events."""
    put_job(tmp_path / "job", STREAM, POSITIVE)
    give(tmp_path / "job", 0, 1)
    return tmp_path / "job"


def started(folder: Path, environment: Mapping[str, str] | None = None, **keys: Any) -> JobProcess:
    return JobProcess(folder, job_document(**{"stream": "numbers"} | keys), environment or {})


def test_a_job_that_is_told_to_terminate_ends_well_after_its_batch(folder: Path) -> None:
    checkpoint = folder / "checkpoint"
    with started(folder) as job:
        job.wait_until(lambda: has_finished(checkpoint, 1) and written(folder) != [])
        before = len(numbers(checkpoint / "epochs"))
        give(folder, 1, 2)
        job.wait_until(lambda: len(numbers(checkpoint / "epochs")) > before)
        assert job.stop(signal.SIGTERM) == 0
    assert "Traceback" not in job.text
    assert job.text.endswith("the job has ended\n")
    # The batch that was under way is done, and no other has begun.
    assert numbers(checkpoint / "epochs") == numbers(checkpoint / "commits")


def test_of_two_jobs_with_one_checkpoint_the_earlier_one_ends_and_says_why(folder: Path) -> None:
    with started(folder) as earlier:
        earlier.wait_until(lambda: has_finished(folder / "checkpoint", 1))
        before = owner(folder)
        with started(folder) as later:
            later.wait_until(lambda: owner(folder) not in {b"", before})
            give(folder, 1, 2)
            assert earlier.wait() != 0
            assert "another job has taken it over" in earlier.text
            assert "Traceback" not in earlier.text
            give(folder, 2, 3)
            later.wait_until(lambda: len(written(folder)) == 3)
            assert later.stop() == 0


def test_ctrl_c_ends_a_job_well(folder: Path) -> None:
    with started(folder) as job:
        job.wait_until(lambda: numbers(folder / "checkpoint/epochs") != [])
        code = job.stop_group(signal.SIGINT)
        assert code == 0
        assert "Traceback" not in job.text
        assert "stopping after this batch" in job.text


LATE = """
import pathlib, sys, time
mark = pathlib.Path(__file__).with_name("begun")
if "transform_with_state_driver_worker" in " ".join(sys.orig_argv) and not mark.exists():
    mark.touch()
    time.sleep(12)
"""


@pytest.mark.nightly
def test_a_batch_whose_worker_begins_late_is_run_again(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(LATE, encoding="utf-8")
    environment = {"PYTHONPATH": str(tmp_path)}
    with started(folder, environment, trigger={"available_now": True}) as job:
        assert job.wait() == 0, job.text
    assert (tmp_path / "begun").exists()
    assert "a Python worker did not begin within ten seconds" in job.text
    assert len(written(folder)) == 1


@pytest.mark.nightly
def test_ctrl_c_once_more_ends_a_job_at_once(folder: Path) -> None:
    with started(folder) as job:
        job.wait_until(lambda: numbers(folder / "checkpoint/epochs") != [])
        job.signal_group(signal.SIGINT)
        job.wait_until(lambda: "once more to stop at once" in job.text)
        assert job.stop_group(signal.SIGINT) == 128 + signal.SIGINT
    assert "Traceback" not in job.text
    assert numbers(folder / "checkpoint/commits") == []


@pytest.mark.nightly
def test_a_job_whose_spark_is_told_to_terminate_with_it_ends_well_and_goes_on(folder: Path) -> None:
    checkpoint = folder / "checkpoint"
    with started(folder) as job:
        job.wait_until(lambda: has_finished(checkpoint, 1) and written(folder) != [])
        give(folder, 1, 2)
        job.wait_until(lambda: len(numbers(checkpoint / "sources/0")) > 1)
        assert job.stop_group(signal.SIGTERM) == 0
    assert "Traceback" not in job.text
    assert job.text.endswith("the job has ended\n")
    with started(folder) as job:
        job.wait_until(lambda: len(written(folder)) == 2)
        assert job.stop() == 0


def test_a_job_that_waits_for_processors_ends_as_soon_as_it_is_told(folder: Path) -> None:
    write_rules(folder)
    told = "does not define the stream numbers"
    with started(folder, first_snapshot_timeout="10 minutes") as job:
        job.wait_until(lambda: told in "".join(job.text.split("\n")))
        assert job.stop() == 0
    assert "Traceback" not in job.text


def test_without_java_a_job_says_what_it_needs(folder: Path) -> None:
    with started(folder, {"JAVA_HOME": str(folder / "no-java")}) as job:
        assert job.wait() == 1
    assert "Spark has not started: " in job.text
    assert "It needs Java 17 or newer" in job.text
    assert "no-java/bin/java" in "".join(job.text.split("\n"))
    assert "Traceback" not in job.text


def test_a_job_whose_spark_is_killed_says_so_in_its_last_line(folder: Path) -> None:
    checkpoint = folder / "checkpoint"
    with started(folder) as job:
        job.wait_until(lambda: has_finished(checkpoint, 1) and written(folder) != [])
        job.kill_spark()
        assert job.wait() == 1
    assert "Traceback" not in job.text
    assert job.text.splitlines()[-1] == (
        "the job has ended: Spark's Java process was killed (SIGKILL), as a machine does that runs "
        "out of memory; the batch under way will be run again. See spark.log"
    )


@pytest.mark.parametrize(
    ("made", "changes", "told"),
    [
        ({}, {"stream": "others"}, "belongs to the stream numbers, this job reads others"),
        ({}, {"shards": 3}, "the checkpoint has 2, the job file wants 3"),
        ({"format": 1, "percept": "0.0.7"}, {}, "it has format 1, made by Percept 0.0.7; this is"),
    ],
    ids=["stream", "shards", "format"],
)
def test_a_checkpoint_that_was_made_for_something_else_is_refused(
    made: dict[str, Any], changes: dict[str, Any], told: str, folder: Path
) -> None:
    (folder / "checkpoint").mkdir()
    files = DictFiles()
    checkpoint_identity(files, "numbers", 2, 2)
    for name, content in files.items():
        (folder / "checkpoint" / name).write_bytes(sealed(name, to_json(from_json(content) | made)))
    with started(folder, **changes) as job:
        assert job.wait() == 1
    assert "CheckpointMismatch: " in job.text
    assert told in job.text
    assert "Traceback" not in job.text


@pytest.mark.nightly
def test_a_processor_that_fails_ends_the_job_if_it_is_set_so(folder: Path) -> None:
    pattern = followed(("a", "value > 0"), ("b", "value < -5"), within_ms=1_000)
    waits = with_step(pattern, 1, contiguity="followed_by_any")
    too_many = rule_of("too-many", "numbers", waits, limits={"partial_matches_per_key": 2})
    write_rules(folder, STREAM, POSITIVE, too_many)
    give(folder, 0, 1, 2, 3, 4)  # in place of the first
    with started(folder, on_error="fail") as job:
        assert job.wait() == 1
        assert "RuleFailed: rule too-many, version 1" in job.text
        assert "Traceback" not in job.text
    assert written(folder) == []
