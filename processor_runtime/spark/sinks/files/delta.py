"""Rows appended to a Delta table, exactly once: the table's log remembers the last batch.

Source: Delta Lake, "Idempotent table writes in foreachBatch" (txnAppId, txnVersion).
"""

from pyspark.sql import DataFrame

from processor_runtime.job_file.outputs import DeltaOutput
from processor_runtime.secret_names import secret_options
from processor_runtime.spark.failure_text import without
from processor_runtime.spark.sinks.output_sink import SinkSurroundings
from processor_runtime.spark.sinks.row_columns import with_times


class DeltaSink:
    """Appends batches to a Delta table; Delta skips a batch that it already has."""

    def __init__(self, output: DeltaOutput, surroundings: SinkSurroundings) -> None:
        self._path = output.path
        self._options = output.options
        # Batches of another checkpoint also count from 0 and must not be mistaken for these.
        self._transactions = f"percept/{surroundings.checkpoint_id}/{output.name}"
        self.secrets = secret_options(output.options)
        self.remedy = (
            f"Look at whether the job may write to {without(output.path, ())}. Delta Lake for "
            "Spark is io.delta:delta-spark_2.13, under packages, and needs spark.sql.extensions "
            "and spark.sql.catalog.spark_catalog under spark; its page on this version of Spark "
            "says which. The batch is written again when the job is started again."
        )

    def write(self, rows: DataFrame, batch_id: int, row_count: int) -> None:
        """Append a batch."""
        if row_count == 0:
            return
        with_times(rows).write.format("delta").mode("append").options(
            **self._options, **self.transaction(batch_id)
        ).save(self._path)

    def transaction(self, batch_id: int) -> dict[str, str]:
        """Return the options that name a batch to Delta, the same whenever it is written."""
        return {"txnAppId": self._transactions, "txnVersion": str(batch_id)}

    def close(self) -> None:
        """Do nothing: no resources are held."""
