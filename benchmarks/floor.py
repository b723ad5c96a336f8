"""What Spark alone needs: a query that reads the files of a job and hands them to Python.

    files ──► Spark's reader ──► Arrow ──► a Python function that drops what it gets

No job can be faster; each is measured in parts of this.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benchmarks.workplace import Workplace


def dropped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take Arrow batches and give none."""
    for _ in batches:
        pass
    yield from ()


def floor_seconds(spark: SparkSession, place: Workplace, batches: int) -> Sequence[float]:
    """Return how long each batch after the first takes, of so many, with the files of the job's."""
    moments: list[float] = []

    def run(frame: DataFrame, _batch_id: int) -> None:
        frame.write.format("noop").mode("overwrite").save()
        moments.append(time.perf_counter())

    source = place.source
    reader = spark.readStream.schema(source.ddl()).option("maxFilesPerTrigger", place.batches.files)
    frame = reader.format(source.format).load(str(place.root / "in"))
    with tempfile.TemporaryDirectory(prefix="percept-bench-") as checkpoint:
        query = (
            frame.mapInArrow(dropped, source.ddl())
            .writeStream.foreachBatch(run)
            .option("checkpointLocation", checkpoint)
            # It ends by itself once all files are read: what is stopped breaks its workers' pipes.
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    return [later - earlier for earlier, later in pairwise(moments[:batches])]
