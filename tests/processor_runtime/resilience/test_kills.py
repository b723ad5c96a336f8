"""A job that is killed, wherever it just is, loses nothing and finds nothing twice."""

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from cep.instants import iso_text
from processor_runtime.schedule.interval import BEGINNING_MS, END_MS, EndReason, Interval
from tests.processor_runtime.resilience.expected_rows import expected, found_in, without_versions
from tests.processor_runtime.resilience.job_process import JobProcess, job_document, numbers
from tests.processor_runtime.resilience.killed_job import KilledJob
from tests.processor_runtime.resilience.pinned_batches import intervals, record
from tests.processor_runtime.resilience.ssh_auth_stream import (
    CHANGES,
    DELAY_MS,
    SCHEMA,
    SENTINEL_MS,
    STREAM,
    Document,
    frame,
)
from tests.processor_runtime.rule_documents import put_job
from tests.processor_runtime.written_rows import Row, differences, written, written_batches
from tests.properties import is_nightly, seed

pytestmark = [pytest.mark.spark, pytest.mark.faults]

SEED = seed()
KILLS = int(os.environ.get("PERCEPT_KILLS") or (5 if is_nightly() else 2))
LAST_MS = SENTINEL_MS - DELAY_MS - 1


def test_a_job_that_is_killed_again_and_again_finds_everything_once(tmp_path: Path) -> None:
    print(f"PERCEPT_SEED={SEED} PERCEPT_KILLS={KILLS}")  # noqa: T201 - shown if the test fails
    (tmp_path / "killed").mkdir()
    job = KilledJob(tmp_path / "killed", Random(SEED), KILLS)  # noqa: S311 - no secret
    job.run()
    rows = _finds(job.folder)
    wanted = expected(intervals(job.checkpoint), frame(), SCHEMA, LAST_MS)
    assert differences(wanted, found_in(rows)) == []
    assert len({row["match_id"] for row in rows}) == len(rows)
    _check_that_each_batch_had_one_epoch(job)
    _check_that_all_changes_mattered(job)
    _check_that_an_undisturbed_job_finds_the_same(job, tmp_path / "undisturbed")


def _check_that_each_batch_had_one_epoch(job: KilledJob) -> None:
    batches = numbers(job.checkpoint / "epochs")
    assert batches == list(range(len(batches)))
    assert numbers(job.checkpoint / "offsets")[-1] - batches[-1] in {0, 1}
    for number, rows in written_batches(job.folder).items():
        epochs = {row["epoch"] for row in rows}
        assert epochs == {record(job.checkpoint, number).epoch}


def _check_that_all_changes_mattered(job: KilledJob) -> None:
    """Each change came, and each version found something before it was replaced."""
    epochs = {record(job.checkpoint, number).epoch for number in job.records}
    assert len(epochs) == 1 + len(CHANGES)
    found = intervals(job.checkpoint)
    reasons = Counter(interval.end_reason for interval in found)
    assert reasons == {None: 5, EndReason.REPLACED: 5, EndReason.PAUSED: 1, EndReason.REMOVED: 1}
    assert sum(interval.drains for interval in found) == 2
    versions = {(row["processor_id"], row["version"]) for row in _finds(job.folder)}
    assert versions == {(interval.processor_id, interval.version) for interval in found}


def _check_that_an_undisturbed_job_finds_the_same(killed: KilledJob, folder: Path) -> None:
    """It has the same changes scheduled for the event times at which they took place."""
    put_job(folder, STREAM, *map(_scheduled, intervals(killed.checkpoint)))
    source = {"format": "json", "path": str(killed.folder / "in"), "max_files_per_batch": 16}
    document = job_document(stream="ssh_auth", source=source, trigger={"available_now": True})
    with JobProcess(folder, document) as job:
        assert job.wait() == 0, job.text
    found = without_versions(found_in(_finds(killed.folder)))
    assert differences(without_versions(found_in(_finds(folder))), found) == []


def _scheduled(interval: Interval) -> Document:
    """Return the document of a version that is active for these event times, whoever reads it."""
    document = {**interval.definition, "id": interval.processor_id, "stream": "ssh_auth"}
    if interval.active_from_ms != BEGINNING_MS:
        document["effective_from"] = iso_text(interval.active_from_ms)
    if interval.active_until_ms != END_MS and interval.end_reason is not EndReason.REPLACED:
        document["effective_until"] = iso_text(interval.active_until_ms)
    return document


def _finds(folder: Path) -> list[Row]:
    """Return what was found; there is nothing else among the rows."""
    rows = written(folder)
    assert {row["kind"] for row in rows} == {"match", "timeout"}
    return rows
