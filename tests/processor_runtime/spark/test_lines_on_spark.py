"""A job that writes JSON Lines only is given lines by its workers: the same as Spark writes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import DataFrame, SparkSession

from cep.compiling import is_ready
from processor_runtime.output.row_columns import LINES
from processor_runtime.rows.line_route import BatchLines
from processor_runtime.rows.output_rows import SCHEMA
from processor_runtime.spark import line_routes
from processor_runtime.spark.plan.stages import STATUS
from processor_runtime.spark.sinks.job_outputs import JobOutputs
from tests.processor_runtime.paired_payments import SOURCE, put_payments
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import Row, written

EVENTS: Final = 2_000
MATCHES: Final = ["match"]


def run(
    spark: SparkSession, folder: Path, outputs: list[Mapping[str, Any]], file_count: int = 1
) -> list[Row]:
    """Return the matches that a job writes, in order, without what differs from run to run."""
    put_payments(folder, file_count, EVENTS // file_count)
    source = SOURCE | {"path": str(folder / "in")}
    given = [{"type": "json", "path": str(folder / "out"), **output} for output in outputs]
    trigger = {"available_now": True, "close_at_end": True}
    job(spark, folder, stream="payments", source=source, trigger=trigger, outputs=given).run()
    return sorted((row | {"epoch": None} for row in written(folder)), key=itemgetter("match_id"))


@dataclass(slots=True)
class Ways:
    """How many lines there were in a batch at most, by the way on which they came to an output."""

    through_spark: int = 0
    in_hand: int = 0
    in_files: int = 0


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ways]:
    """Look at what outputs are given."""
    ways = Ways()
    write = JobOutputs.write

    def looked_at(
        self: JobOutputs, rows: DataFrame, batch_id: int, row_counts: Any, lines: BatchLines
    ) -> None:
        are_lines = f"{LINES} IS NOT NULL AND kind <> '{STATUS}'"
        ways.through_spark = max(ways.through_spark, rows.where(are_lines).count())
        ways.in_hand = max(ways.in_hand, sum(map(len, lines.in_hand)))
        ways.in_files = max(ways.in_files, sum(lines.files.values()))
        write(self, rows, batch_id, row_counts, lines)

    with monkeypatch.context() as patched:
        patched.setattr(JobOutputs, "write", looked_at)
        yield ways


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """The matches of a job that leaves the lines to Spark: an option of the writer says so."""
    if not is_ready("cep.nfa_kernel"):
        pytest.skip("rules run in Python until they are compiled, see `make prepare`")
    with pytest.MonkeyPatch.context() as monkeypatch, watched(monkeypatch) as ways:
        folder = tmp_path_factory.mktemp("rows")
        rows = run(spark, folder, [{"kinds": MATCHES, "options": {"lineSep": "\n"}}])
    assert ways == Ways()
    assert len(rows) > EVENTS / 2
    assert {row["processor_id"] for row in rows} == {"pair-0", "pair-1", "pair-2"}
    assert set(rows[0]) < {*SCHEMA.names(), "start_time", "end_time"}
    return rows


@pytest.mark.long
def test_workers_write_the_files_where_the_directory_is_known_to_be_the_jobs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_spark: list[Row]
) -> None:
    with watched(monkeypatch) as ways:
        assert run(spark, tmp_path, [{"kinds": MATCHES}], file_count=2) == by_spark
    assert (ways.through_spark, ways.in_files > EVENTS / 4) == (0, True)
    out = tmp_path / "out"
    # The directory is the job's from its first batch on.
    assert [*out.glob("batch=*/lines.json")]
    assert [*out.glob("batch=*/lines-00000.json")]
    assert not [*out.glob("_percept/lines/*")]


@pytest.mark.long
@pytest.mark.nightly
def test_two_outputs_have_lines_of_their_own(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_spark: list[Row]
) -> None:
    also = {"name": "also", "path": str(tmp_path / "also"), "kinds": [*MATCHES]}
    with watched(monkeypatch) as ways:
        assert run(spark, tmp_path, [{"kinds": MATCHES}, also], file_count=4) == by_spark
    assert (ways.through_spark, ways.in_files, ways.in_hand > 0) == (0, 0, True)


@pytest.mark.long
@pytest.mark.parametrize(
    "options", [{}, pytest.param({"compression": "none"}, marks=pytest.mark.nightly)]
)
def test_spark_writes_lines_that_are_too_many_or_packed(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    by_spark: list[Row],
    options: dict[str, str],
) -> None:
    monkeypatch.setattr(line_routes, "_MOST_BYTES_IN_HAND", 10_000)
    with watched(monkeypatch) as ways:
        output = {"kinds": MATCHES} | ({"options": options} if options else {})
        assert run(spark, tmp_path, [output]) == by_spark
    assert (ways.through_spark > 0, ways.in_files, ways.in_hand) == (True, 0, 0)
