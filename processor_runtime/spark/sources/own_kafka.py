"""Percept's own Kafka connector, if its library is installed: where it begins, and what fails.

source of a job file, checkpoint ──► first positions, once for all starts ──► `kafka_source`
                                                                          └──► `kafka_events`
"""

from collections.abc import Callable, Mapping
from typing import Final

from pydantic_core import from_json, to_json
from pyspark.sql import DataFrame, SparkSession

from processor_runtime.driver.checked_files import Files
from processor_runtime.driver.offset_log import source_log, source_position
from processor_runtime.job_file.source import Source
from processor_runtime.kafka.offsets import NO_POSITION, document_of, positions_of
from processor_runtime.kafka.settings import (
    MISSING_LIBRARY,
    KafkaOptionError,
    client_settings,
    is_installed,
    secret_values,
)
from processor_runtime.rows.output_rows import OutputRow
from processor_runtime.sources.event_frames import EventReader
from processor_runtime.spark.failure_text import without
from processor_runtime.spark.sources.errors import SourceError

EventsOf = Callable[[], EventReader]
_BEFORE_BEGINNING: Final = b"\0v1\n"


def own_kafka(
    spark: SparkSession, source: Source, files: Files | None, read: EventsOf, number: int
) -> tuple[DataFrame, EventReader]:
    """Return the ranges of records of a topic as a streaming frame, and what reads the records.

    `files`: the checkpoint of the query, if it has one. What the first batch begins with is written
    there, so that it begins there again if it is cut off. `read`: gives the reader, once the
    library is known to be there. `number`: of the source in the query.

    Raises:
        SourceError: the library is not installed, an option cannot be used, or brokers do not
            answer.
    """
    if not is_installed():
        raise SourceError(f"source: {MISSING_LIBRARY}")
    from processor_runtime.kafka.cluster import KafkaFailed  # noqa: PLC0415 - of the extra

    try:
        return _ranges(spark, source, files, number), read()
    except KafkaOptionError as error:
        raise SourceError(f"source.options: {_clean(error, source)}") from None
    except KafkaFailed as error:
        raise SourceError(f"source: {_clean(error, source)}") from None


def loss_check(source: Source, files: Files, number: int) -> Callable[[int], list[OutputRow]]:
    """Return what is called with each batch, and warns of records that went before it read them.

    The planner, in a process of its own, goes on where there are some; its log is that of Spark.
    """

    def check(batch_id: int) -> list[OutputRow]:
        from processor_runtime.kafka.cluster import Subscription  # noqa: PLC0415 - of the extra
        from processor_runtime.kafka.loss import still_there, without_lost  # noqa: PLC0415
        from processor_runtime.spark.sources.kafka_source import cluster_of  # noqa: PLC0415

        position = source_position(files, batch_id - 1, number)
        if position is not None:
            cluster = cluster_of(source.reader_options)
            places = cluster.partitions(Subscription.of(source.reader_options))
            begin = still_there(positions_of(from_json(position)), places, fails=False)
            without_lost(begin, cluster.earliest(places), cluster.latest(places), fails=False)
        return []

    return check


def _ranges(spark: SparkSession, source: Source, files: Files | None, number: int) -> DataFrame:
    from processor_runtime.kafka.reading import check_consumer  # noqa: PLC0415 - of the extra
    from processor_runtime.spark.sources.kafka_source import FORMAT, TASKS, KafkaSource  # noqa: PLC0415

    options = source.reader_options
    check_consumer(client_settings(options))
    if files is not None:
        options["startingOffsets"] = _beginning(options, files, number)
        for name in ("startingTimestamp", "startingOffsetsByTimestamp"):
            options.pop(name, None)
    options[TASKS] = str(spark.sparkContext.defaultParallelism)
    spark.dataSource.register(KafkaSource)
    return spark.readStream.format(FORMAT).options(**options).load()


def _beginning(options: Mapping[str, str], files: Files, number: int) -> str:
    """Return where the first batch of a checkpoint begins, decided once for all its starts."""
    from processor_runtime.kafka.starting import starting_positions  # noqa: PLC0415 - of the extra
    from processor_runtime.spark.sources.kafka_source import cluster_of  # noqa: PLC0415

    # Where Spark's connector keeps where the first batch began.
    beginning = f"{source_log(number)}/0"
    written = files.read(beginning)
    if written is not None:
        if not written.startswith(_BEFORE_BEGINNING):
            raise KafkaOptionError(NO_POSITION)
        return written.removeprefix(_BEFORE_BEGINNING).decode()
    if files.names("commits"):  # long past
        return "earliest"
    found = document_of(starting_positions(cluster_of(options), options))
    files.write(beginning, _BEFORE_BEGINNING + to_json(found))
    return to_json(found).decode()


def _clean(error: Exception, source: Source) -> str:
    return without(str(error), secret_values(source.options | source.schema_registry))
