"""Files as Spark hands them over: their place, or their content; and what cannot be read."""

import gzip
import io
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from pyarrow import parquet

from processor_runtime.sources.csv_lines import CsvLines
from processor_runtime.sources.event_frames import EventFrames
from processor_runtime.sources.file_events import FileEvents
from processor_runtime.sources.parquet_rows import ParquetRows
from processor_runtime.sources.values import FileReader, UnreadableFile

COLUMNS: Final = pa.schema([("n", pa.int64()), ("day", pa.string()), ("ts", pa.int64())])
READERS: Final[dict[str, FileReader]] = {
    "csv": CsvLines(COLUMNS, has_header=True),
    "parquet": ParquetRows(COLUMNS),
}
FILES: Final = pa.schema([("path", pa.string()), ("length", pa.int64()), ("content", pa.binary())])


def content(form: str) -> bytes:
    if form == "csv":
        return b"ts,n\n1000,1\n2000,2\n"
    target = io.BytesIO()
    parquet.write_table(pa.table({"ts": [1000, 2000], "n": [1, 2]}), target)
    return target.getvalue()


def read(form: str, path: str | None, length: int, of: bytes | None, **keys: Any) -> list[Any]:
    """Return the events of one file."""
    file = {"path": path, "length": length, "content": of}
    events = FileEvents(READERS[form], EventFrames.of_schema(COLUMNS, "ts"), **keys)
    frames = events([pa.RecordBatch.from_pylist([file], schema=FILES)], lambda: 10_000)
    return [row for frame in frames for row in frame.to_dicts()]


@pytest.mark.parametrize("form", READERS)
def test_a_file_is_read_by_its_place_or_its_content(form: str, tmp_path: Path) -> None:
    folder = tmp_path / "day=x y"
    folder.mkdir()
    (folder / "a%20é.x").write_bytes(content(form))
    local = read(form, f"file:{folder}/a%20é.x", len(content(form)), None)
    away = read(form, "s3a://bucket/day=x%20y/a.x", len(content(form)), content(form))
    assert local == away
    assert [(row["n"], row["day"], row["ts"]) for row in local] == [
        (1, "x y", 1000),
        (2, "x y", 2000),
    ]


def test_a_compressed_file_is_read() -> None:
    zipped = gzip.compress(content("csv")) + gzip.compress(b"3000,x\n")
    *_, bad = read("csv", "s3a://bucket/day=1/a.csv.gz", len(zipped), zipped)
    assert '"file":"s3a://bucket/day=1/a.csv.gz"' in bad["_malformed"].replace(": ", ":")


@pytest.mark.parametrize("form", READERS)
def test_a_file_that_cannot_be_read_is_named_or_left(form: str) -> None:
    half = b"ts,other\n" if form == "csv" else content(form)[:-9]
    with pytest.raises(UnreadableFile, match=r"s3a://b/a\.x: "):
        read(form, "s3a://b/a.x", len(half), half)
    (row,) = read(form, "s3a://b/a.x", len(half), half, skips_corrupt=True)
    assert "the rest of the file cannot be read" in row["_malformed"]
