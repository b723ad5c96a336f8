"""Records that are gone before they were read: found where a batch is planned."""

import logging
from collections.abc import Iterable
from typing import Final

from processor_runtime.kafka.cluster import KafkaFailed
from processor_runtime.kafka.offsets import Place, Positions

_REMEDY: Final = "Write failOnDataLoss: false under source.options to go on with what is there"

_log = logging.getLogger("percept.kafka")


def still_there(start: Positions, places: Iterable[Place], *, fails: bool) -> dict[Place, int]:
    """Return the positions in partitions that are read.

    `fails`: whether it is an error if one is missing.

    Raises:
        KafkaFailed: one is missing.
    """
    there = set(places)
    for topic, partition in sorted(start.keys() - there):
        message = (
            f"the job has read topic {topic}, partition {partition}, which Kafka does not have any "
            "more, or source.options does not name"
        )
        if fails:
            raise KafkaFailed(f"{message}. {_REMEDY}")
        _log.warning("%s", message)
    return {place: offset for place, offset in start.items() if place in there}


def without_lost(
    start: Positions, earliest: Positions, latest: Positions, *, fails: bool
) -> dict[Place, int]:
    """Return where a batch can really begin.

    `fails`: whether it is an error if records in between are gone.

    Raises:
        KafkaFailed: they are gone.
    """
    begin = dict(start)
    for (topic, partition), wanted in start.items():
        place = (topic, partition)
        first, end = earliest[place], latest[place]
        if first <= wanted <= end:
            continue
        there = f"it has {first} to {end}" if end > first else f"it is empty, at {end}"
        message = (
            f"topic {topic}, partition {partition}: the job has read up to offset {wanted}, and "
            f"{there}. The records between are gone, or the topic was created anew"
        )
        if fails:
            raise KafkaFailed(f"{message}. {_REMEDY}")
        _log.warning("%s. The job goes on from offset %d", message, first)
        begin[place] = first
    return begin
