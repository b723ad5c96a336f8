"""Patterns over any DataFrame: static ones to their end, streaming ones as they come."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from cep.pattern import PatternError
from percept import Pattern, find_matches
from processor_runtime.spark.frames.match_patterns import match_patterns
from tests.processor_runtime.spark.frames import in_memory, streamed

DDL = "user STRING, action STRING, ts BIGINT"
EVENTS = [
    ("ana", "fail", 1_000),
    ("ben", "fail", 1_500),
    ("ana", "fail", 2_000),
    ("ana", "login", 3_000),
    ("ben", "login", 700_000),
    ("eve", "fail", 800_000),
]
TIMED_OUT = {('["ben"]', 1_500, 601_500): 1, ('["eve"]', 800_000, 1_400_000): 1}
FAILED_THEN_IN = (
    Pattern.begin("fail")
    .where("action = 'fail'")
    .followed_by("login")
    .where("action = 'login'")
    .within("10 minutes")
)


def frame_of(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(EVENTS, DDL)


def times(rows: DataFrame) -> Counter[tuple[str, int, int]]:
    return Counter((row.key, row.start_ms, row.end_ms) for row in rows.collect())


@pytest.mark.long
def test_a_static_frame_is_matched_to_its_end_as_a_list_is(spark: SparkSession) -> None:
    found = match_patterns(
        frame_of(spark),
        FAILED_THEN_IN,
        event_time="ts",
        key_by="user",
        select={"user": "login.user", "failed_at": "fail.ts"},
    )
    events = [dict(zip(("user", "action", "ts"), event, strict=True)) for event in EVENTS]
    expected = find_matches(
        FAILED_THEN_IN, events, time_field="ts", key_by="user", final_watermark_ms=10**9
    )
    matches = found.matches.collect()
    assert Counter(row.events for row in matches) == Counter(
        json.dumps(match.steps, separators=(",", ":")) for match in expected.matches
    )
    assert {json.loads(row.output)["user"] for row in matches} == {"ana"}
    assert times(found.timed_out) == TIMED_OUT
    assert found.late.count() == 0


@pytest.mark.long
def test_events_of_one_millisecond_are_ordered_by_their_microseconds(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [("login", "2026-01-01 00:00:00.000002"), ("fail", "2026-01-01 00:00:00.000001")],
        "action STRING, at STRING",
    ).selectExpr("action", "to_timestamp(at) AS ts")
    assert match_patterns(frame, FAILED_THEN_IN, event_time="ts").matches.count() == 1


@pytest.mark.long
def test_what_does_not_fit_the_frame_is_told(spark: SparkSession) -> None:
    for columns in ({"event_time": "tss"}, {"event_time": "ts", "order_by": ["usr"]}):
        with pytest.raises(ValueError, match=r"the frame has no column '(tss|usr)'\. Did you mean"):
            match_patterns(frame_of(spark), FAILED_THEN_IN, **columns)
    with pytest.raises(PatternError, match="amount"):
        match_patterns(frame_of(spark), Pattern.begin("a").where("amount > 3"), event_time="ts")


def test_the_example_of_the_documentation_runs(spark: SparkSession) -> None:
    page = Path("docs/dataframes.md").read_text()
    code = page.partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {"frame": frame_of(spark)}
    exec(compile(code, "docs/dataframes.md", "exec"), names)  # noqa: S102 - our own page
    rows = names["found"].matches.collect()
    assert {json.loads(row.output)["failed_at"] for row in rows} == {1_000, 2_000}


@pytest.mark.long
def test_windows_stay_open_beyond_the_final_watermark(spark: SparkSession) -> None:
    how: dict[str, Any] = {"event_time": "ts", "key_by": "user", "final_watermark_ms": 900_000}
    found = match_patterns(frame_of(spark), FAILED_THEN_IN, **how)
    assert times(found.timed_out) == {('["ben"]', 1_500, 601_500): 1}


@pytest.mark.long
def test_several_patterns_are_told_apart(spark: SparkSession) -> None:
    twice = Pattern.begin("fail").where("action = 'fail'").times(2)
    found = match_patterns(frame_of(spark), {"in": FAILED_THEN_IN, "twice": twice}, event_time="ts")
    assert {row.pattern for row in found.matches.select("pattern").collect()} == {"in", "twice"}


@pytest.mark.long
@pytest.mark.nightly
def test_a_stream_is_matched_as_its_watermark_moves(spark: SparkSession, tmp_path: Path) -> None:
    late = ("ana", "login", 2_500)
    batches = [EVENTS[:3], EVENTS[3:5], [late, ("eve", "fail", 800_000)], [("x", "x", 10**9)]]
    stream = streamed(spark, tmp_path / "source", DDL, batches)
    found = match_patterns(stream, FAILED_THEN_IN, event_time="ts", key_by="user")
    assert times(in_memory(found.matches, "matches")) == {
        ('["ana"]', 1_000, 3_000): 1,
        ('["ana"]', 2_000, 3_000): 1,
    }
    assert times(in_memory(found.timed_out, "timed_out")) == TIMED_OUT
    rows = in_memory(found.late, "late").collect()
    assert [json.loads(row.events)["ts"] for row in rows] == [2_500]
