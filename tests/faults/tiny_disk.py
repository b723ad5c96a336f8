"""A file system of a few megabytes in memory, to be filled to the last byte and emptied again."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

_PART = bytes(4_096)


@dataclass
class TinyDisk:
    """A directory with a file system of its own."""

    path: Path

    @property
    def _filler(self) -> Path:
        return self.path / "filler"

    def fill(self, *, spare_bytes: int = 0) -> None:
        """Leave room for so many bytes and no more."""
        spare = self.path / "spare"
        spare.write_bytes(bytes(spare_bytes))
        with self._filler.open("ab", buffering=0) as filler:
            for part in (_PART, b"\0"):
                try:
                    while True:
                        filler.write(part)
                except OSError:
                    continue
        spare.unlink()

    def make_room(self) -> None:
        self._filler.unlink()


@contextmanager
def tiny_disk(path: Path, megabytes: int) -> Iterator[TinyDisk]:
    """Mount a file system; skips the test where this is not allowed."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path)]
    try:
        mounted = subprocess.run(mount, check=False, capture_output=True, text=True)  # noqa: S603
    except OSError as error:
        pytest.skip(f"a full disk needs mount: {error}")
    if mounted.returncode:
        who = "" if os.geteuid() == 0 else ", which only root may do"
        pytest.skip(f"a full disk needs a mount{who}: {mounted.stderr.strip()}")
    try:
        yield TinyDisk(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)  # noqa: S603, S607
