"""What the parts of a job file must agree on, and what a job must agree on with its stream."""

from collections.abc import Iterator
from typing import Final

from cep.events.order import EventTime
from cep.expression import ExpressionError, Schema
from cep.pattern import Problem
from cep.pattern.problems import did_you_mean
from contract.snapshot import StreamDefinition
from processor_runtime.job_file.job import JobFile
from processor_runtime.job_file.outputs import DeltaOutput, JsonOutput, ParquetOutput, ServiceOutput

MALFORMED_COLUMN: Final = "_malformed"


def inconsistencies(job: JobFile) -> Iterator[Problem]:
    """Yield what does not fit together in a job file."""
    names: set[str] = set()
    directories = {_directory(job.checkpoint): "the checkpoint"}
    if job.source.path is not None:
        directories[_directory(job.source.path)] = "the source"
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
    `Source.default_order_by` is used if neither the job file nor the stream sets an order.
    """
    order_by = job.time.order_by or stream.order_by or job.source.default_order_by
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
        columns = [name for name, _ in Schema.from_ddl(stream.ddl).columns]
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
    for name in job.source.columns:
        if name not in columns:
            yield _no_column(f"source.columns.{name}", name, columns)


def _no_column(path: str, name: str, columns: list[str]) -> Problem:
    return Problem(path, f"the stream has no column '{name}'.", did_you_mean(name, columns))


def _directory(path: str) -> str:
    return path.removeprefix("file://").rstrip("/")
