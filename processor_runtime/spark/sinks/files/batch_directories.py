"""Publishes each batch as one complete directory, `batch=<id>`, also after a crash.

    write aside ──► _percept/writing/batch=17 ──rename──► batch=17
    again after a crash: the one before ──rename──► _percept/replaced/batch=17 ──► deleted

Readers skip names that begin with an underscore. A rename is atomic on local disks, HDFS and stores
with directories; on others, such as S3, it is a copy.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from processor_runtime.rows.line_route import LineDirectory
from processor_runtime.spark.sinks.files.directory import HadoopDirectory

_OWN: Final = "_percept"
_OWNER: Final = f"{_OWN}/owner.json"
_WRITING: Final = f"{_OWN}/writing"
_LINES: Final = f"{_OWN}/lines"
_REPLACED: Final = f"{_OWN}/replaced"


class DirectoryTaken(RuntimeError):
    """The directory has batches of another checkpoint or output."""


class BatchDirectories:
    """The batches of one output of one checkpoint, below one directory.

    `owner`: identifies this output of this checkpoint. Batches of another checkpoint have the same
    numbers, and would be replaced.
    """

    def __init__(self, directory: HadoopDirectory, owner: dict[str, str]) -> None:
        self._directory = directory
        self._owner = owner
        self._is_ours = False

    def publish(self, batch_id: int, write: Callable[[str], None] | None) -> None:
        """Write a batch, replacing what an earlier attempt may have left.

        `write`: writes everything below the URI it is given; `None` = the batch is empty and is to
        have no directory.

        Raises:
            DirectoryTaken: the directory belongs to another job, output or checkpoint; nothing was
                written.
        """
        is_first = not self._is_ours
        if is_first:
            self._claim()
        if write is None and not is_first:
            return
        name = f"batch={batch_id}"
        writing, replaced = f"{_WRITING}/{name}", f"{_REPLACED}/{name}"
        if write is not None:
            write(self._directory.uri(writing))
            # All may have been removed since; the next start must find that batches are its own.
            self._sign()
        # Only the first batch after a start may have been written before; checking costs little.
        if self._directory.exists(name):
            self._directory.rename(name, replaced)
        if write is not None:
            self._directory.rename(writing, name)
        self._directory.delete(replaced)

    @staticmethod
    def line_directory(directory: Path, owner: dict[str, str]) -> LineDirectory:
        """Return where files may be written that are to be moved into batches of this owner."""
        own = json.dumps(owner)
        return LineDirectory(str(directory / _LINES), str(directory / _OWNER), own)

    def _claim(self) -> None:
        if self._directory.exists(_OWNER):
            found = json.loads(self._directory.read_text(_OWNER))
            if found != self._owner:
                raise DirectoryTaken(f"it has batches of {_owner_text(found)}, not of this job")
        elif any(name.startswith("batch=") for name in self._directory.names()):
            raise DirectoryTaken("it has batches, and nothing says that they are of this job")
        self._sign()
        # Left unfinished by a crash.
        self._directory.delete(_WRITING)
        self._directory.delete(_REPLACED)
        self._is_ours = True

    def _sign(self) -> None:
        if not self._directory.exists(_OWNER):
            self._directory.write_text(_OWNER, json.dumps(self._owner))


def _owner_text(owner: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in owner.items())
