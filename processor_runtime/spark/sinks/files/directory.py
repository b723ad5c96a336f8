"""A directory on any file system that Spark can write to, through Hadoop's own interface."""

from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession

_ENCODING: Final = "UTF-8"


class RenameRefused(OSError):
    """The file system did not move a directory or file."""


class HadoopDirectory:
    """A directory, by its path or URI; names below are relative to it.

    Args:
        spark: the session, whose settings have the credentials.
        path: the directory, which need not exist.
    """

    def __init__(self, spark: SparkSession, path: str) -> None:
        java: Any = spark._jvm  # noqa: SLF001 - Hadoop's interface has no Python of its own
        hadoop = spark._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
        # Each dot is a call of Java.
        self._new_path = java.org.apache.hadoop.fs.Path
        self._java = java
        root = self._new_path(path)
        self._files = root.getFileSystem(hadoop)
        self._root = self._files.makeQualified(root)

    def uri(self, name: str) -> str:
        """Return the full address of something in the directory."""
        text: str = self._path(name).toString()
        return text

    @property
    def local_path(self) -> Path | None:
        """The directory if it is on a disk of this machine, as far as Hadoop knows."""
        text: str = self._root.toString()
        scheme, _, path = text.partition(":")
        return Path("/" + path.lstrip("/")) if scheme == "file" else None

    def exists(self, name: str) -> bool:
        """Return whether this name exists."""
        found: bool = self._files.exists(self._path(name))
        return found

    def names(self, name: str = "") -> list[str]:
        """Return the names in a directory, sorted; none if it does not exist."""
        path = self._path(name) if name else self._root
        if not self._files.exists(path):
            return []
        return sorted(status.getPath().getName() for status in self._files.listStatus(path))

    def delete(self, name: str) -> None:
        """Remove a file, or a directory with its content, if it exists."""
        self._files.delete(self._path(name), True)  # noqa: FBT003 - Java has no keywords

    def rename(self, name: str, new_name: str) -> None:
        """Move a file or directory to a new name; creates the parent directory if needed.

        Raises:
            RenameRefused: the name exists, or the file system refused.
        """
        target = self._path(new_name)
        # Hadoop would move into a directory that exists.
        if self._files.exists(target):
            raise RenameRefused(f"{target.toString()} exists already")
        self._files.mkdirs(target.getParent())
        if not self._files.rename(self._path(name), target):
            raise RenameRefused(f"could not rename {self.uri(name)} to {target.toString()}")

    def read_text(self, name: str) -> str:
        """Return the content of a small file."""
        stream = self._files.open(self._path(name))
        try:
            text: str = self._java.org.apache.commons.io.IOUtils.toString(stream, _ENCODING)
        finally:
            stream.close()
        return text

    def write_text(self, name: str, text: str) -> None:
        """Write a small new file as a whole."""
        aside = f"{name}.writing"
        stream = self._files.create(self._path(aside), True)  # noqa: FBT003 - as above
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        self.rename(aside, name)

    def write_new(self, name: str, content: bytes) -> None:
        """Write a new file, which readers may see before it is whole."""
        stream = self._files.create(self._path(name), False)  # noqa: FBT003 - do not overwrite
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    def _path(self, name: str) -> Any:
        return self._new_path(self._root, name)
