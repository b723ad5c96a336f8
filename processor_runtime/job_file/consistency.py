"""What the parts of a job file must agree on, and what a job must agree on with its stream."""

from collections.abc import Iterator
from typing import Final

from cep.events.order import EventTime
from cep.expression import ExpressionError, Kind, Schema
from cep.pattern import Problem
from cep.pattern.problems import did_you_mean
from contract.snapshot import StreamDefinition
from processor_runtime.job_file.computed import computed_misfits
from processor_runtime.job_file.job import JobFile
from processor_runtime.job_file.outputs import DeltaOutput, JsonOutput, ParquetOutput, ServiceOutput

MALFORMED_COLUMN: Final = "_malformed"


def inconsistencies(job: JobFile) -> Iterator[Problem]:
    """Yield what does not fit together in a job file."""
    names: set[str] = set()
    directories = {_directory(job.checkpoint): "the checkpoint"}
    for place, source in job.placed_sources:
        if source.path is not None:
            directory = _directory(source.path)
            if directory in directories:
                yield Problem(
                    f"{place}.path",
                    f"{directories[directory]} has this directory.",
                    "Read it once.",
                )
            directories[directory] = f"the source {source.name}" if source.name else "the source"
    for index, output in enumerate(job.outputs):
        place = f"outputs[{index}]"
        if output.name in names:
            yield Problem(
                f"{place}.name",
                f"another output is called '{output.name}', too.",
                "Give one of them another name.",
            )
        names.add(output.name)
        if isinstance(output, ServiceOutput) and job.service is None:
            yield Problem(
                place, "there is no service to post matches to.", "Add `service:` with its url."
            )
        if isinstance(output, JsonOutput | ParquetOutput | DeltaOutput):
            directory = _directory(output.path)
            if directory in directories:
                yield Problem(
                    f"{place}.path",
                    f"{directories[directory]} has this directory.",
                    "Give the output one of its own.",
                )
            directories[directory] = f"the output {output.name}"


def stream_of_job(job: JobFile, stream: StreamDefinition) -> StreamDefinition:
    """Return a stream's definition with the delay and the order that this job uses.

    In processing time no event is late, and all events of a batch have the same time.
    `Source.default_order_by` is used if neither the job file nor the stream sets an order, and all
    sources have the same.
    """
    (usual, *others) = (source.default_order_by for _, source in job.placed_sources)
    usual = usual if all(each == usual for each in others) else []
    order_by = job.time.order_by or stream.order_by or usual
    if job.time.by == "processing":
        return stream.model_copy(update={"allowed_delay_ms": 0, "order_by": order_by})
    schema = Schema.from_ddl(stream.ddl)
    delay_ms = stream.allowed_delay_ms if job.time.delay_ms is None else job.time.delay_ms
    return stream.model_copy(
        update={
            "allowed_delay_ms": delay_ms,
            "order_by": list(EventTime(stream.event_time_column, tuple(order_by)).order(schema)),
        }
    )


def misfits(job: JobFile, stream: StreamDefinition) -> Iterator[Problem]:
    """Yield the parts of a job file that do not fit the stream it reads."""
    if stream.name != job.stream:
        yield Problem("stream", f"the source of rules has stream '{stream.name}'.", "")
    try:
        schema = Schema.from_ddl(stream.ddl)
        columns = [name for name, _ in schema.columns]
    except ExpressionError as error:
        yield Problem("stream", f"its schema cannot be read: {error}.", "")
        return
    if MALFORMED_COLUMN in columns:
        yield Problem(
            "stream",
            f"its schema has a column {MALFORMED_COLUMN}, which the job uses itself.",
            "Rename it in the stream, and map the old name under source.columns.",
        )
    for index, name in enumerate(job.time.order_by or ()):
        if name not in columns:
            yield _no_column(f"time.order_by[{index}]", name, columns)
    yield from _source_misfits(job, schema)


def _source_misfits(job: JobFile, schema: Schema) -> Iterator[Problem]:
    columns = [name for name, _ in schema.columns]
    if job.source_column is not None:
        kind = dict(schema.columns).get(job.source_column)
        if kind is None:
            yield _no_column("source_column", job.source_column, columns)
        elif kind.kind is not Kind.STRING:
            message = f"the column {job.source_column} is {kind}, and names are STRING."
            yield Problem("source_column", message, "Give the stream a column for them.")
    for place, source in job.placed_sources:
        for name in source.columns:
            if name not in columns and name not in source.fields:
                yield _no_column(f"{place}.columns.{name}", name, columns)
        for name in source.fields:
            if name in columns:
                message = f"the stream has a column '{name}', which is read anyway."
                yield Problem(f"{place}.fields.{name}", message, "Leave it out.")
        yield from computed_misfits(place, source, schema, job.source_column)


def _no_column(path: str, name: str, columns: list[str]) -> Problem:
    return Problem(path, f"the stream has no column '{name}'.", did_you_mean(name, columns))


def _directory(path: str) -> str:
    return path.removeprefix("file://").rstrip("/")
