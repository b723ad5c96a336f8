"""What Spark writes its own files of a checkpoint with: on a local disk, without other programs.

    job ──write_directly──► setting of the session ──► offsets, commits, state of each batch

Spark's way is Hadoop's `FileContext`, which without Hadoop's native library starts a program
(`chmod`, `readlink`) eight times for each file, some fifty times in a batch; its older one through
`FileSystem` does so twice. Both write aside and rename. Elsewhere than on a local disk the older
one may not replace a file, and no program is started by either.
"""

from typing import Any, Final

from py4j.java_gateway import JavaClass
from pyspark.sql import SparkSession

from processor_runtime.spark.checkpoint_files import CheckpointFiles

SETTING: Final = "spark.sql.streaming.checkpointFileManagerClass"
_CLASS: Final = "FileSystemBasedCheckpointFileManager"
_PACKAGE: Final = "org.apache.spark.sql.execution.streaming.checkpointing"


def write_directly(spark: SparkSession, files: CheckpointFiles) -> None:
    """Let queries of this session write a local checkpoint so; a class that was chosen is kept."""
    chosen = spark.conf.get(SETTING, None)
    ours = f"{_PACKAGE}.{_CLASS}"
    if chosen not in {None, ours}:
        return
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark has no other way to ask for a class
    checkpointing = java.org.apache.spark.sql.execution.streaming.checkpointing
    if files.is_local and isinstance(getattr(checkpointing, _CLASS), JavaClass):
        spark.conf.set(SETTING, ours)
    elif chosen is not None:
        spark.conf.unset(SETTING)
