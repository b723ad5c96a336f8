"""A job that writes to a database which goes away waits, or ends and says so; no row is lost."""

import time
from collections import Counter
from pathlib import Path
from typing import Any, Final, Literal

import psycopg
import pytest

from tests.faults.private_postgresql import PrivatePostgresql, private_postgresql
from tests.processor_runtime.resilience.job_process import (
    JobProcess,
    has_finished,
    job_document,
    write_documents,
    write_events,
)

pytestmark = [pytest.mark.faults, pytest.mark.spark]

STREAM: Final = {
    "name": "logins",
    "schema": "user STRING, ts BIGINT",
    "event_time_column": "ts",
}
RULE: Final = {
    "id": "seen",
    "stream": "logins",
    "pattern": {"steps": [{"name": "seen", "where": "ts > 0"}]},
    "key_by": ["user"],
}
EVENTS_A_FILE = 5_000
AWAY_SECONDS = 20


class _Job:
    """A job that writes a row for each event, and the files it has been given."""

    def __init__(self, folder: Path, database: PrivatePostgresql) -> None:
        self.folder = folder
        self._database = database
        self._files = 0
        for name in ("in", "rules"):
            (folder / name).mkdir()
        write_documents(folder, "rules", STREAM, RULE)

    def start(self, give_up_after_seconds: float) -> JobProcess:
        output = {
            "type": "jdbc",
            "url": self._database.url,
            "table": "found",
            "create_table": True,
            "give_up_after_seconds": give_up_after_seconds,
        }
        return JobProcess(self.folder, job_document(stream="logins", outputs=[output]))

    def give(self, files: int = 1) -> None:
        for _ in range(files):
            events = [self._event(each) for each in range(EVENTS_A_FILE)]
            write_events(self.folder, f"{self._files:03}", events)
            self._files += 1

    def has_read_all(self) -> bool:
        return has_finished(self.folder / "checkpoint", self._files)

    def check(self) -> None:
        """All are there once, but for those that wait for a newer event: the last one."""
        with psycopg.connect(self._database.url) as connection:
            found = Counter(user for (user,) in connection.execute("SELECT key->>0 FROM found"))
        last = self._files * EVENTS_A_FILE - 1
        assert found == Counter(f"user-{each}" for each in range(last))

    def _event(self, place: int) -> dict[str, Any]:
        number = self._files * EVENTS_A_FILE + place
        return {"user": f"user-{number}", "ts": 1_000_000 + number}


@pytest.mark.parametrize("mode", ["fast", pytest.param("immediate", marks=pytest.mark.nightly)])
def test_a_job_waits_for_a_database_that_restarts_and_else_says_what_to_do(
    tmp_path: Path, mode: Literal["fast", "immediate"]
) -> None:
    with private_postgresql() as database:
        written = _Job(tmp_path, database)
        written.give()
        with written.start(give_up_after_seconds=120) as job:
            job.wait_until(written.has_read_all)
            # While rows are being written.
            written.give(5)
            time.sleep(1)
            database.stop(mode)
            written.give()
            time.sleep(AWAY_SECONDS)
            database.start()
            job.wait_until(written.has_read_all)
            assert job.stop() == 0
        written.check()

        database.stop(mode)
        written.give()
        with written.start(give_up_after_seconds=2) as job:
            assert job.wait() != 0
        last = job.text.strip().splitlines()[-1]
        assert "output 'jdbc': OperationalError" in last
        assert "The batch is written again when the job is started again" in last
        database.start()
        with written.start(give_up_after_seconds=2) as job:
            job.wait_until(written.has_read_all)
            assert job.stop() == 0
        written.check()
