"""The files of a source, whose content the first stage reads.

source ──listed_files──► frame of paths, lengths and, from other file systems, contents

Which files there are, and which of them a batch takes, Spark decides, with its log in the
checkpoint.
"""

from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.job_file.source import Source

_FILES: Final = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"


def listed_files(spark: SparkSession, source: Source) -> DataFrame:
    """Return the files of a source as a streaming frame: columns `path`, `length` and `content`.

    `content` is NULL where the machines of the job can read the file by its path.
    """
    reader = spark.readStream.format("binaryFile").options(**source.listing_options)
    reader = reader.schema(_FILES)
    files = reader.load(source.path)
    content = F.lit(None).cast("binary") if _is_local(spark, source) else F.col("content")
    return files.select("path", "length", content.alias("content"))


def _is_local(spark: SparkSession, source: Source) -> bool:
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark offers no other way
    context: Any = spark.sparkContext._jsc  # noqa: SLF001 - as above
    system = jvm.org.apache.hadoop.fs.Path(source.path).getFileSystem(context.hadoopConfiguration())
    return bool(system.getUri().getScheme() == "file")
