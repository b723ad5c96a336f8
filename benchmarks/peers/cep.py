"""Rules on a stream: Percept on local Spark beside real Flink CEP 2.3, in one run.

Both read the same CSV files with two tasks; rounds alternate. The numbers of matches over the
events that both got must agree. Percept writes its matches to files and commits its state with
every batch; Flink counts its matches and commits nothing. A batch is two files: what it costs
whatever is in it is shared by its events, and how long it takes, the price in latency, is shown.
Neither is timed cold: a round of both is not, since Java's compilers take up to half of the CPU of
Flink's first ones, and a sixth of Percept's; nor are the first full batches of each job, whose
workers are new.

    python -m benchmarks.peers.cep --rounds 3
    python -m benchmarks.peers.cep --workloads A1 D2 --rows 400000

Downloads Flink (330 MB) from PyPI at first, into `--flink`.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import polars as pl
from pyspark.sql import SparkSession

from benchmarks.floor import floor_seconds
from benchmarks.peers.cpu_time import cpu_seconds
from benchmarks.peers.flink import CACHE, HARNESSES, Flink, Measured
from benchmarks.peers.java_rules import event_class, rules_class
from benchmarks.peers.real_events import real_workloads
from benchmarks.peers.workloads import SYNTHETIC, Workload
from benchmarks.recording import record
from benchmarks.workplace import BEGIN_MS, Batches, Source, Workplace, stop
from cep.compiling import is_available, is_ready
from processor_runtime.spark.job import StreamingJob
from processor_runtime.spark.micro_batches import BatchDone
from processor_runtime.spark.session import job_session

WARM_UP_BATCHES: Final = 5
"""So many full batches of a job are not timed."""
_FEWEST_BATCHES: Final = 3
TASKS: Final = 2
"""As many files has a batch, since a file is read by one task."""


@dataclass(frozen=True, slots=True)
class Files:
    """The batches of a workload, two files each: those that Flink gets, then the rest."""

    of_flink: Sequence[pl.DataFrame]
    rest: Sequence[pl.DataFrame]

    def events_of_flink(self) -> int:
        """Return how many events Flink gets."""
        return sum(map(len, self.of_flink))


def cut(workload: Workload, rows: int, batches: int) -> Files:
    """Return the events of a workload, batch by batch, with those that are not timed.

    More events, with "-" for every text, come after twice and three times the longest window and
    close every window of what Flink gets. The rest follows after that.
    """
    events = workload.events(rows * (WARM_UP_BATCHES + batches))
    events = events.with_columns(pl.col("ts") + BEGIN_MS)
    count = round(rows * batches * workload.flink_share)
    first, rest = events[:count], events[count:]
    last = first[-1:].with_columns(pl.lit("-").alias(name) for name in texts_of(workload))
    longest_ms = longest_window_ms(workload)
    last = pl.concat([last.with_columns(pl.col("ts") + more) for more in range(TASKS)])
    closing = [last.with_columns(pl.col("ts") + times * longest_ms) for times in (2, 3)]
    later = rest.with_columns(pl.col("ts") + 4 * longest_ms)
    return Files([*first.iter_slices(rows), *closing], list(later.iter_slices(rows)))


def in_files(batch: pl.DataFrame) -> list[pl.DataFrame]:
    """Return the events of a batch file by file."""
    return list(batch.iter_slices(-(-len(batch) // TASKS)))


def longest_window_ms(workload: Workload) -> int:
    """Return the length of the longest window of all rules, and what may be late."""
    trees = [rule.pattern.tree for rule in workload.rules]
    windows = [window for tree in trees for part in tree.elements for window in part.within]
    return max(window.duration_ms for window in windows) + workload.delay_ms


def texts_of(workload: Workload) -> list[str]:
    """Return the names of the columns that are texts."""
    return [name for name, sql_type in workload.columns.items() if sql_type == "STRING"]


@dataclass(frozen=True, slots=True)
class Batch:
    """How things stood at the end of a batch."""

    at_seconds: float
    cpu_seconds: float
    matches: int


@dataclass(frozen=True, slots=True)
class Job:
    """What the job counted, and the seconds of a full file, in it and in Spark alone."""

    measured: Measured
    batch_seconds: float
    floor_seconds: float


def on_percept(spark: SparkSession, workload: Workload, files: Files, rows: int) -> Job:
    """Run the job over all files; return the matches in those of Flink, and time a full file."""
    with tempfile.TemporaryDirectory(prefix="percept-bench-") as directory:
        source = Source(workload.columns, workload.delay_ms, "csv")
        batches = Batches(files=TASKS)
        place = Workplace(Path(directory, "job"), shards=TASKS, source=source, batches=batches)
        rules = {f"r{number}": rule for number, rule in enumerate(workload.rules)}
        place.publish_keyed({name: (rule.pattern, rule.key_by) for name, rule in rules.items()})
        everything = [*files.of_flink, *files.rest]
        written = [file for batch in everything for file in in_files(batch)]
        for number, events in enumerate(written):
            place.put(number, events, shift_ms=0)
        done: list[Batch] = []

        def on_batch(job: StreamingJob, batch: BatchDone) -> None:
            matches = batch.status.totals.matches
            done.append(Batch(time.perf_counter(), cpu_seconds(), matches))
            if len(done) == len(everything):
                stop(job)

        place.run(spark, on_batch)
        alone = floor_seconds(spark, place, len(everything))
    full = [number for number, batch in enumerate(everything) if len(batch) == rows]
    timed = full[WARM_UP_BATCHES:]
    seconds = median(done[number].at_seconds - done[number - 1].at_seconds for number in timed)
    of_cpu = median(done[number].cpu_seconds - done[number - 1].cpu_seconds for number in timed)
    floor = median(alone[number - 1] for number in timed)
    files_of_flink = files.events_of_flink() / rows
    matches = done[len(files.of_flink) - 1].matches
    measured = Measured(matches, seconds * files_of_flink, of_cpu * files_of_flink)
    return Job(measured, seconds, floor)


def on_flink(flink: Flink, directory: Path) -> Measured:
    """Run the job over the files of Flink."""
    return flink.run(str(directory))


def compare(
    spark: SparkSession, name: str, workload: Workload, options: argparse.Namespace
) -> None:
    """Run both by turns and print a line; end the run if the numbers of matches differ."""
    files = cut(workload, options.rows, options.batches)
    with tempfile.TemporaryDirectory(prefix="percept-peers-") as directory:
        build = Path(directory)
        sources = [HARNESSES / "FlinkCep.java", build / "Event.java", build / "Rules.java"]
        sources[1].write_text(event_class(workload.columns))
        sources[2].write_text(rules_class(workload.rules, workload.columns, workload.delay_ms))
        events = build / "events"
        events.mkdir()
        in_turn = (file for batch in files.of_flink for file in in_files(batch))
        for number, file in enumerate(in_turn):
            file.write_csv(events / f"{number:05}.csv", include_header=False)
        with Flink(options.flink, sources, build) as flink:
            every_round = [
                (
                    on_flink(flink, events),
                    on_percept(spark, workload, files, options.rows),
                )
                for _ in range(options.warm_up + options.rounds)
            ]
    rounds = every_round[options.warm_up :]
    jobs = [job for _flink, job in rounds]
    report(name, workload, files.events_of_flink(), [(each, job.measured) for each, job in rounds])
    seconds, floor = (
        median(job.batch_seconds for job in jobs),
        median(job.floor_seconds for job in jobs),
    )
    print(
        f"       a batch of {options.rows:,} takes {seconds:.1f} s, Spark alone {floor:.1f} s:"
        f" {floor / seconds:.0%}",
        flush=True,
    )
    record(
        options.record,
        part="rules",
        workload=name,
        title=workload.title,
        rules=len(workload.rules),
        flink_per_second=median(each.per_second(files.events_of_flink()) for each, _job in rounds),
        percept_per_second=options.rows / seconds,
        floor_per_second=options.rows / floor,
    )


def report(
    name: str, workload: Workload, events: int, rounds: Sequence[tuple[Measured, Measured]]
) -> None:
    """Print a workload; end the run if the numbers of matches differ."""
    counts = {measured.count for pair in rounds for measured in pair}
    if len(counts) != 1:
        sys.exit(f"{name}: Flink CEP and Percept do not agree: {sorted(counts)} matches")
    ratios = sorted(flink.seconds / percept.seconds for flink, percept in rounds)
    of_cpu = sorted(flink.cpu_seconds / percept.cpu_seconds for flink, percept in rounds)
    rates = [median(each.per_second(events) for each in side) for side in zip(*rounds, strict=True)]
    print(
        f"{name:<6} {workload.title:<40} {counts.pop():>9,} matches in {events:>9,} events"
        f"  Flink {rates[0]:>9,.0f}/s  Percept {rates[1]:>9,.0f}/s"
        f"  ratio {ratios[0]:.1f} / {median(ratios):.1f} / {ratios[-1]:.1f}"
        f"  of CPU {of_cpu[0]:.1f} / {median(of_cpu):.1f} / {of_cpu[-1]:.1f}"
        f"  load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def main() -> None:
    """Run the workloads and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", nargs="+", metavar="NAME", help="all by default")
    parser.add_argument("--data", type=Path, help="a directory with real events, for those of C")
    parser.add_argument("--rows", type=int, default=1_600_000, help="events of a batch")
    parser.add_argument(
        "--batches", type=int, default=6, help="timed, as far as they are full; Flink gets a part"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--warm-up",
        type=int,
        default=1,
        metavar="ROUNDS",
        help="rounds that are not timed; 0 where one takes minutes",
    )
    parser.add_argument("--record", type=Path, help="a file of JSON lines, for the plots")
    parser.add_argument("--flink", type=Path, default=CACHE, help="where Flink is kept")
    options = parser.parse_args()
    workloads = SYNTHETIC | (real_workloads(options.data) if options.data else {})
    names = options.workloads or list(workloads)
    if unknown := set(names) - set(workloads):
        parser.error(
            f"no workloads: {', '.join(sorted(unknown))}; there are {', '.join(workloads)}"
        )
    if options.batches < _FEWEST_BATCHES:
        parser.error(f"--batches: at least {_FEWEST_BATCHES}")
    while is_available() and not is_ready("cep.nfa_kernel"):
        time.sleep(1)  # a process compiles, which the first workload would be timed beside
    settings = {"spark.master": "local[2]", "spark.ui.enabled": "false"}
    spark = job_session("peers", settings, java_has_rows=False)
    spark.sparkContext.setLogLevel("OFF")
    print("ratios: minimum / median / maximum of the rounds; 2 tasks each", flush=True)
    for name in names:
        compare(spark, name, workloads[name], options)
    spark.stop()


if __name__ == "__main__":
    main()
