"""Whether the parts of a job file that are about Kafka can be used by its library.

    JobFile ──► is the library there? ──► does librdkafka know every setting, with its value?

    security ──► does the protocol use every setting? (warnings)

Only `kafka_silence` asks brokers.
"""

from collections.abc import Iterator, Mapping

from cep.pattern import Problem
from contract.problem_text import masked
from processor_runtime.job_file.job import JobFile
from processor_runtime.job_file.outputs import KafkaOutput
from processor_runtime.job_file.source import Source
from processor_runtime.kafka.settings import (
    MISSING_LIBRARY,
    KafkaOptionError,
    client_settings,
    is_installed,
    secret_values,
)
from processor_runtime.kafka.unused_settings import unused_settings


def missing_library(job: JobFile) -> Problem | None:
    """Return that the library of the extra `kafka` is missing, if the job needs it and it is."""
    first = next(_own_parts(job), None)
    if first is None or is_installed():
        return None
    path, _ = first
    return Problem(path, f"{MISSING_LIBRARY}.", "")


def kafka_problems(job: JobFile) -> Iterator[Problem]:
    """Yield what prevents Percept's own connector from starting."""
    if (missing := missing_library(job)) is not None:
        yield missing
    if not is_installed() or missing is not None:
        return
    from processor_runtime.kafka.producing import producer_of  # noqa: PLC0415 - of the extra
    from processor_runtime.kafka.reading import check_consumer  # noqa: PLC0415
    from processor_runtime.kafka.starting import check_starting_options  # noqa: PLC0415

    for path, part in _own_parts(job):
        try:
            if isinstance(part, Source):
                check_starting_options(part.options)
                check_consumer(client_settings(part.options))
                _check_schemas(part)
            else:
                producer_of(client_settings(part.options)).flush(0)
                _check_schema(part)
        except KafkaOptionError as error:
            secrets = secret_values(part.options | part.schema_registry)
            message = masked(str(error), secrets)
            key, _, rest = message.partition(": ")
            is_key = key in {"schema_registry", "schema_file"}
            place = f"{path}.{key}" if is_key else f"{path}.options"
            yield Problem(place, f"{rest if is_key else message}.", "")


def kafka_silence(source: Source, patience_seconds: float) -> str:
    """Return why the brokers of a source that Percept reads itself give nothing; "" if they do.

    `source`: the source; one that Spark's connector reads is not asked.
    """
    if not source.uses_own_kafka:
        return ""
    from processor_runtime.kafka.cluster import (  # noqa: PLC0415 - of the extra
        Cluster,
        KafkaFailed,
        Subscription,
    )

    try:
        cluster = Cluster(client_settings(source.options), patience_seconds)
        cluster.partitions(Subscription.of(source.options))
    except (KafkaOptionError, KafkaFailed) as error:
        return masked(str(error), secret_values(source.options | source.schema_registry))
    return ""


def kafka_warnings(job: JobFile) -> Iterator[Problem]:
    """Yield settings of TLS and logins that nothing is done with, by either connector."""
    parts: list[tuple[str, Mapping[str, str]]] = []
    for place, source in job.placed_sources:
        if source.format == "kafka":
            parts.append((place, source.options))
    for index, output in enumerate(job.outputs):
        if isinstance(output, KafkaOutput):
            parts.append((f"outputs[{index}]", output.options))
    for path, options in parts:
        for unused in unused_settings(options):
            place = f"{path}.options.{unused.options[0]}"
            yield Problem(place, unused.reason, unused.remedy)


def _check_schemas(source: Source) -> None:
    if not source.has_schemas:
        return
    from processor_runtime.kafka.formats.decoding import ValueForm, check_form  # noqa: PLC0415 - of the extra

    registry = tuple(source.schema_registry.items())
    schemas = source.written_schemas() or ""
    check_form(ValueForm(str(source.value_format), registry, schemas))


def _check_schema(output: KafkaOutput) -> None:
    form = output.output_form()
    if form is None:
        return
    from processor_runtime.kafka.formats.encoding import check_output_form  # noqa: PLC0415 - of the extra

    check_output_form(form)


def _own_parts(job: JobFile) -> Iterator[tuple[str, Source | KafkaOutput]]:
    for place, source in job.placed_sources:
        if source.uses_own_kafka:
            yield place, source
    for index, output in enumerate(job.outputs):
        if isinstance(output, KafkaOutput) and output.connector == "percept":
            yield f"outputs[{index}]", output
