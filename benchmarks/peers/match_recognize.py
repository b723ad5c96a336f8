"""MATCH_RECOGNIZE on a static file: Percept on local Spark beside real Flink SQL 2.3 in batch mode.

Both read the same CSV file with two tasks, and count the rows of the result; rounds alternate, in
one run, after one that is not timed. The counts must agree. Clauses are such that both mean the
same by them: Flink's greedy loops never give a row back, so no row can both go on in a loop and end
it.

    python -m benchmarks.peers.match_recognize --events 1000000 --rounds 3

Downloads Flink (330 MB) from PyPI at first, into `--flink`.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Final

from pyspark.sql import SparkSession

from benchmarks.match_recognize import CLAUSES, DDL, events_of
from benchmarks.peers.cpu_time import cpu_seconds
from benchmarks.peers.flink import CACHE, HARNESSES, Flink, Measured
from percept.spark import match_recognize
from processor_runtime.spark.session import job_session

_TABLE: Final = """
CREATE TEMPORARY TABLE {name} (
  ts BIGINT, shopper BIGINT, action STRING, amount BIGINT,
  row_time AS TO_TIMESTAMP_LTZ(ts, 3), WATERMARK FOR row_time AS row_time
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""


def on_spark(spark: SparkSession, path: Path, clause: str) -> Measured:
    """Count the rows of the result with Percept."""
    begin, begin_cpu = time.perf_counter(), cpu_seconds()
    count = match_recognize(spark.read.schema(DDL).csv(str(path)), clause).count()
    return Measured(count, time.perf_counter() - begin, cpu_seconds() - begin_cpu)


def on_flink(flink: Flink, table: str, clause: str) -> Measured:
    """Count the rows of the result with Flink."""
    ordered = clause.replace("ORDER BY ts", "ORDER BY row_time")
    return flink.run(f"SELECT COUNT(*) FROM {table} {ordered}")  # noqa: S608 - fixed words


def main() -> None:
    """Run the clauses alternately and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clauses", nargs="+", choices=list(CLAUSES), default=list(CLAUSES))
    parser.add_argument("--flink", type=Path, default=CACHE, help="where Flink is kept")
    arguments = parser.parse_args()
    spark = job_session("peers", {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "4"})
    with (
        tempfile.TemporaryDirectory() as directory,
        Flink(arguments.flink, [HARNESSES / "FlinkSql.java"], Path(directory)) as flink,
    ):
        path = Path(directory, "events.csv")
        events_of(arguments.events).write_csv(path, include_header=False)
        flink.run(_TABLE.format(name="events", path=path))
        print(
            f"{arguments.events:,} events, {arguments.rounds} rounds, 2 tasks each; load "
            f"{os.getloadavg()[0]:.1f}"
        )
        for name in arguments.clauses:
            clause = CLAUSES[name]
            # Java's compilers take much of the first one.
            _cold, *rounds = [
                (on_spark(spark, path, clause), on_flink(flink, "events", clause))
                for _ in range(1 + arguments.rounds)
            ]
            compare(name, arguments.events, rounds)
    spark.stop()


def compare(name: str, events: int, rounds: list[tuple[Measured, Measured]]) -> None:
    """Print one clause; end the run if the counts differ."""
    counts = {measured.count for pair in rounds for measured in pair}
    if len(counts) != 1:
        sys.exit(f"{name}: Percept and Flink SQL do not agree: {sorted(counts)} rows")
    ratios = sorted(flink.seconds / percept.seconds for percept, flink in rounds)
    of_cpu = sorted(flink.cpu_seconds / percept.cpu_seconds for percept, flink in rounds)
    rates = [events / median(each.seconds for each in side) for side in zip(*rounds, strict=True)]
    print(
        f"{name:<10} {counts.pop():>10,} rows"
        f"  Percept {rates[0]:>9,.0f}/s  Flink {rates[1]:>9,.0f}/s"
        f"  ratio {ratios[0]:.1f} / {median(ratios):.1f} / {ratios[-1]:.1f}"
        f"  of CPU {of_cpu[0]:.1f} / {median(of_cpu):.1f} / {of_cpu[-1]:.1f}"
        f"  load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
