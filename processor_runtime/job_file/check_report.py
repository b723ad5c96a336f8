"""What `percept job check` finds out about a job file, as lines for people and as JSON."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from cep.pattern import Problem
from cep.pattern.durations import duration_text
from discoverers import NoSnapshotError, Snapshot
from processor_runtime.job_file.checking import (
    FoundSnapshot,
    found_snapshot,
    problems_of,
    source_silence,
    warnings_of,
)
from processor_runtime.job_file.consistency import misfits, stream_of_job
from processor_runtime.job_file.first_events import FirstEvents, first_events
from processor_runtime.job_file.job import JobFile
from processor_runtime.job_file.loading import read_job_text, validated
from processor_runtime.job_file.machine_checks import machine_warnings, own_source_warnings
from processor_runtime.job_file.problems import JobFileError, placed_in

GOOD: Final = 0
PROCESSORS_FAIL: Final = 1
BAD_JOB_FILE: Final = 2
_SOURCE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The outcome of a check.

    `job` is `None` if the file could not be read as one. `snapshot` is the answer of the source of
    processors, if it was asked; `silence` is why there was none, `source_silence` why sources of
    events give none, by their places. `events` are those at each source of which some could not be
    read.
    """

    path: Path
    job: JobFile | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    snapshot: FoundSnapshot | None = None
    silence: str = ""
    source_silence: tuple[tuple[str, str], ...] = ()
    events: tuple[FirstEvents, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 = good; 1 = a source is silent, rules cannot run, no event is read; 2 = wrong file."""
        if self.problems:
            return BAD_JOB_FILE
        if (
            self.silence
            or self.source_silence
            or (self.snapshot is not None and self.snapshot.problems)
        ):
            return PROCESSORS_FAIL
        return PROCESSORS_FAIL if any(each.are_all_unread for each in self.events) else GOOD

    def trouble(self) -> Iterator[str]:
        """Yield what is wrong, a line or more for each."""
        yield from (f"{self.path}: {each.problem()}" for each in self.events)
        yield from (f"{self.path}: {problem}" for problem in self.problems)
        yield from (f"{self.path}: warning: {warning}" for warning in self.warnings)
        yield from (f"{place}: {why}" for place, why in self.source_silence)
        if self.silence:
            yield f"discoverer: {self.silence}"
        if self.snapshot is not None:
            yield from map(str, self.snapshot.problems)

    def summary(self) -> Iterator[tuple[str, str]]:
        """Yield what the job would do, a name and a value for each."""
        job = self.job
        if job is None:
            return
        yield "job", f"{job.name} on stream {job.stream}"
        for _, source in job.placed_sources:
            yield f"source {source.name}" if source.name else "source", source.format
        yield "rules from", str(job.discoverer.get("type"))
        for output in job.outputs:
            yield f"output {output.name}", f"{output.type}: {', '.join(output.kinds)}"
        yield "checkpoint", job.checkpoint
        if self.snapshot is not None:
            yield from _snapshot_summary(job, self.snapshot.snapshot)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        job, found = self.job, self.snapshot
        return {
            "job_file": str(self.path),
            "usable": self.exit_code == GOOD,
            "name": None if job is None else job.name,
            "stream": None if job is None else job.stream,
            "unread_events": [_as_json(each.problem()) for each in self.events],
            "problems": [_as_json(problem) for problem in self.problems],
            "warnings": [_as_json(warning) for warning in self.warnings],
            "no_events_because": "; ".join(
                why if place == "source" else f"{place}: {why}"
                for place, why in self.source_silence
            )
            or None,
            "no_processors_because": self.silence or None,
            "snapshot": None if job is None or found is None else _snapshot_json(job, found),
        }


def check_job_file(
    path: Path, environment: Mapping[str, str], *, connect: bool, timeout_seconds: float | None
) -> CheckReport:
    """Return everything that can be found out about a job file without Spark.

    `connect`: ask the source of processors for a snapshot, and whether that of events is there.
    `timeout_seconds`: how long to wait for either; by default the time in the job file, of events
    ten seconds at most.
    """
    try:
        document = read_job_text(path)
        job = validated(path, document, environment)
    except JobFileError as error:
        return CheckReport(path, None, error.problems)

    def placed(problems: Iterator[Problem]) -> tuple[Problem, ...]:
        return tuple(placed_in(document, problem) for problem in problems)

    problems, warnings = (
        placed(problems_of(job, environment)),
        placed(chain(warnings_of(job), own_source_warnings(job), machine_warnings(environment))),
    )
    if problems or not connect:
        return CheckReport(path, job, problems, warnings)
    limit_seconds = timeout_seconds or job.first_snapshot_timeout_ms / 1000
    patience_seconds = min(limit_seconds, _SOURCE_SECONDS)
    silences = (
        (place, source, source_silence(source, patience_seconds))
        for place, source in job.placed_sources
    )
    silent = tuple(
        (f"{place} ({source.name})" if job.sources is not None else place, why)
        for place, source, why in silences
        if why
    )
    try:
        found = found_snapshot(job, environment, limit_seconds)
    except NoSnapshotError as error:
        return CheckReport(path, job, (), warnings, None, str(error), silent)
    stream = found.snapshot.stream
    unfit = placed(misfits(job, stream))
    events = () if unfit else tuple(first_events(job, stream))
    return CheckReport(path, job, unfit, warnings, found, "", silent, events)


def _counts(snapshot: Snapshot) -> dict[str, int]:
    versions = [version for each in snapshot.processors for version in each.versions]
    return {
        "epoch": snapshot.epoch,
        "processors": len(snapshot.processors),
        "versions": len(versions),
        "paused": sum(each.paused for each in snapshot.processors),
        "scheduled": sum(version.effective_from_ms is not None for version in versions),
    }


def _snapshot_summary(job: JobFile, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    counts = _counts(snapshot)
    yield "epoch", str(counts.pop("epoch"))
    yield "found", ", ".join(f"{count} {name}" for name, count in counts.items())
    stream = stream_of_job(job, snapshot.stream)
    if job.time.by == "event":
        delay = duration_text(stream.allowed_delay_ms)
        yield "event time", f"{stream.event_time_column}, up to {delay} late"
    else:
        yield "time", "of processing"
    if stream.order_by:
        yield "same millisecond by", ", ".join(stream.order_by)


def _snapshot_json(job: JobFile, found: FoundSnapshot) -> dict[str, Any]:
    stream = stream_of_job(job, found.snapshot.stream)
    return {
        **_counts(found.snapshot),
        "event_time_column": stream.event_time_column,
        "allowed_delay_ms": stream.allowed_delay_ms,
        "order_by": stream.order_by,
        "problems": [
            {
                "origin": problem.origin,
                "processor_id": problem.processor_id,
                "message": problem.message,
                "kept_versions": list(problem.kept_versions),
            }
            for problem in found.problems
        ],
    }


def _as_json(problem: Problem) -> dict[str, Any]:
    return {
        "path": problem.path,
        "line": problem.line,
        "column": problem.column,
        "message": problem.message,
        "remedy": problem.remedy,
    }
