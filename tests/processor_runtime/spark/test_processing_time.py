"""By processing time windows close without later events: a tick a second moves time on."""

import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from processor_runtime.spark.micro_batches import BatchDone
from tests.letters import followed, with_step
from tests.processor_runtime.rule_documents import (
    FAILED_THEN_IN,
    put_events,
    put_job,
    rule_of,
    stream_of,
)
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import written

SCHEMA = "user STRING, action STRING, number BIGINT, ts TIMESTAMP"
SIGNED_IN = followed(*FAILED_THEN_IN, within="1 second")
GAVE_UP = with_step(SIGNED_IN, 1, contiguity="not_followed_by")
RULES = [
    stream_of("logins", SCHEMA, order_by=["number"]),
    rule_of("signed-in", "logins", SIGNED_IN, key_by=["user"]),
    rule_of("gave-up", "logins", GAVE_UP, key_by=["user"]),
]


@pytest.mark.long
def test_ticks_bring_matches_timeouts_and_absences(spark: SparkSession, tmp_path: Path) -> None:
    put_job(tmp_path, *RULES)
    logins = [("ana", "fail"), ("bob", "fail"), ("ana", "login")]
    events = [
        {"user": user, "action": action, "number": number, "ts": "2026-01-01T00:00:00Z"}
        for number, (user, action) in enumerate(logins)
    ]
    put_events(tmp_path / "in", [events])
    found = threading.Event()

    def on_batch(done: BatchDone) -> None:
        # Two matches, one of them an absence, and a timeout.
        if done.status.totals.matches == 2 and done.status.totals.timeouts == 1:
            found.set()

    clock, trigger = {"by": "processing"}, {"processing_time": "500 ms"}
    running = job(spark, tmp_path, on_batch, stream="logins", time=clock, trigger=trigger)

    def stop_once_found() -> None:
        found.wait(180)
        running.stop()

    stopping = threading.Thread(target=stop_once_found)
    stopping.start()
    running.run()
    stopping.join()

    rows = written(tmp_path)
    assert sorted((row["kind"], row["processor_id"], row["key"][0]) for row in rows) == [
        ("match", "gave-up", "bob"),
        ("match", "signed-in", "ana"),
        ("timeout", "signed-in", "bob"),
    ]
    begun = {row["start_ms"] for row in rows}
    # All events of a batch are of one time, and not of that in their column.
    assert len(begun) == 1
    assert min(begun) > 1_767_225_600_000
    assert {row["end_ms"] - row["start_ms"] for row in rows} == {0, 1_000}
