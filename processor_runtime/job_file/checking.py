"""Checks of a job that need no Spark, with or without its processors.

JobFile ──► environment, keys, discoverer, targets ──► first snapshot ──► check_report
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final, assert_never

from pydantic import ValidationError

from cep.definition.document import ProcessorContent
from cep.pattern import Pattern, PatternError, Problem
from cep.pattern.code import signed_codes
from cep.signing.code import CodePlace, CodeRefused, CodeUse, verify
from cep.signing.keys import SigningKeys
from contract.service_access import token_reader
from contract.snapshot import SnapshotVersion
from discoverers import (
    BackgroundDiscovery,
    DiscovererConfigError,
    DiscovererSurroundings,
    NoSnapshotError,
    PatternProcessorDiscoverer,
    ProcessorProblem,
    Snapshot,
    create_discoverer,
)
from processor_runtime.job_file.job import JobFile
from processor_runtime.job_file.kafka_checks import kafka_problems, kafka_silence, kafka_warnings
from processor_runtime.job_file.outputs import (
    ConsoleOutput,
    DeltaOutput,
    JdbcOutput,
    JsonOutput,
    KafkaOutput,
    Output,
    ParquetOutput,
    ServiceOutput,
    WebhookOutput,
)
from processor_runtime.job_file.source import FILE_FORMATS, KNOWN_FORMATS, Source

_DISCOVERER_LINE: Final = re.compile(r"discoverer(?: \(.*?\): |\.)(?:([\w.\[\]]+): )?(.*)")
_JARS: Final = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")


@dataclass(frozen=True, slots=True)
class FoundSnapshot:
    """The snapshot of the source of processors, and the processors that cannot run in this job."""

    snapshot: Snapshot
    problems: tuple[ProcessorProblem, ...]


def problems_of(job: JobFile, environment: Mapping[str, str]) -> Iterator[Problem]:
    """Yield what prevents a job from starting: unset variables, keys, targets, the discoverer."""
    try:
        job.signing_keys(environment)
    except ValueError as error:
        yield _named_problem(error)
    try:
        discoverer_of(job, environment)
    except DiscovererConfigError as error:
        yield from map(_discoverer_problem, str(error).splitlines())
    if job.service is not None:
        try:
            token_reader(job.service, environment)()
        except (OSError, ValueError) as error:
            yield _named_problem(error, "service.")
    yield from kafka_problems(job)
    if _is_file(job.checkpoint):
        yield Problem("checkpoint", "this is a file.", "Give it a directory of its own.")
    for index, output in enumerate(job.outputs):
        yield from _output_problems(output, f"outputs[{index}]", environment)


def warnings_of(job: JobFile) -> Iterator[Problem]:
    """Yield what does not prevent a start, but is probably a mistake."""
    for place, source in job.placed_sources:
        if source.format not in KNOWN_FORMATS and (
            near := get_close_matches(source.format, KNOWN_FORMATS, n=1)
        ):
            message = f"'{source.format}' is not a format of Spark itself."
            yield Problem(f"{place}.format", message, f"Did you mean '{near[0]}'?")
    if not names_jars(job):
        wanted = [(place, source.format) for place, source in job.placed_sources]
        wanted += [(f"outputs[{index}]", each.type) for index, each in enumerate(job.outputs)]
        for path, kind in wanted:
            if kind == "delta":
                message = f"{kind} is not part of Spark, and no packages are named."
                remedy = f"Name them under {path}.packages, unless the cluster has them."
                yield Problem(path, message, remedy)
    if job.service is None and job.discoverer.get("type") == "http":
        message = "rules come from a rule service, and the job reports to none."
        yield Problem(
            "service", message, "Without `service:` its dashboard does not show this job."
        )
    yield from kafka_warnings(job)
    kinds = {kind for output in job.outputs for kind in output.row_kinds}
    if "error" not in kinds:
        message = "no output takes errors: malformed events and failed rules are only counted."
        yield Problem("outputs", message, "Add the kind `error` to one of them.")


def source_silence(source: Source, patience_seconds: float) -> str:
    """Return why a source of events gives none now, as far as this machine can tell; else ""."""
    path = source.path
    # A path with a scheme, or with wildcards, is for Spark to look at.
    if source.format in FILE_FORMATS and path and not re.search(r"^\w+:|[*?\[{]", path):
        return "" if Path(path).exists() else f"there is no directory {path}"
    return kafka_silence(source, patience_seconds)


def names_jars(job: JobFile) -> bool:
    """Return whether a job brings code in Java, in which there may be any format."""
    return bool(job.packages) or any(name in job.spark for name in _JARS)


_TRIES: Final = 3
"""A check tells what is wrong now; a job may wait for its source to come."""


def discoverer_of(
    job: JobFile, environment: Mapping[str, str], initial: Snapshot | None = None
) -> PatternProcessorDiscoverer:
    """Return the discoverer of a job, not started yet.

    Raises:
        DiscovererConfigError: its part of the job file cannot be used.
    """
    surroundings = DiscovererSurroundings(
        stream=job.stream, environment=environment, initial=initial
    )
    return create_discoverer(job.discoverer, surroundings)


def found_snapshot(
    job: JobFile, environment: Mapping[str, str], timeout_seconds: float
) -> FoundSnapshot:
    """Return the current snapshot of the source of processors.

    Raises:
        DiscovererConfigError: the discoverer's part of the job file cannot be used.
        NoSnapshotError: the source did not answer in time.
    """
    discovery = BackgroundDiscovery(discoverer_of(job, environment))
    with discovery:
        snapshot = discovery.first(timeout_seconds, most_failures=_TRIES)
        problems = discovery.health.problems
    if snapshot.stream.name != job.stream:
        raise NoSnapshotError(f"the source has rules of stream '{snapshot.stream.name}'")
    refused = _code_problems(snapshot, job.signing_keys(environment))
    return FoundSnapshot(snapshot, (*problems, *refused))


def _output_problems(
    output: Output, place: str, environment: Mapping[str, str]
) -> Iterator[Problem]:
    variables: dict[str, str | None] = {}
    match output:
        case JsonOutput() | ParquetOutput() | DeltaOutput():
            if _is_file(output.path):
                yield Problem(f"{place}.path", "this is a file.", "Write a directory.")
        case JdbcOutput():
            variables = {"password_env": output.password_env}
        case WebhookOutput():
            variables = {
                "token_env": output.token_env,
                "signature_secret_env": output.signature_secret_env,
            }
        case ConsoleOutput() | KafkaOutput() | ServiceOutput():
            pass
        case _:
            assert_never(output)
    for key, variable in variables.items():
        if variable is not None and not environment.get(variable, "").strip():
            message = f"the environment variable {variable} is not set."
            yield Problem(f"{place}.{key}", message, "Set it where the job is started.")


def _code_problems(snapshot: Snapshot, keys: SigningKeys | None) -> Iterator[ProcessorProblem]:
    """Yield processors with Python code that this job refuses to load."""
    for processor_id, version in snapshot.versions:
        place = CodePlace(stream=snapshot.stream.name, processor=processor_id)
        try:
            _verify_code(version, keys, place)
        except (CodeRefused, PatternError, ValidationError) as error:
            yield ProcessorProblem(f"version {version.version}", str(error), processor_id)


def _verify_code(version: SnapshotVersion, keys: SigningKeys | None, place: CodePlace) -> None:
    content = ProcessorContent.model_validate(version.definition)
    for _, code in signed_codes(Pattern.from_document(content.pattern).form):
        verify(code, keys, CodeUse.CONDITION, place)
    if content.function is not None:
        verify(content.function, keys, CodeUse.FUNCTION, place)


def _discoverer_problem(line: str) -> Problem:
    """Return a problem of one line of a DiscovererConfigError."""
    found = _DISCOVERER_LINE.fullmatch(line)
    if found is None:
        return Problem("discoverer", line, "")
    key, told = found.groups()
    # A problem of the options as a whole is reported as one of the pattern.
    path = "discoverer" if key in {None, "pattern"} else f"discoverer.{key}"
    return Problem(path, told if told.endswith((".", "?")) else f"{told}.", "")


def _named_problem(error: Exception, around: str = "") -> Problem:
    """Return an error whose text begins with a key as a problem of that key."""
    key, _, told = str(error).partition(": ")
    return Problem(f"{around}{key}", f"{told}.", "")


def _is_file(place: str) -> bool:
    """Return whether a path of this machine is a file; remote paths are not checked."""
    path = place.removeprefix("file://")
    return "://" not in path and Path(path).is_file()
