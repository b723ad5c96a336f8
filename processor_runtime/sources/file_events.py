"""Events in files: the first stage reads those that Spark has listed.

    rows (path, length, content) ──FileReader──► frames of events

Spark hands over the place of a file on the machines of the job, and the content of all others, so
that any file system that Spark knows will do.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO, Final, cast

import polars as pl
import pyarrow as pa

from processor_runtime.sources.directories import directory_texts
from processor_runtime.sources.event_frames import EventFrames, malformed_text
from processor_runtime.sources.values import Decoded, FileReader, Malformed, UnreadableFile

LOCAL: Final = "file:"
"""In front of the paths of a machine's own files, in URIs."""
_CODECS: Final = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}


@dataclass(frozen=True, slots=True)
class FileEvents:
    """Reads the events of files.

    Args:
        files: how they are read.
        frames: gives events their time.
        skips_corrupt: whether a file that cannot be read is left there, with a malformed row, as
            Spark's option `ignoreCorruptFiles` says.
    """

    files: FileReader
    frames: EventFrames
    skips_corrupt: bool = False

    def __call__(
        self, batches: Iterable[pa.RecordBatch], now_ms: Callable[[], int]
    ) -> Iterator[pl.DataFrame]:
        """Yield events; see `EventReader`.

        `batches`: columns `path`, `length` and `content`, of which the last may be null.

        Raises:
            UnreadableFile: a file cannot be read; says which, and why.
        """
        for batch in batches:
            for file in batch.to_pylist():
                for decoded in self._decoded(file["path"], file["length"], file["content"]):
                    place = {"file": file["path"]}
                    malformed = {
                        row: malformed_text(*why, place) for row, why in decoded.malformed.items()
                    }
                    yield self.frames.of(decoded.columns, now_ms(), malformed)

    def _decoded(self, uri: str, length: int, content: bytes | None) -> Iterator[Decoded]:
        try:
            with _opened(uri, content) as file:
                yield from self.files.read(*_decompressed(uri, file, length), directory_texts(uri))
        except (UnreadableFile, OSError, pa.ArrowException) as error:
            if not self.skips_corrupt:
                raise UnreadableFile(f"{uri}: {error}") from None
            # What was read of it stays.
            reason = f"the rest of the file cannot be read: {error}"
            yield Decoded(self.frames.nothing(1), {0: Malformed(reason, None)})


def _opened(uri: str, content: bytes | None) -> BinaryIO:
    if content is not None:
        return BytesIO(content)
    return open("/" + uri.removeprefix(LOCAL).lstrip("/"), "rb")  # noqa: PTH123 - as it is written


def _decompressed(uri: str, file: BinaryIO, length: int) -> tuple[BinaryIO, int]:
    """Return a file to read, and at most how many bytes of it."""
    codec = next((codec for suffix, codec in _CODECS.items() if uri.endswith(suffix)), None)
    if codec is None:
        return file, length
    stream = pa.CompressedInputStream(pa.BufferReader(file.read(length)), codec)
    return cast("BinaryIO", stream), sys.maxsize
