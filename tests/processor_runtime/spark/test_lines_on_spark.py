"""A job that writes JSON Lines only is given lines by its workers: the same as Spark writes."""

from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import DataFrame, SparkSession

from cep.compiling import is_ready
from processor_runtime.rows.line_files import BatchLines
from processor_runtime.rows.output_rows import SCHEMA
from processor_runtime.rows.row_columns import LINES
from processor_runtime.spark import line_routes
from processor_runtime.spark.plan.stages import STATUS
from processor_runtime.spark.sinks.job_outputs import JobOutputs
from tests.processor_runtime.paired_payments import SOURCE, put_payments
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import Row, written

pytestmark = pytest.mark.spark

EVENTS: Final = 2_000
MATCHES: Final = ["match"]


def run(
    spark: SparkSession, folder: Path, outputs: list[Mapping[str, Any]], file_count: int = 1
) -> list[Row]:
    """Return the matches that a job writes, in order, without what differs from run to run."""
    put_payments(folder, file_count, EVENTS // file_count)
    source = SOURCE | {"path": str(folder / "in")}
    given = [{"type": "json", "path": str(folder / "out"), **output} for output in outputs]
    keys: dict[str, Any] = {
        "trigger": {"available_now": True, "close_at_end": True},
        "outputs": given,
    }
    job(spark, folder, stream="payments", source=source, **keys).run()
    rows = [
        {name: value for name, value in row.items() if name != "epoch"} for row in written(folder)
    ]
    return sorted(rows, key=itemgetter("match_id"))


def test_a_job_writes_the_lines_of_its_workers_as_spark_would(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_ready("cep.nfa_kernel"):
        pytest.skip("rules run in Python until they are compiled, see `make prepare`")
    chunks: list[int] = []
    in_hand: list[int] = []
    in_files: list[int] = []
    write = JobOutputs.write

    def watched(
        self: JobOutputs, rows: DataFrame, batch_id: int, row_counts: Any, lines: BatchLines
    ) -> None:
        are_lines = f"{LINES} IS NOT NULL AND kind <> '{STATUS}'"
        chunks.append(rows.where(are_lines).count())
        in_hand.append(sum(map(len, lines.in_hand)))
        in_files.append(sum(lines.files.values()))
        write(self, rows, batch_id, row_counts, lines)

    monkeypatch.setattr(JobOutputs, "write", watched)
    lines = run(spark, tmp_path / "lines", [{"kinds": MATCHES}])
    assert (max(chunks), max(in_hand) > 0) == (0, True)
    assert list((tmp_path / "lines" / "out").glob("batch=*/lines.json"))
    assert max(in_files) == 0
    in_hand.clear()
    # Where the directory is known to be the job's, its workers write files.
    files = run(spark, tmp_path / "files", [{"kinds": MATCHES}], file_count=4)
    assert (max(chunks), max(in_files) > EVENTS / 4) == (0, True)
    out = tmp_path / "files" / "out"
    assert list(out.glob("batch=*/lines-00000.json"))
    assert not list(out.glob("_percept/lines/*"))
    in_files.clear()
    in_hand.clear()
    # Two outputs have lines of their own.
    also = {"name": "also", "path": str(tmp_path / "also"), "kinds": [*MATCHES]}
    twice = run(spark, tmp_path / "twice", [{"kinds": MATCHES}, also], file_count=4)
    assert (max(in_files), max(in_hand) > 0) == (0, True)
    in_hand.clear()
    # Too many for this process to write.
    monkeypatch.setattr(line_routes, "_MOST_BYTES_IN_HAND", 10_000)
    many = run(spark, tmp_path / "many", [{"kinds": MATCHES}])
    assert (max(chunks) > 0, max(in_hand)) == (True, 0)
    chunks.clear()
    # A codec is one of Spark's tasks.
    packed = run(spark, tmp_path / "gz", [{"kinds": MATCHES, "options": {"compression": "none"}}])
    assert (max(chunks) > 0, max(in_hand)) == (True, 0)
    chunks.clear()
    # An option of the writer leaves the lines to Spark.
    rows = run(spark, tmp_path / "rows", [{"kinds": MATCHES, "options": {"lineSep": "\n"}}])
    assert (max(chunks), max(in_hand)) == (0, 0)
    assert lines == rows
    assert files == rows
    assert twice == rows
    assert many == rows
    assert packed == rows
    assert len(lines) > EVENTS / 2
    assert {row["processor_id"] for row in lines} == {"pair-0", "pair-1", "pair-2"}
    assert set(lines[0]) < {*SCHEMA.names(), "start_time", "end_time"}
