"""Files and other sources → events, each read as a real stream."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from contract.snapshot import StreamDefinition
from processor_runtime.job_file.source import Source
from processor_runtime.spark.sources import SourceError
from tests.processor_runtime.sources.streams import Event, events_of, malformed, opened, stream

DDL = "user STRING, amount BIGINT, ts TIMESTAMP"


def source(kind: str, folder: Path | None = None, **keys: Any) -> Source:
    path = {} if folder is None else {"path": str(folder)}
    return Source.model_validate({"format": kind} | path | keys)


def streamed(spark: SparkSession, given: Source, definition: StreamDefinition) -> list[Event]:
    """Return what a query over the source sees, batch after batch."""
    seen: list[Event] = []

    def collect(batch: DataFrame, _batch_id: int) -> None:
        seen.extend(events_of(batch, events.read))

    events = opened(spark, given, definition)
    query = events.frame.writeStream.foreachBatch(collect).trigger(availableNow=True).start()
    query.awaitTermination()
    return seen


def test_lines_of_json_are_read_malformed_ones_kept(spark: SparkSession, tmp_path: Path) -> None:
    lines = (
        b'{"who": "ana", "amount": 5, "ts": "2026-05-01T10:00:00Z"}\r\n\n'
        b'{"who": "bob", "amount": "x", "ts": "2026-05-01T10:00:00Z"}\n'
        b"{broken\n"
    )
    (tmp_path / "a b%20.json").write_bytes(b"\xef\xbb\xbf" + lines)
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(lines) + gzip.compress(lines))
    given = source("json", tmp_path, columns={"user": "who"}, max_files_per_batch=1)

    good, bob, broken, *zipped = streamed(spark, given, stream(DDL))
    assert (good["user"], good["amount"], good["_malformed"]) == ("ana", 5, None)
    assert malformed(bob)["reason"] == "does not fit the stream's schema: amount"
    assert malformed(broken)["reason"] == "not a JSON object"
    assert malformed(broken)["raw"] == "{broken"
    assert malformed(broken)["file"].endswith("/a b%20.json")
    assert [event["user"] for event in zipped] == ["ana", "bob", None] * 2


def test_csv_with_a_header_is_read_malformed_rows_kept(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "who;amount;ts\n"
        "ana;5;2026-05-01T10:00:00Z\n"
        "bob;x;2026-05-01T10:00:00Z\n"
        "cy;1\n"
        "di;1;2026-05-01T10:00:00Z;more\n",
        encoding="utf-8",
    )
    options = {"header": True, "sep": ";"}
    given = source("csv", tmp_path, columns={"user": "who"}, options=options)

    good, *bad = streamed(spark, given, stream(DDL))

    assert (good["user"], good["amount"], good["_malformed"]) == ("ana", 5, None)
    assert [malformed(row)["reason"] for row in bad] == [
        "does not fit the stream's schema: amount",
        *["it has not as many values as there are columns"] * 2,
    ]
    assert malformed(bad[2])["raw"] == "di;1;2026-05-01T10:00:00Z;more"


@pytest.mark.long
def test_csv_with_a_header_of_other_columns_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("amount,usr,ts\n5,ana,\n", encoding="utf-8")
    given = source("csv", tmp_path, options={"header": "true"})
    with pytest.raises(Exception, match=r"UnreadableFile: file:.*no column 'user'.*'usr'"):
        streamed(spark, given, stream(DDL))


def test_lines_of_text_are_parsed_as_json(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text('{"user": "ana", "amount": 5}\nnoise\n', encoding="utf-8")
    given = source("text", tmp_path, value_format="json")

    good, noise = streamed(spark, given, stream(DDL))

    assert (good["user"], good["amount"]) == ("ana", 5)
    assert malformed(noise)["raw"] == "noise"


def test_parquet_is_taken_by_name_widened_without_loss(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path / "events")
    spark.sql(
        "SELECT TIMESTAMP '2026-05-01 10:00:00' AS ts, CAST(5 AS INT) AS amount, 'ana' AS who, "
        "1 AS more"
    ).write.parquet(folder)
    given = source("parquet", Path(folder), columns={"user": "who"})

    (row,) = streamed(spark, given, stream(DDL))
    assert (row["user"], row["amount"], row["_malformed"]) == ("ana", 5, None)


def test_parquet_of_another_shape_is_refused_with_reasons(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = str(tmp_path / "events")
    spark.sql("SELECT 'now' AS ts, 5.5D AS amount, 'ana' AS usr").write.parquet(folder)
    with pytest.raises(SourceError) as refused:
        opened(spark, source("parquet", Path(folder)), stream(DDL))
    told = str(refused.value)
    assert "no column 'user'. Did you mean 'usr'?" in told
    assert "'amount' is DOUBLE, which cannot become BIGINT without loss" in told
    assert "'ts' is STRING, which cannot become TIMESTAMP without loss" in told


@pytest.mark.long
def test_a_directory_without_parquet_waits_for_a_file(spark: SparkSession, tmp_path: Path) -> None:
    assert streamed(spark, source("parquet", tmp_path), stream(DDL)) == []


@pytest.mark.long
def test_a_source_of_spark_that_makes_rows_fits_under_other_names(spark: SparkSession) -> None:
    given = source("rate", columns={"ts": "timestamp", "id": "value"})
    events = opened(spark, given, stream("id DECIMAL(20,0), ts TIMESTAMP")).frame
    types = [(each.name, each.dataType.simpleString()) for each in events.schema]
    assert types == [("id", "decimal(20,0)"), ("ts", "timestamp")]


@pytest.mark.long
def test_a_file_that_ends_too_early_is_named_or_skipped(
    spark: SparkSession, tmp_path: Path
) -> None:
    line = b'{"user": "ana", "amount": 5}\n'
    content = gzip.compress(line * 100_000)
    (tmp_path / "a.json.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(Exception, match=r"UnreadableFile: file:.*a\.json\.gz"):
        streamed(spark, source("json", tmp_path), stream(DDL))
    skipping = source("json", tmp_path, options={"ignoreCorruptFiles": True})
    *events, last = streamed(spark, skipping, stream(DDL))
    assert {event["user"] for event in events} <= {"ana", None}
    assert "the rest of the file cannot be read" in malformed(last)["reason"]


@pytest.mark.long
def test_what_cannot_be_read_is_refused_with_a_remedy(spark: SparkSession, tmp_path: Path) -> None:
    options = {"kafka.bootstrap.servers": "kafka-1:9092", "subscribe": "logins"}
    for given, ddl, told in (
        (source("json", tmp_path / "none"), DDL, r"(?s)PATH_NOT_FOUND.*Create the directory"),
        (source("kafka", options=options), DDL, r"spark-sql-kafka-0-10_2\.13:4\."),
        (source("rate", value_format="json"), DDL, "gives no column 'value' with text"),
        (source("rate"), "ts TIMESTAMP, _malformed STRING", "the job uses"),
        (source("rate"), "ts NOTYPE", "no Spark DDL"),
    ):
        with pytest.raises(SourceError, match=told):
            opened(spark, given, stream(ddl))
    with pytest.raises(SourceError, match=r"parqet.* Correct source\.format") as unknown:
        opened(spark, source("parqet", tmp_path), stream(DDL))
    assert "\n" not in str(unknown.value)
