"""On Spark: event time that follows the clock of a silent source, and a job that closes at its end.

The events are of now, as the clock is that of the machine.
"""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from processor_runtime.spark.micro_batches import BatchDone
from tests.letters import followed, with_step
from tests.patience import FAR_LONGER_SECONDS
from tests.processor_runtime.rule_documents import FAILED_THEN_IN, rule_of, stream_of, write_rules
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import written, written_batches

pytestmark = [pytest.mark.nightly, pytest.mark.long]
HOUR_MS = 3_600_000
FOLLOWS_CLOCK: dict[str, Any] = {
    "time": {"delay": "100 ms", "idle_after": "1 second"},
    "trigger": {"processing_time": "200 ms"},
}
ENDS: dict[str, Any] = {"trigger": {"available_now": True}}
CLOSES: dict[str, Any] = {"trigger": {"available_now": True, "close_at_end": True}}
STREAM = stream_of("logins", "user STRING, action STRING, ts BIGINT")
GAVE_UP = with_step(followed(*FAILED_THEN_IN, within="2 seconds"), 1, contiguity="not_followed_by")


def rule(rule_id: str, **more: Any) -> dict[str, Any]:
    return rule_of(rule_id, "logins", GAVE_UP, key_by=["user"], **more)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class _Crash(Exception):
    """The job dies after a batch was written, before Spark knows that it is done."""


class Jobs:
    """Jobs on one checkpoint, one after the other; each ends when something was seen."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.seen: list[BatchDone] = []
        for name in ("rules", "in"):
            (folder / name).mkdir()
        self._files = 0

    def publish(self, *rules: dict[str, Any]) -> None:
        write_rules(self.folder, STREAM, *rules)

    def give(self, *events: tuple[str, str, int]) -> None:
        names = ("user", "action", "ts")
        lines = [json.dumps(dict(zip(names, each, strict=True))) for each in events]
        aside = self.folder / "events.json"
        aside.write_text("\n".join(lines), encoding="utf-8")
        self._files += 1
        aside.rename(self.folder / "in" / f"{self._files}.json")

    def until(self, is_enough: Callable[[BatchDone], bool], *, crashes: bool = False) -> BatchDone:
        """Run a job that follows the clock until a batch is as it should be."""
        found: list[BatchDone] = []

        def on_batch(done: BatchDone) -> None:
            self.seen.append(done)
            if not found and is_enough(done):
                found.append(done)
                if crashes:
                    raise _Crash
                threading.Thread(target=running.stop).start()

        running = job(self.spark, self.folder, on_batch, stream="logins", **FOLLOWS_CLOCK)
        giving_up = threading.Timer(3 * FAR_LONGER_SECONDS, running.stop)
        giving_up.start()
        try:
            running.run()
        except _Crash:
            assert crashes
        finally:
            giving_up.cancel()
        return found[0]

    def run(self, keys: dict[str, Any]) -> None:
        job(self.spark, self.folder, self.seen.append, stream="logins", **keys).run()

    @property
    def found(self) -> list[tuple[str, str, int]]:
        """What was found: the rule, the user, and when it began."""
        rows = written(self.folder)
        assert {row["kind"] for row in rows} <= {"match", "late"}
        return sorted(
            (row["processor_id"], row["key"][0], row["start_ms"])
            for row in rows
            if row["kind"] == "match"
        )


def test_a_silent_source_holds_nothing_up(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark, tmp_path)
    jobs.publish(rule("gave-up"))
    begun_ms = now_ms()
    jobs.give(*((f"user-{number}", "fail", begun_ms) for number in range(3)))
    steps: list[Callable[[BatchDone], bool]] = [
        # The windows close with nothing but ticks, in every shard.
        lambda done: done.status.totals.matches == 3,
        lambda done: (
            ("scheduled", "active")
            in [(each.processor_id, each.state) for each in done.status.versions]
        ),
        # It was read after event time had come to now: it is late, and counted.
        lambda done: done.status.totals.events == 5,
    ]

    def is_done(done: BatchDone) -> bool:
        if steps[0](done):
            steps.pop(0)
            if len(steps) == 2:
                assert done.status.silent_since_ms is not None
                jobs.publish(rule("gave-up"), rule("scheduled", effective_from=now_ms() + 2_000))
            if len(steps) == 1:
                jobs.give(("ana", "fail", begun_ms), ("bob", "fail", now_ms()))
        return not steps

    done = jobs.until(is_done)
    assert done.status.totals.late == 1
    assert (done.status.time_mode, done.status.silent_since_ms) == ("events_or_clock", None)
    assert jobs.found == [("gave-up", f"user-{number}", begun_ms) for number in range(3)]


def test_a_kill_changes_nothing_and_a_checkpoint_goes_from_job_to_job(
    spark: SparkSession, tmp_path: Path
) -> None:
    jobs = Jobs(spark, tmp_path)
    jobs.publish(rule("gave-up"))
    begun_ms = now_ms()
    jobs.give(*((f"user-{number}", "fail", begun_ms) for number in range(3)))
    # It begins with a job that waits for events, whose checkpoint has one source.
    jobs.run(ENDS)
    assert jobs.found == []
    jobs.until(lambda done: done.status.totals.matches > 0, crashes=True)
    before = list(written_batches(tmp_path).values())[-1]
    crashed = jobs.seen[-1].status.batch_id
    jobs.until(lambda done: (done.status.batch_id or 0) > (crashed or 0) + 2)
    again = next(done for done in jobs.seen[-5:] if done.status.batch_id == crashed)
    assert again.status.watermark_ms is not None
    batches = written_batches(tmp_path).values()
    assert before == next(rows for rows in batches if rows[0] == before[0])
    # It ends with such a job again.
    jobs.give(("eve", "x", now_ms() + HOUR_MS // 2))
    jobs.run(ENDS)
    assert jobs.found == [("gave-up", f"user-{number}", begun_ms) for number in range(3)]


def test_a_job_that_closes_at_its_end_leaves_none_open(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark, tmp_path)
    jobs.publish(rule("gave-up"))
    jobs.give(("ana", "fail", 1_000_000))
    jobs.give(("bob", "fail", 1_000_500))
    jobs.run(CLOSES)
    assert jobs.found == [("gave-up", "ana", 1_000_000), ("gave-up", "bob", 1_000_500)]
    assert jobs.seen[-1].status.partial_matches == 0
    # A later run goes on behind the newest event: one login is late, neither extends anything.
    jobs.give(("bob", "login", 1_000_500), ("bob", "login", 1_000_501), ("eve", "fail", 1_000_501))
    jobs.run(CLOSES)
    assert jobs.found[2:] == [("gave-up", "eve", 1_000_501)]
    assert [row["start_ms"] for row in written(tmp_path) if row["kind"] == "late"] == [1_000_500]
