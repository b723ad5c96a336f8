"""Lines that workers write to files are there as a whole, or are given to Spark."""

import resource
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest

from processor_runtime.output.line_files import LineFiles
from processor_runtime.output.row_columns import RowLines
from processor_runtime.rows.line_route import BatchLines, LineDirectory
from processor_runtime.rows.output_rows import OutputRow

LARGE: Final = 100_000


def lines(count: int, size: int = 20) -> RowLines:
    """Return lines, each of so many bytes with its end."""
    text = b"\n".join(b"%0*d" % (size - 1, number) for number in range(count))
    return RowLines("match", count, pa.py_buffer(text))


@pytest.fixture
def directory(tmp_path: Path) -> LineDirectory:
    (tmp_path / "owner.json").write_text("us")
    return LineDirectory(str(tmp_path / "lines"), str(tmp_path / "owner.json"), "us")


def content(files: LineFiles) -> list[int]:
    """Return how many lines are in each file, and check that so many are said to be."""
    told = files.close()
    found = {path: Path(path).read_text().count("\n") for path in told}
    assert found == dict(told)
    return sorted(found.values())


def test_lines_of_a_shard_are_in_files_of_a_limited_number(directory: LineDirectory) -> None:
    files = LineFiles(directory)
    for _ in range(5):
        assert not list(files.send(lines(40_000)))
    assert content(files) == [80_000, 120_000]
    assert len(BatchLines([b"a\nb"], files.close())) == 200_002


def test_rows_go_on_as_they_are(directory: LineDirectory) -> None:
    rows = [OutputRow("late")]
    files = LineFiles(directory)
    assert list(files.send(rows)) == [rows]
    assert files.close() == {}
    assert not Path(directory.path).exists()


@pytest.mark.parametrize("obstacle", ["owned by them", "owned by nobody", "a file"])
def test_all_goes_on_where_nothing_can_be_written(directory: LineDirectory, obstacle: str) -> None:
    match obstacle:
        case "owned by them":
            Path(directory.owner_path).write_text("them")
        case "owned by nobody":
            Path(directory.owner_path).unlink()
        case _:
            Path(directory.path).write_text("a file")
    files, some = LineFiles(directory), lines(3)
    assert list(files.send(some)) == [some]
    assert files.close() == {}
    assert not Path(directory.path).is_dir()


@pytest.mark.parametrize("size", [2 * LARGE, 20 * LARGE])
def test_what_cannot_be_written_goes_on_and_so_does_everything_after_it(
    directory: LineDirectory, size: int
) -> None:
    files = LineFiles(directory)
    few, many = lines(10), lines(size // 20)
    assert not list(files.send(few))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # A full disk, too, takes the beginning of what it is given.
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGE, before[1]))
    try:
        assert list(files.send(many)) == [many]
        assert list(files.send(few)) == [few]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert content(files) == [10]
