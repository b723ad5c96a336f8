"""`format: kafka` without Spark's connector: from brokers to events, from batch to batch."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from processor_runtime.driver.offset_log import source_position
from processor_runtime.job_file.source import Source
from processor_runtime.spark.checkpoint_files import CheckpointFiles
from processor_runtime.spark.sources import SourceError
from processor_runtime.spark.sources.backlog import unread_events
from tests.processor_runtime.kafka.brokers import Brokers, brokers
from tests.processor_runtime.kafka.registry import registry
from tests.processor_runtime.sources.streams import Event, events_of, malformed, opened, stream

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

DEFINITION = stream("n BIGINT, ts TIMESTAMP, place BIGINT, topic STRING", "ts")
Batches = list[list[Event]]


@pytest.fixture(scope="module")
def kafka() -> Iterator[Brokers]:
    with brokers() as cluster:
        yield cluster


def source(kafka: Brokers, **options: Any) -> Source:
    return Source.model_validate(
        {
            "format": "kafka",
            "connector": "percept",
            "options": kafka.options | {"startingOffsets": "earliest"} | options,
            "columns": {"place": "offset", "topic": "topic"},
        }
    )


def give(kafka: Brokers, topic: str, partition: int, *numbers: int) -> None:
    values = (json.dumps({"n": n, "ts": "2026-05-01T10:00:00Z"}).encode() for n in numbers)
    kafka.give(topic, partition, *values)


def run(
    spark: SparkSession,
    wanted: Source,
    checkpoint: Path,
    on_batch: Callable[[DataFrame, int], None] = lambda _frame, _number: None,
) -> tuple[Batches, list[Any]]:
    """Read everything there is; return the rows of each batch, and the progress of the source."""
    batches: Batches = []

    def take(frame: DataFrame, number: int) -> None:
        events.check(number)
        on_batch(frame, number)
        batches.append(events_of(frame, events.read))

    events = opened(spark, wanted, DEFINITION, CheckpointFiles(spark, str(checkpoint)))
    writer = events.frame.writeStream.option("checkpointLocation", str(checkpoint))
    query = writer.foreachBatch(take).trigger(availableNow=True).start()
    query.awaitTermination()
    return batches, [each["sources"] for each in query.recentProgress]


def numbers(batches: Batches) -> list[int]:
    return sorted(row["n"] for batch in batches for row in batch)


@pytest.mark.long
@pytest.mark.nightly
def test_a_topic_is_read_in_batches_of_a_size_and_its_backlog_is_known(
    spark: SparkSession, kafka: Brokers, tmp_path: Path
) -> None:
    kafka.create("sized", 2)
    give(kafka, "sized", 0, *range(30))
    give(kafka, "sized", 1, *range(30, 40))
    kafka.give("sized", 1, b"{broken")

    wanted = source(kafka, subscribe="sized", maxOffsetsPerTrigger=30)
    batches, progress = run(spark, wanted, tmp_path)

    assert [len(batch) for batch in batches] == [30, 11]
    (bad,) = (row for batch in batches for row in batch if row["_malformed"])
    assert malformed(bad)["reason"] == "not a JSON object"
    assert malformed(bad)["offset"] == 10
    rows = [row for batch in batches for row in batch if not row["_malformed"]]
    assert sorted(row["n"] for row in rows) == list(range(40))
    assert {(row["topic"], row["place"]) for row in rows} == {("sized", n) for n in range(30)}
    assert [unread_events(each) for each in progress[:2]] == [11, 0]


@pytest.mark.long
def test_a_batch_that_was_cut_off_reads_the_same_records_again_wherever_the_end_is_now(
    spark: SparkSession, kafka: Brokers, tmp_path: Path
) -> None:
    kafka.create("cut-off", 2)
    give(kafka, "cut-off", 0, 1, 2, 3)
    seen: list[list[Row]] = []

    def fail(frame: DataFrame, _number: int) -> None:
        seen.append(frame.collect())
        raise RuntimeError("cut off")

    latest = source(kafka, subscribe="cut-off", startingOffsets='{"cut-off":{"0":1,"1":-1}}')
    with pytest.raises(Exception, match="cut off"):
        run(spark, latest, tmp_path, fail)
    give(kafka, "cut-off", 0, 4)
    give(kafka, "cut-off", 1, 5)

    batches, _ = run(spark, latest, tmp_path)

    assert [[tuple(row) for row in batch] for batch in seen] == [[("cut-off", 0, 1, 3)]]
    assert numbers(batches[:1]) == [2, 3]
    assert numbers(batches[1:]) == [4, 5]


@pytest.mark.long
def test_topics_that_are_added_are_read_from_their_first_record(
    spark: SparkSession, kafka: Brokers, tmp_path: Path
) -> None:
    kafka.create("added.1", 1)
    give(kafka, "added.1", 0, 1, 2)
    wanted = source(kafka, subscribePattern=r"added\..*", startingOffsets="latest")
    assert numbers(run(spark, wanted, tmp_path)[0]) == []
    kafka.create("added.2", 3)
    give(kafka, "added.2", 2, 3, 4)
    give(kafka, "added.1", 0, 5)

    batches, _ = run(spark, wanted, tmp_path)

    assert numbers(batches) == [3, 4, 5]
    position = source_position(CheckpointFiles(spark, str(tmp_path)), len(batches))
    assert position == b'{"added.1": {"0": 3}, "added.2": {"0": 0, "1": 0, "2": 2}}'


@pytest.mark.long
def test_a_topic_that_was_created_anew_ends_the_job_or_is_read_from_its_beginning(
    spark: SparkSession, kafka: Brokers, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kafka.create("anew", 1)
    give(kafka, "anew", 0, 1, 2, 3)
    wanted = source(kafka, subscribe="anew")
    assert numbers(run(spark, wanted, tmp_path)[0]) == [1, 2, 3]
    kafka.delete("anew")
    kafka.create("anew", 1)
    give(kafka, "anew", 0, 4)

    with pytest.raises(
        Exception, match=r"read up to offset 3, and it has 0 to 1\. .*failOnDataLoss"
    ):
        run(spark, wanted, tmp_path)
    going_on = source(kafka, subscribe="anew", failOnDataLoss="false")
    assert numbers(run(spark, going_on, tmp_path)[0]) == [4]
    assert "has read up to offset 3, and it has 0 to 1" in caplog.text
    assert "The job goes on from offset 0" in caplog.text


@pytest.mark.long
def test_values_in_avro_become_the_columns_of_the_stream_and_what_is_none_is_malformed(
    spark: SparkSession, kafka: Brokers, tmp_path: Path
) -> None:
    with registry() as schemas:
        fields = [
            {"name": "n", "type": "int"},
            {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        ]
        schema = json.dumps({"type": "record", "name": "Event", "fields": fields})
        write = AvroSerializer(SchemaRegistryClient({"url": schemas.url}), schema)
        context = SerializationContext("avro", MessageField.VALUE)
        when = datetime(2026, 5, 1, 10, tzinfo=UTC)
        kafka.create("avro", 1)
        good = write({"n": 7, "ts": when}, context)
        kafka.give("avro", 0, good, b"\x00\x00\x00\x00\x07\xff", None, b'{"n": 1}')
        wanted = Source.model_validate(
            source(kafka, subscribe="avro").model_dump()
            | {"value_format": "avro", "schema_registry": {"url": schemas.url}}
        )
        ((first, *bad),), _ = run(spark, wanted, tmp_path)
    assert (first["n"], first["ts"], first["place"]) == (7, when, 0)
    assert first["_malformed"] is None
    told = [malformed(row) for row in bad]
    shown = [each["reason"].partition(":")[0] for each in told]
    assert shown == ["there is no schema with the id 7", "the value is NULL", "cannot be read"]
    assert told[0]["raw_base64"] == "AAAAAAf/"
    assert [each["offset"] for each in told] == [1, 2, 3]


def test_what_cannot_be_read_is_told_before_the_query_starts_without_secrets(
    spark: SparkSession, kafka: Brokers, tmp_path: Path
) -> None:
    kafka.create("short", 1)
    options = {"kafka.sasl.password": "hush-hush", "assign": '{"short": [99]}'}
    checkpoint = CheckpointFiles(spark, str(tmp_path))
    with pytest.raises(SourceError, match=r"source\.options: assign: .* no partition 99") as error:
        opened(spark, source(kafka, **options), DEFINITION, checkpoint)
    assert "hush-hush" not in str(error.value)
