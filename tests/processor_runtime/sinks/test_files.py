"""Files are there once per batch, whole or not at all, whatever happens when."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from processor_runtime.rows.line_route import BatchLines, LineRoute
from processor_runtime.spark.line_routes import line_route
from processor_runtime.spark.sinks import OutputFailed, create_sinks
from processor_runtime.spark.sinks.files.batch_directories import BatchDirectories, DirectoryTaken
from processor_runtime.spark.sinks.files.directory import HadoopDirectory
from processor_runtime.spark.sinks.files.sink import FileSink
from tests.processor_runtime.sinks.rows import (
    START_MS,
    Frame,
    error,
    files_in,
    late,
    match,
    output,
    surroundings,
)


def sink(kind: str, path: Path, checkpoint_id: str = "checkpoint-1", **options: Any) -> FileSink:
    return FileSink(output(type=kind, path=str(path), **options), surroundings(checkpoint_id))


def lines(path: Path) -> list[dict[str, Any]]:
    texts = [file.read_text("utf-8") for file in sorted(path.glob("batch=*/*.json"))]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def matches_in(path: Path) -> list[int]:
    """Return the numbers of the matches that are there."""
    return sorted(int(line["match_id"], 16) for line in lines(path))


def test_a_line_of_json_has_the_columns_that_apply_and_json_in_them_as_it_is(
    frame: Frame, tmp_path: Path
) -> None:
    odd = '{"z":1.10,"a":12345678901234567890123,"text":"Ünï \\"quoted\\" \\n"}'
    rows = frame(match(output=odd))
    sink("json", tmp_path / "out").write(rows, 17, 1)
    sink("json", tmp_path / "all").write(frame(late(), error()), 18, 2)
    by_kind = {line["kind"]: line for line in lines(tmp_path / "all")}
    assert by_kind["late"]["events"] == {"user": "ana"}
    assert by_kind["error"]["error"]["traceback"] == "line 1\nline 2"
    assert "match_id" not in by_kind["late"]
    (file,) = (tmp_path / "out").glob("batch=17/*.json")
    assert file.read_text("utf-8") == (
        '{"kind":"match","processor_id":"failed-logins","version":2,"epoch":3,'
        f'"match_id":"{1:032x}","start_time":"2027-01-15T07:58:20.123Z",'
        '"end_time":"2027-01-15T07:58:21.123Z","start_ms":1799999900123,"end_ms":1799999901123,'
        f'"key":["eve"],"output":{odd},"events":{{"fail":[{{"user":"eve"}}]}}}}\n'
    )


def test_lines_are_written_beside_rows_or_alone(frame: Frame, tmp_path: Path) -> None:
    written = sink("json", tmp_path)
    few = [b'{"kind":"match","key":["\xc3\xa9"]}\n{"kind":"match"}', b'{"kind":"match","n":3}']
    written.write(frame(late()), 0, 1, BatchLines(few))
    written.write(frame(), 1, 0, BatchLines(few[1:]))
    written.write(frame(), 2, 0)
    assert files_in(tmp_path, "batch=2/*") == []
    assert (tmp_path / "batch=1" / "lines.json").read_bytes() == few[1] + b"\n"
    assert [line["kind"] for line in lines(tmp_path)] == ["match"] * 3 + ["late", "match"]
    assert lines(tmp_path)[0]["key"] == ["é"]
    # Written again after a crash, it is there once.
    again = sink("json", tmp_path)
    again.write(frame(), 1, 0, BatchLines(few[1:]))
    assert len(lines(tmp_path)) == 5


def test_files_of_lines_are_moved_and_those_of_failed_attempts_deleted(
    spark: SparkSession, frame: Frame, tmp_path: Path
) -> None:
    path = tmp_path / "an output, ü"
    written = sink("json", path)
    directory = written.line_directory(spark)
    assert directory is not None
    assert not directory.is_ours()
    aside = Path(directory.path)
    aside.mkdir(parents=True)
    (aside / "left.json").write_text("of a start that was cut off")
    written.write(frame(late()), 0, 1)
    assert directory.is_ours()
    assert not aside.exists()
    aside.mkdir()
    counts = {str(aside / f"{name}.json"): name for name in (1, 2)}
    for name in (1, 2, 3):
        (aside / f"{name}.json").write_text('{"kind":"match"}\n' * name)
    written.write(frame(late()), 1, 1, BatchLines(files=counts))
    assert sorted(line["kind"] for line in lines(path)) == ["late"] * 2 + ["match"] * 3
    moved = [f"batch=1/lines-0000{number}.json" for number in (0, 1)]
    assert files_in(path, "batch=1/lines*") == moved
    # Another start may have begun to write there.
    assert [path.name for path in aside.iterdir()] == ["3.json"]
    # In the directory of another job none are written.
    other = sink("json", path, "checkpoint-2").line_directory(spark)
    assert other is not None
    assert not other.is_ours()


def told_of(frame: Frame, path: Path, lines: BatchLines) -> str:
    with create_sinks([output(type="json", path=str(path))], surroundings()) as outputs:
        with pytest.raises(OutputFailed) as failed:
            outputs.write(frame(), 0, {"match": 1}, lines)
        return str(failed.value)


def test_a_directory_that_cannot_be_written_to_and_lines_that_are_gone_are_named(
    frame: Frame, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    below = tmp_path / "file" / "out"
    told = told_of(frame, below, BatchLines([b"{}"]))
    assert f"{tmp_path}/file" in told
    assert f"Look at {below}: whether the job may write there" in told
    gone = tmp_path / "_percept" / "lines" / "gone.json"
    told = told_of(frame, tmp_path, BatchLines(files={str(gone): 1}))
    assert f"{gone} was removed while the job ran" in told
    assert "written again, as a whole, when the job is started again" in told


@pytest.mark.long
def test_options_of_sparks_writer_and_other_file_systems_leave_lines_to_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    def route(*given: dict[str, Any]) -> LineRoute:
        outputs = [output(type="json", name=f"o{n}", **one) for n, one in enumerate(given)]
        with create_sinks(outputs, surroundings()) as sinks:
            return line_route(spark, sinks, 2)

    here, there = str(tmp_path / "out"), "hdfs://nowhere.invalid:9/out"
    matches = {"path": here, "kinds": ["match"]}
    found = route(matches, {"path": there, "kinds": ["late"]})
    assert found.directory is not None
    assert found.directory.path.startswith(here)
    assert route(matches, {"path": f"{here}2", "kinds": ["match"]}).directory is None
    assert route({"path": there, "kinds": ["match"]}).directory is None
    assert route(matches).most_bytes_in_hand > 0
    assert route(matches | {"options": {"compression": "gzip"}}) == LineRoute()


def test_parquet_is_read_by_others_with_times_and_the_batch(frame: Frame, tmp_path: Path) -> None:
    written = sink("parquet", tmp_path)
    written.write(frame(match(1)), 0, 1)
    written.write(frame(match(2), late()), 1, 2)
    query = """
        SELECT batch, kind, start_time, end_ms, output ->> 'failures'
        FROM read_parquet(?, hive_partitioning = true)
        ORDER BY batch, kind
    """
    with duckdb.connect() as connection:
        found = connection.execute(query, [f"{tmp_path}/batch=*/*.parquet"]).fetchall()
    start = datetime.fromtimestamp(START_MS / 1000, UTC)
    assert [(batch, kind, end_ms, n) for batch, kind, _, end_ms, n in found] == [
        (0, "match", START_MS + 1_000, "1"),
        (1, "late", START_MS, None),
        (1, "match", START_MS + 2_000, "2"),
    ]
    assert all(time.replace(tzinfo=UTC) == start for _, _, time, _, _ in found)


def test_a_batch_that_is_written_again_is_there_once(frame: Frame, tmp_path: Path) -> None:
    sink("json", tmp_path).write(frame(match(1), match(2)), 5, 2)
    restarted = sink("json", tmp_path)
    restarted.write(frame(match(1), match(2)), 5, 2)
    restarted.write(frame(match(3)), 6, 1)
    assert matches_in(tmp_path) == [1, 2, 3]


@pytest.mark.long
def test_an_empty_batch_makes_no_files(frame: Frame, tmp_path: Path) -> None:
    written = sink("parquet", tmp_path)
    written.write(frame(), 0, 0)
    written.write(frame(), 1, 0)
    assert files_in(tmp_path, "batch=*") == []


@pytest.mark.long
def test_options_of_the_writer_are_those_of_the_job_file_and_a_path_may_be_a_uri_with_blanks(
    frame: Frame, tmp_path: Path
) -> None:
    options, folder = {"compression": "gzip"}, tmp_path / "of main"
    packed = output(type="json", path=f"file://{folder}", options=options)
    FileSink(packed, surroundings()).write(frame(match()), 0, 1)
    (name,) = files_in(folder, "batch=*/part-*")
    assert name.endswith(".json.gz")


@pytest.mark.long
def test_a_large_batch_is_written_by_more_than_one_task(
    frame: Frame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("processor_runtime.spark.sinks.files.sink.ROWS_PER_FILE", 5)
    rows = frame(*map(match, range(10))).repartition(4)
    sink("json", tmp_path).write(rows, 0, 10)
    assert len(files_in(tmp_path, "batch=0/*.json")) == 2
    assert len(lines(tmp_path)) == 10


def test_a_directory_that_is_removed_is_made_again_as_ours(frame: Frame, tmp_path: Path) -> None:
    running = sink("json", tmp_path)
    running.write(frame(match(1)), 0, 1)
    shutil.rmtree(tmp_path)
    running.write(frame(match(2)), 1, 1)
    sink("json", tmp_path).write(frame(match(3)), 2, 1)
    assert matches_in(tmp_path) == [2, 3]


def test_a_new_checkpoint_does_not_replace_batches_of_another(frame: Frame, tmp_path: Path) -> None:
    sink("json", tmp_path, "checkpoint-1").write(frame(match(1)), 0, 1)
    with pytest.raises(DirectoryTaken, match="batches of job main, output json, checkpoint checkp"):
        sink("json", tmp_path, "checkpoint-2").write(frame(match(2)), 0, 1)
    assert matches_in(tmp_path) == [1]
    # Those of nobody are left alone as well.
    (tmp_path / "nobodys" / "batch=0").mkdir(parents=True)
    with pytest.raises(DirectoryTaken, match="nothing says that they are of this job"):
        sink("json", tmp_path / "nobodys").write(frame(match()), 0, 1)
    assert files_in(tmp_path / "nobodys", "*") == ["batch=0"]


class Crash(Exception):
    """The driver has died."""


class CrashingDirectory(HadoopDirectory):
    """A directory whose n-th change, and every one after it, is not made."""

    def __init__(self, spark: SparkSession, path: str, changes: int) -> None:
        super().__init__(spark, path)
        self.changes_left = changes

    def change(self) -> None:
        if self.changes_left == 0:
            raise Crash
        self.changes_left -= 1

    def delete(self, name: str) -> None:
        self.change()
        super().delete(name)

    def rename(self, name: str, new_name: str) -> None:
        self.change()
        super().rename(name, new_name)


def publish(directory: HadoopDirectory) -> None:
    """Publish batch 7, which has two files."""

    def write(uri: str) -> None:
        folder = Path(uri.removeprefix("file:"))
        folder.mkdir(parents=True)
        (folder / "part-0").touch()
        if isinstance(directory, CrashingDirectory):
            directory.change()  # a crash between two files
        (folder / "part-1").touch()

    BatchDirectories(directory, {"job": "main"}).publish(7, write)


@pytest.mark.parametrize("tries_before", [0, pytest.param(1, marks=pytest.mark.long)])
def test_wherever_it_crashes_readers_see_whole_batches_and_a_second_try_mends_all(
    spark: SparkSession, tmp_path: Path, tries_before: int
) -> None:
    crashes = 0
    for changes in range(12):
        root = tmp_path / str(changes)
        whole = HadoopDirectory(spark, str(root))
        for _ in range(tries_before):
            publish(whole)
        try:
            publish(CrashingDirectory(spark, str(root), changes))
        except Crash:
            crashes += 1
        assert files_in(root, "batch=*/part-*") in ([], ["batch=7/part-0", "batch=7/part-1"])
        publish(whole)
        assert files_in(root, "**/part-*") == ["batch=7/part-0", "batch=7/part-1"]
    assert 4 <= crashes < 12  # the last ones had nothing left to crash at


@pytest.mark.long
def test_what_a_crash_left_of_a_batch_now_empty_is_removed(frame: Frame, tmp_path: Path) -> None:
    half = tmp_path / "_percept" / "writing" / "batch=3"
    sink("json", tmp_path).write(frame(match()), 2, 1)
    half.mkdir(parents=True)
    (half / "part-0").touch()
    sink("json", tmp_path).write(frame(), 3, 0)
    assert files_in(tmp_path, "_percept/*") == ["_percept/.owner.json.crc", "_percept/owner.json"]
