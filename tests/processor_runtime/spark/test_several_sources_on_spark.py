"""On Spark: two sources with two schemas in one job, against the same events in order of time."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from cep.matching.find_matches import find_matches
from cep.pattern import Pattern
from processor_runtime.driver.checkpoint_identity import CheckpointMismatch
from processor_runtime.spark.job import StreamingJob
from processor_runtime.spark.micro_batches import BatchDone
from tests.letters import followed
from tests.processor_runtime.rule_documents import put_job, rule_of, stream_of, write_rules
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import written

BEGIN_MS: Final = 1_767_225_600_000
PATTERN: Final = followed(
    ("fail", "kind = 'fail'"), ("pay", "kind = 'pay' AND amount > 1"), within="20 seconds"
)
RULES: Final = [
    stream_of("activity", "user STRING, kind STRING, amount DOUBLE, ts BIGINT, origin STRING"),
    rule_of("taken-over", "activity", PATTERN, key_by=["user"]),
]
LOGINS: Final = 60
PAYMENTS: Final = 90


def sources(folder: Path) -> list[dict[str, Any]]:
    return [
        {
            "name": "logins",
            "format": "json",
            "path": str(folder / "in"),
            "max_files_per_batch": 1,
            "columns": {"ts": "at"},
            "fields": {"ok": "BOOLEAN"},
            "values": {"kind": "CASE WHEN ok THEN 'login' ELSE 'fail' END"},
        },
        {
            "name": "payments",
            "format": "csv",
            "path": str(folder / "payments"),
            "max_files_per_batch": 1,
            "options": {"header": True},
            "columns": {"user": "customer"},
            "fields": {"cents": "BIGINT"},
            "values": {"kind": "'pay'", "amount": "CAST(cents AS DOUBLE) / 100"},
        },
    ]


def put_files(folder: Path) -> list[dict[str, Any]]:
    """Write logins in 6 files and payments in 15; return the events of both, in order of time."""
    random = Random(7)  # noqa: S311 - no secret
    (folder / "payments").mkdir()
    events: list[dict[str, Any]] = []
    logins, payments = [], []
    for number in range(LOGINS + PAYMENTS):
        user, time_ms = random.choice("abc"), BEGIN_MS + 2_000 * number
        event: dict[str, Any] = {"user": user, "ts": time_ms, "amount": None}
        if number % 5 < 2:
            ok = random.random() < 0.5
            logins.append(json.dumps({"user": user, "ok": ok, "at": time_ms, "other": 1}))
            event |= {"kind": "login" if ok else "fail", "origin": "logins"}
        else:
            cents = random.randrange(1, 400)
            payments.append(f"{cents},{time_ms},{user}")
            event |= {"kind": "pay", "amount": cents / 100, "origin": "payments"}
        events.append(event)
    for directory, lines, size, head in (
        (folder / "in", logins, 10, ""),
        (folder / "payments", payments, 6, "cents,ts,customer\n"),
    ):
        for number in range(0, len(lines), size):
            path = directory / f"{number}.txt"
            path.write_text(head + "\n".join(lines[number : number + size]), encoding="utf-8")
            os.utime(path, (1_000 + number, 1_000 + number))
    return events


def prepared(
    spark: SparkSession,
    folder: Path,
    on_batch: Callable[[BatchDone], None] = lambda _done: None,
    **keys: Any,
) -> StreamingJob:
    usual = {"stream": "activity", "source": None, "sources": sources(folder)}
    document = usual | {"source_column": "origin"} | keys
    return job(spark, folder, on_batch, **document)


def found(folder: Path) -> list[list[tuple[str, int, float | None, str]]]:
    """Return the matches, each as its events."""
    rows = [row for row in written(folder) if row["kind"] == "match"]
    return sorted(
        [
            (event["user"], event["ts"], event["amount"], event["origin"])
            for step in ("fail", "pay")
            for event in row["events"][step]
        ]
        for row in rows
    )


def expected(events: list[dict[str, Any]]) -> list[list[tuple[str, int, float | None, str]]]:
    pattern = Pattern.from_document(PATTERN)
    matches = find_matches(pattern, events, key_by="user").matches
    return sorted(
        [
            (event["user"], event["ts"], event["amount"], event["origin"])
            for step in ("fail", "pay")
            for event in match.steps[step]
        ]
        for match in matches
    )


CLOSES: Final[dict[str, Any]] = {"trigger": {"available_now": True, "close_at_end": True}}


@pytest.mark.long
def test_two_sources_are_one_stream_whenever_the_job_is_started_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    once, again = tmp_path / "once", tmp_path / "again"
    events = put_files(put_job(once, *RULES))
    prepared(spark, once, **CLOSES).run()
    wanted = expected(events)
    assert len(wanted) > 15
    assert found(once) == wanted
    assert {row["kind"] for row in written(once)} <= {"match", "timeout"}

    put_files(put_job(again, *RULES))
    newest: list[dict[str, int | None]] = []

    def runs(batches: int) -> None:
        left = [batches]

        def on_batch(done: BatchDone) -> None:
            newest.append({each.name: each.newest_event_ms for each in done.status.sources})
            left[0] -= 1
            if not left[0]:
                threading.Thread(target=running.stop).start()

        running = prepared(spark, again, on_batch)
        running.run()

    for batches in (1, 3, 2):
        runs(batches)
    with pytest.raises(CheckpointMismatch, match="it belongs to the sources logins, payments"):
        prepared(spark, again, sources=sources(again)[::-1]).run()
    prepared(spark, again, **CLOSES).run()
    assert found(again) == wanted
    # Payments are behind: they hold the time of the job, and the job says so.
    logins_ms, payments_ms = newest[-1]["logins"], newest[-1]["payments"]
    assert logins_ms is not None
    assert payments_ms is not None
    assert logins_ms > payments_ms + 60_000


@pytest.mark.long
def test_what_cannot_be_computed_is_told_and_ends_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    put_job(tmp_path, *RULES)
    (tmp_path / "payments").mkdir()
    lines = [json.dumps({"user": "a", "ok": False, "at": BEGIN_MS})]
    (tmp_path / "in" / "1.json").write_text("\n".join(lines), encoding="utf-8")
    text = f"cents,ts,customer\nmany,{BEGIN_MS},a\n70000,{BEGIN_MS + 1},a\n500,{BEGIN_MS + 2},a\n"
    (tmp_path / "payments" / "1.csv").write_text(text, encoding="utf-8")
    wanted = sources(tmp_path)
    wanted[1]["values"] = {"kind": "'pay'", "amount": "cents", "small": "cents"}
    schema = "user STRING, kind STRING, amount DOUBLE, small SMALLINT, ts BIGINT, origin STRING"
    write_rules(tmp_path, stream_of("activity", schema), RULES[1])
    prepared(spark, tmp_path, sources=wanted, **CLOSES).run()
    errors = [row for row in written(tmp_path) if row["kind"] == "error"]
    assert [row["error"]["reason"] for row in errors] == ["malformed", "malformed"]
    told = sorted(row["events"]["reason"] for row in errors)
    assert told == [f"does not fit the stream's schema: {name}" for name in ("cents", "small")]
    (raw,) = (row["events"]["raw"] for row in errors if "small" in row["events"]["reason"])
    assert json.loads(raw) == {"user": "a", "ts": BEGIN_MS + 1, "cents": 70_000}
    assert found(tmp_path) == [
        [("a", BEGIN_MS, None, "logins"), ("a", BEGIN_MS + 2, 500.0, "payments")]
    ]
