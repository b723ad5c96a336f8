"""A batch that was cut off is run again with the columns it had, though the stream has changed."""

from pathlib import Path
from typing import Any, Final

import pytest

from tests.letters import followed
from tests.processor_runtime.resilience.job_process import (
    JobProcess,
    has_finished,
    job_document,
    numbers,
    write_events,
)
from tests.processor_runtime.rule_documents import put_job, rule_of, stream_of, write_rules
from tests.processor_runtime.written_rows import written

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

WITH_DEVICE: Final = stream_of("logins", "user STRING, device STRING, ts BIGINT")
WITHOUT_DEVICE: Final = stream_of("logins", "user STRING, ts BIGINT")


def rule(where: str) -> dict[str, Any]:
    return rule_of("p", "logins", followed(("login", where)))


def give(folder: Path, number: int) -> None:
    """Give the source a file: ana on her phone, and somebody else a second later."""
    begin_ms = 10_000 * (number + 1)
    other = {"user": "bob", "device": "tablet", "ts": begin_ms + 1_000}
    write_events(folder, f"{number}", [{"user": "ana", "device": "phone", "ts": begin_ms}, other])


def logins_found(folder: Path) -> list[dict[str, Any]]:
    matches = [row for row in written(folder) if row["kind"] == "match"]
    return [event for row in matches for event in row["events"]["login"]]


def test_a_column_may_go_while_a_job_is_down_that_was_killed_in_a_batch(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    put_job(tmp_path, WITH_DEVICE, rule("device = 'phone'"))
    give(tmp_path, 0)
    with JobProcess(tmp_path, job_document(stream="logins")) as job:
        job.wait_until(lambda: has_finished(checkpoint, 1) and len(logins_found(tmp_path)) == 1)
        batch_id = numbers(checkpoint / "epochs")[-1] + 1
        give(tmp_path, 1)
        job.wait_until(lambda: batch_id in numbers(checkpoint / "epochs"))
        job.kill()
    assert batch_id not in numbers(checkpoint / "commits")
    pinned = (checkpoint / "epochs" / str(batch_id)).read_bytes()
    write_rules(tmp_path, WITHOUT_DEVICE, rule("user = 'ana'"))
    with JobProcess(tmp_path, job_document(stream="logins")) as job:
        job.wait_until(lambda: has_finished(checkpoint, 2))
        give(tmp_path, 2)
        job.wait_until(lambda: len(logins_found(tmp_path)) == 3)
        assert job.stop() == 0
    assert (checkpoint / "epochs" / str(batch_id)).read_bytes() == pinned
    assert logins_found(tmp_path) == [
        {"user": "ana", "device": "phone", "ts": 10_000},
        # By the batch that was killed, which runs again as it was.
        {"user": "ana", "device": "phone", "ts": 20_000},
        {"user": "ana", "ts": 30_000},
    ]
    # The rule that needed the column had not come to its event yet, and says so.
    told = {(row["version"], row["error"]["reason"]) for row in written(tmp_path) if "error" in row}
    assert told == {(1, "code")}
