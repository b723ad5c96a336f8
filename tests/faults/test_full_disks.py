"""A disk that is full stops what has to be written, tells so, and spoils nothing.

A service answers 503 to writes, and to nothing else; a job ends and says why. With room again both
go on where they were.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.api.documents import STREAM, processor_document
from tests.api.running import migrate_sqlite
from tests.api.serving import Served, served
from tests.faults.tiny_disk import tiny_disk
from tests.processor_runtime.resilience.job_process import (
    JobProcess,
    has_finished,
    job_document,
    write_documents,
    write_events,
)
from tests.processor_runtime.written_rows import written

pytestmark = pytest.mark.faults

FAIL = {"name": "fail", "where": "action = 'fail'"}
LOGIN = {"name": "login", "contiguity": "followed_by", "where": "action = 'login'"}
RULES: list[dict[str, Any]] = [
    STREAM | {"schema": "user STRING, action STRING, ts BIGINT", "allowed_delay_ms": 0},
    processor_document(id="guess", pattern={"steps": [FAIL, LOGIN]}),
]
EVENTS_A_FILE = 3_000


class _Writer:
    """Publishes rules, and knows which were accepted."""

    def __init__(self, service: Served, stack: ExitStack) -> None:
        client = httpx2.Client(base_url=service.url, headers=service.authorization, timeout=60)
        self._client = stack.enter_context(client)
        self.accepted: list[str] = []
        self.statuses: Counter[int] = Counter()
        self._tried = 0

    def write(self) -> int:
        """Publish one more rule; return the status of the answer."""
        rule = f"rule-{self._tried}"
        self._tried += 1
        document = processor_document(id=rule, description="x" * 2_000)
        answer = self._client.post("/v1/processors", json=document)
        self.statuses[answer.status_code] += 1
        if answer.status_code == 201:
            self.accepted.append(rule)
        elif answer.status_code == 503:
            assert int(answer.headers["Retry-After"]) > 0
        return answer.status_code

    def get(self, path: str) -> Any:
        answer = self._client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def register_stream(self) -> None:
        assert self._client.post("/v1/streams", json=STREAM).status_code == 201

    def check_that_all_is_there(self) -> None:
        items = self.get("/v1/processors?limit=500")["items"]
        assert sorted(item["id"] for item in items) == sorted(self.accepted)
        assert self.get("/v1/streams/logins")["epoch"] == 1 + len(self.accepted)


def test_a_service_on_a_full_disk_reads_on_and_writes_once_there_is_room(
    tmp_path: Path, free_port: int, record_property: Callable[[str, object], None]
) -> None:
    with tiny_disk(tmp_path / "disk", 8) as disk:
        store = disk.path / "percept.db"
        migrate_sqlite(store)
        with served(tmp_path, f"sqlite:///{store}", free_port) as service, ExitStack() as stack:
            writer = _Writer(service, stack)
            writer.register_stream()
            for _ in range(10):
                assert writer.write() == 201
            for _ in range(2):
                disk.fill()
                # What the file has room for is still written.
                while writer.write() == 201:
                    pass
                for _ in range(20):
                    assert writer.write() == 503
                    writer.get("/healthz")
                    writer.check_that_all_is_there()
                disk.make_room()
                while writer.write() != 201:
                    pass
                writer.check_that_all_is_there()
            record_property("answers to writes", dict(writer.statuses))


def files_of(number: int) -> list[dict[str, Any]]:
    """Return events of users of their own: each fails, and logs in with the next file."""
    begin_ms = 1_000_000 * (number + 1)
    failing = [(f"user-{number}-{each}", "fail") for each in range(EVENTS_A_FILE)]
    coming = [(f"user-{number - 1}-{each}", "login") for each in range(EVENTS_A_FILE)]
    return [
        {"user": user, "action": action, "ts": begin_ms + place}
        for place, (user, action) in enumerate([*coming, *failing])
    ]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("full", "spare_bytes"),
    # Room for the batch to be begun, but not for its state.
    [
        pytest.param("checkpoint", 0, marks=pytest.mark.nightly),
        pytest.param("checkpoint", 24 * 1024, marks=pytest.mark.nightly),
        pytest.param("out", 0, marks=pytest.mark.nightly),
    ],
)
def test_a_job_on_a_full_disk_ends_and_finds_everything_once_there_is_room(
    full: str, spare_bytes: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    for name in ("in", "rules"):
        (tmp_path / name).mkdir()
    write_documents(tmp_path, "rules", *RULES)
    document = job_document(stream="logins")
    checkpoint = tmp_path / "checkpoint"
    with tiny_disk(tmp_path / "disk", 48) as disk:
        (disk.path / full).mkdir()
        (tmp_path / full).symlink_to(disk.path / full)
        write_events(tmp_path, "000", files_of(0))
        with JobProcess(tmp_path, document) as job:
            job.wait_until(lambda: has_finished(checkpoint, 1))
            disk.fill(spare_bytes=spare_bytes)
            write_events(tmp_path, "001", files_of(1))
            assert job.wait() != 0
        disk.fill()
        last = job.text.strip().splitlines()[-1]
        record_property("last line", last)
        assert "No space left on device" in last
        # Nor can it start: it says so, and leaves everything as it is.
        with JobProcess(tmp_path, document) as job:
            assert job.wait() != 0
        assert "No space left on device" in job.text.strip().splitlines()[-1]
        disk.make_room()
        with JobProcess(tmp_path, document) as job:
            write_events(tmp_path, "002", files_of(2))
            write_events(tmp_path, "003", [{"user": "x", "action": "x", "ts": 10**9}])
            job.wait_until(lambda: has_finished(checkpoint, 4))
            assert job.stop() == 0
        found = Counter(row["key"][0] for row in written(tmp_path))
    wanted = [f"user-{number}-{each}" for number in (0, 1) for each in range(EVENTS_A_FILE)]
    assert found == Counter(wanted)
