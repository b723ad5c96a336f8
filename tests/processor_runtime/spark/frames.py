"""Streams of files as frames, and what comes of them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from cep.expression import Schema
from tests.processor_runtime.rule_documents import put_events


def streamed(
    spark: SparkSession, folder: Path, ddl: str, batches: Iterable[Sequence[tuple[Any, ...]]]
) -> DataFrame:
    """Return a stream of rows, each batch of them in a file of its own."""
    folder.mkdir()
    names = [name for name, _ in Schema.from_ddl(ddl).columns]
    put_events(folder, [[dict(zip(names, row, strict=True)) for row in rows] for rows in batches])
    return spark.readStream.schema(ddl).option("maxFilesPerTrigger", 1).json(str(folder))


def in_memory(rows: DataFrame, name: str) -> DataFrame:
    """Return all that a stream gives, as a table of this name."""
    writer = rows.writeStream.format("memory").queryName(name).outputMode("append")
    writer.trigger(availableNow=True).start().awaitTermination()
    return rows.sparkSession.table(name)
