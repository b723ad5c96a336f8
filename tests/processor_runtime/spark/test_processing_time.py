"""By processing time windows close without later events: a tick a second moves time on."""

import json
import threading
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from processor_runtime.spark.micro_batches import BatchDone
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import written

RULES = [
    {
        "name": "logins",
        "schema": "user STRING, action STRING, number BIGINT, ts TIMESTAMP",
        "event_time_column": "ts",
        "order_by": ["number"],
    },
    {
        "id": "signed-in",
        "stream": "logins",
        "pattern": {
            "steps": [
                {"name": "fail", "where": "action = 'fail'"},
                {"name": "login", "contiguity": "followed_by", "where": "action = 'login'"},
            ],
            "within": "1 second",
        },
        "key_by": ["user"],
    },
    {
        "id": "gave-up",
        "stream": "logins",
        "pattern": {
            "steps": [
                {"name": "fail", "where": "action = 'fail'"},
                {"name": "login", "contiguity": "not_followed_by", "where": "action = 'login'"},
            ],
            "within": "1 second",
        },
        "key_by": ["user"],
    },
]


@pytest.mark.long
def test_ticks_bring_matches_timeouts_and_absences(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "rules.yaml").write_text(yaml.safe_dump(RULES), encoding="utf-8")
    (tmp_path / "in").mkdir()
    events = [("ana", "fail"), ("bob", "fail"), ("ana", "login")]
    lines = [
        json.dumps({"user": user, "action": action, "number": number, "ts": "2026-01-01T00:00:00Z"})
        for number, (user, action) in enumerate(events)
    ]
    (tmp_path / "in" / "events.json").write_text("\n".join(lines), encoding="utf-8")
    found = threading.Event()

    def on_batch(done: BatchDone) -> None:
        # Two matches, one of them an absence, and a timeout.
        if done.status.totals.matches == 2 and done.status.totals.timeouts == 1:
            found.set()

    running = job(
        spark,
        tmp_path,
        on_batch,
        stream="logins",
        time={"by": "processing"},
        trigger={"processing_time": "500 ms"},
    )

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
