"""Rows as Kafka records: keyed by processor and key, named by headers.

    row, line ──► key ["failed-logins","eve"] · value: its JSON, or by a schema · headers row_id, …

Rows of one key of a processor go to one partition. A batch that is written again produces the same
records. Percept's own connector writes from the driver, so that executors need no password for it,
those of a key in the order of event time; Spark's connector writes from its executors. Matches that
workers have made lines of become records without Spark.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - how PySpark's functions are named everywhere

from processor_runtime.job_file.outputs import KafkaOutput
from processor_runtime.kafka.settings import (
    BOOTSTRAP_SERVERS,
    MISSING_LIBRARY,
    client_settings,
    is_installed,
    secret_values,
)
from processor_runtime.output.row_columns import LINES
from processor_runtime.rows.line_route import NO_LINES, BatchLines
from processor_runtime.secret_names import secret_options
from processor_runtime.spark.sinks.row_columns import ROW_ID, row_json, with_times
from processor_runtime.spark.sinks.row_identity import ordered, with_identity

_AGAIN = "The batch is written again when the job is started again."


class KafkaSink:
    """Writes batches to a topic, by librdkafka.

    Raises:
        ValueError: the library of the extra `kafka` is not installed, a setting is of Java, or the
            schema of a file is none.
    """

    def __init__(self, output: KafkaOutput) -> None:
        if not is_installed():
            raise ValueError(MISSING_LIBRARY)
        from processor_runtime.kafka.match_records import match_records  # noqa: PLC0415
        from processor_runtime.kafka.producing import BatchProducer, Record  # noqa: PLC0415

        self._record, self._of_lines = Record, match_records
        self._producer = BatchProducer(client_settings(output.options), output.topic)
        self._value = _encoder(output)
        self.secrets = secret_values(output.options | output.schema_registry)
        self.remedy = (
            f"Look at the brokers {output.options[BOOTSTRAP_SERVERS]}, at the topic "
            f"{output.topic}, and at kafka.message.max.bytes if a record is too large. {_AGAIN}"
        )

    def write(
        self, rows: DataFrame, batch_id: int, row_count: int, lines: BatchLines = NO_LINES
    ) -> None:
        """Send the rows of a batch, and wait until the brokers have them.

        `lines`: more rows, none of them in files.
        """
        for in_hand in lines.in_hand:
            self._producer.send(self._of_lines([in_hand]))
        if row_count and LINES in rows.columns:
            has_lines = F.col(LINES).isNotNull()
            for shard in _by_partition(rows.where(has_lines)):
                self._producer.send(self._of_lines(shard))
            rows = rows.where(~has_lines).drop(LINES)
            # Of the count nobody knows whether it has each line, or some thousand as one row.
            row_count = rows.count()
        if row_count:
            named = with_identity(rows, batch_id, row_count)
            # By the event time they end at, so that those of one key are written in order.
            by_time = ordered(named, row_count, "end_ms", ROW_ID)
            records = _records(by_time).toLocalIterator()
            self._producer.send(map(self._of_row, records))

    def close(self) -> None:
        """Close the connections."""
        self._producer.close()

    def _of_row(self, row: Row) -> Any:
        headers = tuple((each["key"], bytes(each["value"])) for each in row["headers"])
        key = None if row["key"] is None else row["key"].encode()
        return self._record(key, self._value(row["value"]), headers)


def _by_partition(rows: DataFrame) -> Iterator[list[bytes]]:
    """Yield the lines of each partition, which has those of one shard."""
    found = rows.select(LINES, F.spark_partition_id().alias("place")).toLocalIterator()
    for _, shard in groupby(found, lambda row: row["place"]):
        yield [bytes(row[LINES]) for row in shard]


def _encoder(output: KafkaOutput) -> Callable[[str], bytes]:
    """Return what makes values of the JSON of rows."""
    form = output.output_form()
    if form is None:
        return str.encode
    from processor_runtime.kafka.formats.encoding import (  # noqa: PLC0415 - other jobs need it not
        RowEncoder,
        check_output_form,
    )

    check_output_form(form)
    return RowEncoder(form)


class SparkKafkaSink:
    """Writes batches to a topic through Spark's Kafka connector."""

    def __init__(self, output: KafkaOutput) -> None:
        self._options = output.options | {"topic": output.topic, "includeHeaders": "true"}
        self.secrets = secret_options(output.options)
        self.remedy = (
            f"Look at the brokers {output.options[BOOTSTRAP_SERVERS]}, at the topic "
            f"{output.topic}, and at kafka.max.request.size if a record is too large. Spark's "
            f"connector is org.apache.spark:spark-sql-kafka-0-10_2.13, under packages. {_AGAIN}"
        )

    def write(self, rows: DataFrame, batch_id: int, row_count: int) -> None:
        """Send the rows of a batch."""
        if row_count:
            records = kafka_records(rows, batch_id, row_count)
            records.write.format("kafka").options(**self._options).save()

    def close(self) -> None:
        """Do nothing: producers belong to Spark."""


def kafka_records(rows: DataFrame, batch_id: int, row_count: int) -> DataFrame:
    """Return the records that rows become: `key STRING, value STRING, headers ARRAY<…>`.

    The key is a JSON array of the processor's id and its key; rows without a processor (late
    events) have none.
    """
    return _records(with_identity(rows, batch_id, row_count))


def _records(named: DataFrame) -> DataFrame:
    timed = with_times(named)
    return timed.select(
        _record_key().alias("key"),
        row_json(timed).alias("value"),
        F.filter(
            F.array(*(_header(name) for name in (ROW_ID, "match_id", "kind"))),
            lambda header: header["value"].isNotNull(),
        ).alias("headers"),
    )


def _record_key() -> Column:
    # Ids of processors contain no characters that JSON escapes.
    values = F.regexp_replace(F.coalesce("key", F.lit("[]")), r"^\s*\[\s*|\s*\]\s*$", "")
    separator = F.when(values == "", F.lit("")).otherwise(F.lit(","))
    return F.when(
        F.col("processor_id").isNotNull(),
        F.concat(F.lit('["'), "processor_id", F.lit('"'), separator, values, F.lit("]")),
    )


def _header(name: str) -> Column:
    return F.struct(F.lit(name).alias("key"), F.encode(F.col(name), "UTF-8").alias("value"))
