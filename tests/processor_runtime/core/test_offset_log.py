"""What is read from Spark's logs: positions, files; what is changed in them: sources of ticks."""

import json

import pytest

from processor_runtime.driver.offset_log import files_of_batch, fit_sources, planned_batch
from processor_runtime.schedule.batch_clock import NO_WATERMARK_MS
from tests.processor_runtime.core.pipeline import DictFiles

TIME = b'{"batchWatermarkMs":900,"batchTimestampMs":1000,"conf":{}}'


def offsets(*batches: bytes) -> DictFiles:
    """Return a checkpoint with the positions of these batches, sources parted by blanks."""
    files = DictFiles()
    for number, positions in enumerate(batches):
        content = b"\n".join([b"v1", TIME, *positions.split(b" ")])
        files.write(f"offsets/{number}", content)
    return files


@pytest.mark.parametrize(
    ("before", "now", "reads"),
    [
        (b'{"logOffset":1} 7', b'{"logOffset":2} 7', {"events"}),
        (b'{"logOffset":1} 7', b'{"logOffset":1} 8', {"tick"}),
        (b'{"logOffset":1} 7', b'{"logOffset":2} 8', {"events", "tick"}),
        (b'{"logOffset":1} 7', b'{"logOffset":1} 7', set()),
        (b"- -", b"- 7", {"tick"}),
        (b"- 7", b'{"logOffset":0} 7', {"events"}),
    ],
)
def test_a_source_is_read_where_its_position_moves(
    before: bytes, now: bytes, reads: set[str]
) -> None:
    start = planned_batch(offsets(before, now), 1, has_ticks=True)
    assert (any(start.reads), start.has_tick) == ("events" in reads, "tick" in reads)
    assert (start.batch_id, start.watermark_ms, start.processing_time_ms) == (1, 900, 1_000)


def test_the_first_batch_reads_what_has_a_position() -> None:
    assert planned_batch(offsets(b"- 0"), 0, has_ticks=True).reads == (False,)
    assert planned_batch(offsets(b"0 -"), 0, has_ticks=True).reads == (True,)
    assert planned_batch(offsets(b"0"), 0, has_ticks=False).reads == (True,)
    assert planned_batch(offsets(b"0"), 0, has_ticks=False).has_tick is False


def test_before_the_first_event_there_is_no_watermark() -> None:
    files = offsets(b"0")
    files["offsets/0"] = files["offsets/0"].replace(b"900", b"0")
    assert planned_batch(files, 0, has_ticks=False).watermark_ms == NO_WATERMARK_MS


def test_a_batch_that_is_not_planned_is_told() -> None:
    with pytest.raises(LookupError, match="no offsets/3"):
        planned_batch(offsets(b"0"), 3, has_ticks=False)


def test_only_what_spark_reads_at_a_start_is_changed_and_only_by_the_ticks() -> None:
    files = offsets(b"a", b"b", b"c")
    fit_sources(files, has_ticks=True)
    assert files == offsets(b"a", b"b -", b"c -")
    fit_sources(files, has_ticks=True)
    assert files == offsets(b"a", b"b -", b"c -")
    files = offsets(b"a 1", b"b 2", b"c 3")
    fit_sources(files, has_ticks=False)
    assert files == offsets(b"a 1", b"b", b"c")
    new = DictFiles()
    fit_sources(new, has_ticks=True)
    assert new == {}


def logged(*found: tuple[str, int]) -> bytes:
    """Return an entry of the log of a source of files: paths, and the batches they are of."""
    lines = [json.dumps({"path": path, "timestamp": 5, "batchId": n}) for path, n in found]
    return "\n".join(["v1", *lines]).encode()


def test_the_files_of_a_batch_are_those_logged_since_the_batch_before() -> None:
    files = offsets(b'{"logOffset":0}', b'{"logOffset":0}', b'{"logOffset":2}')
    files.write("sources/0/0", logged(("file:///in/a%20b%25.json", 0)))
    files.write("sources/0/1", logged(("file:///in/c", 1)))
    compact = logged(("file:///in/a", 0), ("file:///in/c", 1), ("file:///in/d", 2))
    files.write("sources/0/2.compact", compact)
    assert files_of_batch(files, 0) == ["file:///in/a b%.json"]
    assert files_of_batch(files, 1) == []
    assert files_of_batch(files, 2) == ["file:///in/c", "file:///in/d"]


def test_a_source_of_files_that_has_read_nothing_yet_has_no_position() -> None:
    files = offsets(b"-", b'{"logOffset":0}')
    files.write("sources/0/0", logged(("file:///in/a", 0)))
    assert files_of_batch(files, 0) == []
    assert files_of_batch(files, 1) == ["file:///in/a"]
