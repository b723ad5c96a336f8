"""Rows as Kafka records: keyed by processor and key, named by headers.

    row ──► key ["failed-logins","eve"] · value: JSON of the row · headers row_id, match_id, kind

Rows of one key of a processor go to one partition, so they stay in order. A batch that is written
again produces the same records.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - how PySpark's functions are named everywhere

from processor_runtime.job_file.outputs import BOOTSTRAP_SERVERS, KafkaOutput
from processor_runtime.spark.failure_text import secret_options
from processor_runtime.spark.sinks.row_columns import ROW_ID, row_json, with_times
from processor_runtime.spark.sinks.row_identity import with_identity


class KafkaSink:
    """Writes batches to a topic through Spark's Kafka connector."""

    def __init__(self, output: KafkaOutput) -> None:
        self._options = output.options | {"topic": output.topic, "includeHeaders": "true"}
        self.secrets = secret_options(output.options)
        self.remedy = (
            f"Look at the brokers {output.options[BOOTSTRAP_SERVERS]}, at the topic "
            f"{output.topic}, and at kafka.max.request.size if a record is too large. Spark's "
            "connector is org.apache.spark:spark-sql-kafka-0-10_2.13, under packages. The batch "
            "is written again when the job is started again."
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
    timed = with_times(with_identity(rows, batch_id, row_count))
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
