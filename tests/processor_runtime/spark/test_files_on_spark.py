"""A job over CSV files, with ticks and with lines that are no events."""

import os
import threading
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from processor_runtime.spark.job import StreamingJob
from processor_runtime.spark.micro_batches import BatchDone
from tests.letters import followed
from tests.processor_runtime.rule_documents import FAILED_THEN_IN, put_job, rule_of, stream_of
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import written

BEGIN_MS: Final = 1_767_225_600_000
SCHEMA: Final = "ts BIGINT, user STRING, action STRING, amount DOUBLE"
SIGNED_IN: Final = followed(*FAILED_THEN_IN, within="10 seconds")
RULES: Final = [
    stream_of("logins", SCHEMA, allowed_delay_ms=1_000),
    rule_of("signed-in", "logins", SIGNED_IN, key_by=["user"]),
]
FILES: Final = {
    "1.csv": "0,ana,fail,1.5\n1000,ana,login,\n1000,bob,fail,2\n",
    # Late, too far ahead of the clock, before there were years, without a time.
    "2 é%20#?.csv": "9000,cy,fail,1\n20000,dan,fail,1\n4102444800000,ana,fail,1\n"
    "-99999999999999999,ana,fail,1\n,ana,fail,1\n",
    "3.csv": "500,ana,login,1\n21000,dan,login,-1e3\n",
    "4.csv": '90000,"eve, e.",fail,"0"\n91000,"",fail,""\n95000,"eve, e.","login",0\n',
}
BROKEN: Final = '96000,"fay ""f.""",fail,1\nbroken\n97000,"fay ""f.""",login,1\n'
"""Quotes inside of values, and a line that is no event."""


def files(**more: str) -> dict[str, str]:
    """Return the files, with times that Spark's watermark can have."""
    shifted = {}
    for name, text in {**FILES, **more}.items():
        lines = [line.partition(",") for line in text.splitlines()]
        shifted[name] = "\n".join(
            f"{int(time) + BEGIN_MS}{comma}{rest}"
            if time.isdecimal() and int(time) < 10**7
            else f"{time}{comma}{rest}"
            for time, comma, rest in lines
        )
    return shifted


def prepared(
    spark: SparkSession, folder: Path, on_batch: Any = lambda _done: None, **keys: Any
) -> StreamingJob:
    """Return a job over `folder/in`."""
    source = {"format": "csv", "path": str(folder / "in"), "max_files_per_batch": 1}
    options = keys.pop("options", {})
    keys = {"trigger": {"available_now": True, "close_at_end": True}} | keys
    return job(
        spark, folder, on_batch, stream="logins", source=source | {"options": options}, **keys
    )


def put(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = folder / "in" / name
        path.write_text(text, encoding="utf-8")
        os.utime(path, (int(name[0]), int(name[0])))  # they are read in the order of their times


@pytest.mark.nightly
@pytest.mark.long
def test_rows_that_are_late_or_no_events_are_told(spark: SparkSession, tmp_path: Path) -> None:
    put(put_job(tmp_path, *RULES), files())
    prepared(spark, tmp_path).run()
    kinds = [row["kind"] for row in written(tmp_path)]
    assert sorted(kinds) == ["error"] * 3 + ["late"] + ["match"] * 3 + ["timeout"] * 3


@pytest.mark.long
def test_with_ticks_and_broken_lines_nothing_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    put_job(tmp_path, *RULES)
    texts = files(**{"5.csv": BROKEN, "6.csv": "200000,zoe,fail,1\n"})
    put(tmp_path, {"1.csv": texts.pop("1.csv")})
    batches: list[int] = []

    def on_batch(done: BatchDone) -> None:
        # The first batch is read before the other files are there.
        batches.append(done.times.batch_id)
        if len(batches) == 1:
            put(tmp_path, texts)
        if done.status.totals.matches == 4:
            ended.set()

    ended = threading.Event()
    clock, trigger = {"idle_after": "1 hour"}, {"processing_time": "100 ms"}
    running = prepared(spark, tmp_path, on_batch, time=clock, trigger=trigger)

    def stop_once_found() -> None:
        ended.wait(90)
        running.stop()

    threading.Thread(target=stop_once_found, daemon=True).start()
    running.run()

    assert ended.is_set()
    rows = written(tmp_path)
    assert [row["error"] for row in rows if "broken" in str(row["events"])] != []
    matched = sorted(row["key"] for row in rows if row["kind"] == "match")
    assert matched == [["ana"], ["dan"], ["eve, e."], ['fay "f."']]
