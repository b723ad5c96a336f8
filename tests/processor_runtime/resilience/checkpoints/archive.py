"""A job that was stopped half-way, in one file: its checkpoint, source, rules, output and job file.

folder ──pack──► archive, without traces of where it was made ──unpack──► folder, to go on there

What is in it: see README.md.
"""

import base64
import gzip
import io
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

ENVIRONMENT: Final[Mapping[str, str]] = {
    # A key for tests only: rules with Python code are in the archives, signed with it.
    "PERCEPT_SIGNING_KEYS": f"test:{base64.urlsafe_b64encode(b'k' * 32).decode()}"
}
_CONTENTS: Final = (
    "checkpoint",
    "in",
    "job.yaml",
    "later",
    "made.json",
    "out",
    "rules",
    "rules-at-once",
)
_REPOSITORY: Final = Path(__file__).parents[4]
_ANY_FOLDER: Final = "/percept-job"
"""Stands for the folder of the job where Spark has written absolute paths."""
_WITH_PATHS: Final = ("checkpoint/sources/*/*", "checkpoint/state/*/_metadata/*/*")
"""Where Spark does: in the log of files it has read, and where the schema of a state is."""


def pack(folder: Path, archive: Path) -> None:
    """Write the archive of a job; the same folder always gives the same bytes.

    Args:
        folder: of the job, which has ended. Checksums of Hadoop's local files are left out.
        archive: what to write.
    """
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as target:
        for path in _files(folder):
            name = path.relative_to(folder).as_posix()
            content = path.read_bytes()
            if _has_paths(folder, path):
                content = content.replace(str(folder).encode(), _ANY_FOLDER.encode())
            if any(str(place).encode() in content for place in (folder, _REPOSITORY)):
                raise ValueError(f"{name} tells where it was made, and unpack does not know of it")
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.mtime = int(path.stat().st_mtime) if _is_dated(folder, path) else 0
            target.addfile(info, io.BytesIO(content))
    archive.write_bytes(gzip.compress(tar.getvalue(), mtime=0))


def unpack(archive: Path, folder: Path) -> None:
    """Put a job where it can go on: in a folder that exists, with the paths of there."""
    with tarfile.open(archive) as source:
        source.extractall(folder, filter="data")
    for path in _files(folder):
        if _has_paths(folder, path):
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(_ANY_FOLDER, str(folder)), encoding="utf-8")


def _files(folder: Path) -> Iterator[Path]:
    for name in _CONTENTS:
        whole = folder / name
        found = [whole] if whole.is_file() else sorted(whole.rglob("*"))
        yield from (path for path in found if path.is_file() and path.suffix != ".crc")


def _has_paths(folder: Path, path: Path) -> bool:
    return any(path.relative_to(folder).match(pattern) for pattern in _WITH_PATHS)


def _is_dated(folder: Path, path: Path) -> bool:
    """Whether the time of a file counts: Spark reads files in the order of their times."""
    return path.parent in {folder / "in", folder / "later"}
