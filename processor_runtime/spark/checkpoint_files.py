"""Small files in the job's checkpoint, wherever that is: local, HDFS, S3.

pinning ──► CheckpointFiles ──Hadoop's file system, through the JVM──► <checkpoint>/…

Files are written under a temporary name and renamed, so that a reader finds a whole file or none.
"""

from typing import Any, Final
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from processor_runtime.driver.checked_files import CheckpointDamaged

LOCAL_FILES: Final = "org.apache.hadoop.fs.LocalFileSystem"


class CheckpointFiles:
    """The files of a checkpoint.

    Args:
        spark: the session, whose file systems and credentials are used.
        checkpoint: its directory, as a path or a URI.
    """

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        # The JVM side has no types in Python.
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark offers no other way to its file systems
        context: Any = spark.sparkContext._jsc  # noqa: SLF001 - as above
        self._path = jvm.org.apache.hadoop.fs.Path
        self._root = self._path(checkpoint)
        self._files = self._root.getFileSystem(context.hadoopConfiguration())
        self._read_fully = jvm.org.apache.commons.io.IOUtils.toByteArray

    @property
    def is_local(self) -> bool:
        """Whether they are on a local disk, and Hadoop's own class for it is in use.

        Its rename replaces a file in one step; that of Hive, which Spark takes otherwise, refuses.
        """
        name: str = self._files.getClass().getName()
        return name == LOCAL_FILES

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, `None` if it does not exist.

        `name`: relative to the checkpoint, such as `epochs/17`.

        Raises:
            CheckpointDamaged: it does not have the checksum that the file system keeps beside it.
        """
        path = self._path(self._root, name)
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        try:
            return bytes(self._read_fully(stream))
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() == "ChecksumException":
                raise CheckpointDamaged(name, "is not as it was written") from error
            raise
        finally:
            stream.close()

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically; an existing one is replaced."""
        target = self._path(self._root, name)
        aside = self._path(target.getParent(), f".{target.getName()}.{uuid4().hex}.tmp")
        stream = self._files.create(aside, True)  # noqa: FBT003 - Java has no names: overwrite
        try:
            stream.write(bytearray(content))
            # A crash of the machine must not leave a file that is renamed and empty.
            stream.hsync()
        finally:
            stream.close()
        if self._files.exists(target):
            self._files.delete(target, False)  # noqa: FBT003 - not recursively
        if not self._files.rename(aside, target):
            raise OSError(f"cannot write {target.toString()}: the file system does not rename")

    def names(self, directory: str) -> list[str]:
        """Return the names of the finished files in a directory, in any order."""
        path = self._path(self._root, directory)
        if not self._files.exists(path):
            return []
        found = [status.getPath().getName() for status in self._files.listStatus(path)]
        return [name for name in found if not name.startswith(".")]

    def delete(self, name: str) -> None:
        """Delete a file, if it exists."""
        self._files.delete(self._path(self._root, name), False)  # noqa: FBT003 - not recursively
