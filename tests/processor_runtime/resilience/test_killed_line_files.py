"""A job whose workers write files of lines is killed in the middle: each match is there once."""

import time
from pathlib import Path
from typing import Any, Final

import pytest

from cep.compiling import is_ready
from tests.processor_runtime.paired_payments import SOURCE, put_payments
from tests.processor_runtime.resilience.job_process import JobProcess, job_document
from tests.processor_runtime.written_rows import Row, written

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.nightly]

FILES: Final = 5
EVENTS_PER_FILE: Final = 8_000
MOMENTS: Final = (
    "_percept/lines/*.json",
    "_percept/writing/batch=*/lines-*.json",
    "batch=*/lines-*.json",
)
"""What has just appeared of the output when the job is killed."""


def prepare(folder: Path) -> dict[str, Any]:
    """Write events and rules; return the job file."""
    put_payments(folder, FILES, EVENTS_PER_FILE)
    return job_document(
        stream="payments",
        source=SOURCE,
        outputs=[{"type": "json", "path": "out", "kinds": ["match"]}],
        trigger={"available_now": True},
    )


def matches(folder: Path) -> list[Row]:
    """Return what has been written, in order, without what differs from run to run."""
    rows = [{name: row[name] for name in row if name != "epoch"} for row in written(folder)]
    return sorted(rows, key=lambda row: str(row["match_id"]))


def killed(folder: Path, document: dict[str, Any], moment: str) -> bool:
    """Start the job and kill it when there is something new; return whether it was not too late."""
    before = set((folder / "out").glob(moment))
    with JobProcess(folder, document) as job:
        while job.is_running:
            if set((folder / "out").glob(moment)) - before:
                return True
            time.sleep(0.001)
    return False


def test_each_match_is_there_once_whenever_the_job_is_killed(tmp_path: Path) -> None:
    if not is_ready("cep.nfa_kernel"):
        pytest.skip("rules run in Python until they are compiled, see `make prepare`")
    undisturbed, folder = tmp_path / "undisturbed", tmp_path / "killed"
    with JobProcess(undisturbed, prepare(undisturbed)) as job:
        assert job.wait() == 0, job.text
    assert list((undisturbed / "out").glob("batch=*/lines-*.json"))
    document = prepare(folder)
    kills = sum(killed(folder, document, moment) for moment in MOMENTS)
    with JobProcess(folder, document) as job:
        assert job.wait() == 0, job.text
    assert kills > 1
    found = matches(folder)
    assert len(found) == len({row["match_id"] for row in found}) > FILES * EVENTS_PER_FILE
    assert found == matches(undisturbed)
    assert not list((folder / "out" / "_percept").glob("lines/*"))
