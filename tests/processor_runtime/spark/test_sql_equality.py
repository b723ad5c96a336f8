"""Jobs over real events find what SQL finds: the rules and the queries are in `tests/data`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import duckdb
import pytest
from pyspark.sql import SparkSession

from tests.processor_runtime.spark.data_sets import DATA_SETS, Rule, rules
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import Row, differences, written

pytestmark = pytest.mark.long


@dataclass(frozen=True, slots=True)
class Finished:
    """What one job with all rules of a data set has written, and the table with its events."""

    rows: list[Row]
    table: duckdb.DuckDBPyConnection


@pytest.fixture(scope="module")
def finished(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Finished]:
    """Runs the job over a data set, once for all its rules."""

    @cache
    def run(name: str) -> Finished:
        data_set = DATA_SETS[name]
        folder = tmp_path_factory.mktemp(name)
        (folder / "in").mkdir()
        data_set.write_source(folder / "in", files=4)
        source = {"format": data_set.format, "path": str(folder / "in"), "max_files_per_batch": 1}
        discoverer = {"type": "directory", "path": str(data_set.rules)}
        job(spark, folder, stream=name, source=source, discoverer=discoverer).run()
        return Finished(written(folder), data_set.table())

    return run


def marks_of(data_set: str) -> list[pytest.MarkDecorator]:
    """Return what leaves the jobs over all but one data set to `make nightly`."""
    return [] if data_set == "ssh_auth" else [pytest.mark.nightly]


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(rule, id=f"{name}/{rule.query.stem}", marks=marks_of(name))
        for name in DATA_SETS
        for rule in rules(name)
    ],
)
def test_a_job_finds_what_sql_finds(rule: Rule, finished: Callable[[str], Finished]) -> None:
    done = finished(rule.data_set)
    found = rule.found_by_sql(done.table)
    assert found
    assert differences(found, rule.found_by_job(done.rows)) == []


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in DATA_SETS])
def test_no_event_is_late_or_refused(name: str, finished: Callable[[str], Finished]) -> None:
    assert {row["kind"] for row in finished(name).rows} <= {"match", "timeout"}


@pytest.mark.parametrize("name", DATA_SETS)
def test_event_ids_follow_event_time(name: str) -> None:
    """Queries go by the id alone."""
    table = DATA_SETS[name].table()
    counted = table.execute("SELECT count(*), count(DISTINCT event_id) FROM events").fetchone()
    assert counted is not None
    assert counted[0] == counted[1] > 10_000
    times = table.execute("SELECT ts FROM events ORDER BY event_id").fetchall()
    assert times == sorted(times)
