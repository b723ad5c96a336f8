"""What Spark writes its files of a checkpoint with."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from processor_runtime.spark.checkpoint_files import CheckpointFiles
from processor_runtime.spark.checkpoint_writer import SETTING, write_directly

_JAVA = "org.apache.spark.sql.execution.streaming.checkpointing"


@pytest.fixture(autouse=True)
def as_before(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(SETTING, None)
    spark.conf.unset(SETTING)
    yield
    if before is None:
        spark.conf.unset(SETTING)
    else:
        spark.conf.set(SETTING, before)


def writer_of(spark: SparkSession, checkpoint: Path) -> Any:
    """Return what a query of the session would write with."""
    java: Any = spark.sparkContext._jvm
    session: Any = spark._jsparkSession
    path = java.org.apache.hadoop.fs.Path(str(checkpoint))
    managers = java.org.apache.spark.sql.execution.streaming.checkpointing
    return managers.CheckpointFileManager.create(path, session.sessionState().newHadoopConf())


def name_of(writer: Any) -> str:
    return str(writer.getClass().getName())


def test_a_local_checkpoint_is_written_directly(spark: SparkSession, tmp_path: Path) -> None:
    files = CheckpointFiles(spark, str(tmp_path))
    assert files.is_local
    assert name_of(writer_of(spark, tmp_path)) == f"{_JAVA}.FileContextBasedCheckpointFileManager"
    write_directly(spark, files)
    writer = writer_of(spark, tmp_path)
    assert name_of(writer) == f"{_JAVA}.FileSystemBasedCheckpointFileManager"
    java: Any = spark.sparkContext._jvm
    target = java.org.apache.hadoop.fs.Path(str(tmp_path / "file"))
    for content in (b"one", b"two"):
        stream = writer.createAtomic(target, True)  # noqa: FBT003 - Java has no names: overwrite
        stream.write(bytearray(content))
        assert (tmp_path / "file").exists() == (content == b"two")  # it is whole, or not there
        stream.close()
        assert (tmp_path / "file").read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == [".file.crc", "file"]


def test_a_class_that_was_chosen_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    chosen = f"{_JAVA}.FileContextBasedCheckpointFileManager"
    spark.conf.set(SETTING, chosen)
    write_directly(spark, CheckpointFiles(spark, str(tmp_path)))
    assert spark.conf.get(SETTING) == chosen


def test_other_file_systems_are_written_as_spark_does(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = CheckpointFiles(spark, str(tmp_path))
    write_directly(spark, files)
    assert spark.conf.get(SETTING, None) is not None
    java: Any = spark.sparkContext._jvm
    monkeypatch.setattr(files, "_files", java.org.apache.hadoop.fs.RawLocalFileSystem())
    assert not files.is_local
    write_directly(spark, files)
    assert spark.conf.get(SETTING, None) is None
