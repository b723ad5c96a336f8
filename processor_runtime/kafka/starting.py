"""Where the first batch begins, from the options: at the ends, at offsets, or at a time."""

import json
from collections.abc import Mapping
from typing import Any, Final

from processor_runtime.kafka.cluster import Cluster, Subscription
from processor_runtime.kafka.offsets import Place, positions_of
from processor_runtime.kafka.settings import KafkaOptionError

_EARLIEST: Final = -2
_LATEST: Final = -1
_FORM: Final = '{"topic": {"0": 23, "1": -2}}, where -2 is the first record and -1 the end'
_STRATEGY: Final = "startingOffsetsByTimestampStrategy"


def starting_positions(cluster: Cluster, options: Mapping[str, str]) -> dict[Place, int]:
    """Return where to begin in each partition.

    Of the options, `startingTimestamp` goes before `startingOffsetsByTimestamp`, and this before
    `startingOffsets`, which is `latest` if left out.

    Raises:
        KafkaOptionError: the options do not fit the partitions there are.
        KafkaFailed: the brokers do not answer.
    """
    places = cluster.partitions(Subscription.of(options))
    if "startingTimestamp" in options:
        time_ms = _time_ms(options["startingTimestamp"], "startingTimestamp")
        return _at_time(cluster, dict.fromkeys(places, time_ms), options)
    if "startingOffsetsByTimestamp" in options:
        name = "startingOffsetsByTimestamp"
        given = _given(options[name], name, places)
        times = {place: _time_ms(value, name) for place, value in given.items()}
        return _at_time(cluster, times, options)
    return _at_offsets(cluster, places, options.get("startingOffsets", "latest"))


def check_starting_options(options: Mapping[str, str]) -> None:
    """Check what can be known without a cluster.

    Raises:
        KafkaOptionError: an option is of another form.
    """
    Subscription.of(options)
    if "startingTimestamp" in options:
        _time_ms(options["startingTimestamp"], "startingTimestamp")
    if "startingOffsetsByTimestamp" in options:
        _document(options["startingOffsetsByTimestamp"], "startingOffsetsByTimestamp")
    if (text := options.get("startingOffsets", "latest")) not in {"earliest", "latest"}:
        _document(text, "startingOffsets")
    if options.get(_STRATEGY, "error") not in {"error", "latest"}:
        raise KafkaOptionError(f"{_STRATEGY} is neither error nor latest")


def _at_offsets(cluster: Cluster, places: list[Place], text: str) -> dict[Place, int]:
    if text == "earliest":
        return cluster.earliest(places)
    if text == "latest":
        return cluster.latest(places)
    given = _given(text, "startingOffsets", places)
    first = cluster.earliest(place for place, offset in given.items() if offset == _EARLIEST)
    ends = cluster.latest(place for place, offset in given.items() if offset == _LATEST)
    return given | first | ends


def _at_time(
    cluster: Cluster, times_ms: Mapping[Place, int], options: Mapping[str, str]
) -> dict[Place, int]:
    found = cluster.at_time(times_ms)
    without = sorted(place for place, offset in found.items() if offset is None)
    if without and options.get(_STRATEGY, "error") == "error":
        topic, partition = without[0]
        raise KafkaOptionError(
            f"topic {topic}, partition {partition} has no record of the starting time or later. "
            f"Write {_STRATEGY}: latest to begin at its end"
        )
    ends = cluster.latest(without)
    return {place: ends[place] if offset is None else offset for place, offset in found.items()}


def _given(text: str, name: str, places: list[Place]) -> dict[Place, int]:
    given = _document(text, name)
    if missing := sorted(set(places) - given.keys()):
        topic, partition = missing[0]
        raise KafkaOptionError(f"{name} says nothing of topic {topic}, partition {partition}")
    if unknown := sorted(given.keys() - set(places)):
        topic, partition = unknown[0]
        raise KafkaOptionError(f"{name}: nothing is read of topic {topic}, partition {partition}")
    return given


def _document(text: str, name: str) -> dict[Place, int]:
    try:
        return positions_of(json.loads(text))
    except ValueError:
        raise KafkaOptionError(f"{name} does not have the form {_FORM}") from None


def _time_ms(value: Any, name: str) -> int:
    from cep.instants import instant_ms  # noqa: PLC0415 - takes a second to load

    try:
        return instant_ms(int(value) if str(value).isdecimal() else value)
    except ValueError as error:
        raise KafkaOptionError(f"{name}: {error}") from None
