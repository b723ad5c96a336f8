"""The files of a checkpoint as they were written, or a refusal: damage is never read as something.

record, timeline, snapshot ──► CheckedFiles ──digest, content──► CheckpointFiles ──► <checkpoint>/…

Each of our files begins with a line that holds the digest of its name and of what follows, so one
that was altered, cut off or taken from elsewhere is noticed. Spark's own files have no such line.
"""

import hashlib
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

_SPARKS: Final = frozenset({"commits", "metadata", "offsets", "sources", "state"})
REMEDY: Final = (
    "restore the whole checkpoint from one backup, or choose a new directory and begin anew"
)


class CheckpointDamaged(ValueError):
    """A file of the checkpoint is missing, or is not as it was written; says which."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"checkpoint: {name} {what}; {REMEDY}")


class Files(Protocol):
    """The files of a checkpoint; see `spark.checkpoint_files.CheckpointFiles`."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, `None` if there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole."""

    def names(self, directory: str) -> list[str]:
        """Return the names of the files in a directory."""

    def delete(self, name: str) -> None:
        """Delete a file."""


Place = TypeVar("Place", bound=Files)


@dataclass(frozen=True, slots=True)
class CheckedFiles(Generic[Place]):
    """The files of a checkpoint, each checked when it is read."""

    files: Place

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, `None` if there is none.

        Raises:
            CheckpointDamaged: it is not as it was written.
        """
        data = self.files.read(name)
        if data is None or _is_sparks(name):
            return data
        return unsealed(name, data)

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole."""
        self.files.write(name, content if _is_sparks(name) else sealed(name, content))

    def names(self, directory: str) -> list[str]:
        """Return the names of the files in a directory."""
        return self.files.names(directory)

    def delete(self, name: str) -> None:
        """Delete a file."""
        self.files.delete(name)


def sealed(name: str, content: bytes) -> bytes:
    """Return a file of ours: a line with the digest of its name and content, and the content."""
    return _digest(name, content) + b"\n" + content


def unsealed(name: str, data: bytes) -> bytes:
    """Return the content of a file that `sealed` has made.

    Raises:
        CheckpointDamaged: it was altered, cut off, or made for another name.
    """
    digest, _, content = data.partition(b"\n")
    if digest != _digest(name, content):
        raise CheckpointDamaged(name, "is not as it was written")
    return content


def _is_sparks(name: str) -> bool:
    return name.partition("/")[0] in _SPARKS


def _digest(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + content).hexdigest().encode()


def required(files: Files, name: str) -> bytes:
    """Return the content of a file that has to be there.

    Raises:
        CheckpointDamaged: it is missing.
    """
    data = files.read(name)
    if data is None:
        raise CheckpointDamaged(name, "is missing")
    return data
