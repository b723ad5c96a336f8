"""Where a job begins and what it reads, from brokers that speak the real protocol."""

import subprocess
import sys
import threading
import time

import pytest

from processor_runtime.kafka.offsets import RecordRange
from tests.processor_runtime.kafka.brokers import FETCH, LIST_OFFSETS, METADATA, Brokers, brokers

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")
from processor_runtime.kafka.cluster import Cluster, KafkaFailed, Subscription
from processor_runtime.kafka.reading import ReadingRules, check_consumer, messages_of
from processor_runtime.kafka.settings import KafkaOptionError
from processor_runtime.kafka.starting import starting_positions

NOT_LEADER, COORDINATOR_LOADING, UNKNOWN_SERVER_ERROR = 6, 14, -1


def numbered(count: int, begin: int = 0) -> list[bytes]:
    return [str(number).encode() for number in range(begin, begin + count)]


def read(kafka: Brokers, *ranges: RecordRange, **rules: object) -> list[tuple[int, int, bytes]]:
    """Return partition, offset and value of what is read."""
    found = messages_of(ranges, ReadingRules(kafka.settings, **rules))  # type: ignore[arg-type]
    return [
        (int(each.partition() or 0), int(each.offset() or 0), each.value() or b"")
        for part in found
        for each in part
    ]


def test_exactly_the_ranges_are_read_again_and_again_of_many_partitions(kafka: Brokers) -> None:
    kafka.create("many", 4)
    for partition in range(4):
        kafka.give("many", partition, *numbered(500, partition * 500))
    ranges = [
        RecordRange("many", 0, 0, 500),
        RecordRange("many", 1, 100, 101),
        RecordRange("many", 3, 7, 300),
        RecordRange("many", 3, 300, 450),
    ]
    wanted = sorted(
        (each.partition, offset, str(each.partition * 500 + offset).encode())
        for each in ranges
        for offset in range(each.begin, each.end)
    )
    for _ in range(3):
        found = read(kafka, *ranges)
        assert sorted(found) == wanted
        for partition in range(4):
            offsets = [offset for at, offset, _ in found if at == partition]
            assert offsets == sorted(offsets)


@pytest.mark.long
def test_a_broker_that_errs_for_a_moment_changes_nothing(kafka: Brokers) -> None:
    kafka.create("errs", 1)
    kafka.give("errs", 0, *numbered(50))
    kafka.fail(FETCH, NOT_LEADER, UNKNOWN_SERVER_ERROR)
    kafka.fail(LIST_OFFSETS, NOT_LEADER)
    kafka.fail(METADATA, UNKNOWN_SERVER_ERROR)
    cluster = Cluster(kafka.settings)
    (place,) = cluster.partitions(Subscription.of({"subscribe": "errs"}))
    end = cluster.latest([place])[place]
    assert [value for *_, value in read(kafka, RecordRange(*place, 0, end))] == numbered(50)


@pytest.mark.long
def test_an_outage_is_waited_for_and_one_that_lasts_is_told() -> None:
    with brokers() as own:
        own.create("away", 1)
        own.give("away", 0, *numbered(10))
        own.stop()
        again = threading.Timer(1.5, own.start)
        again.start()
        assert Cluster(own.settings).latest([("away", 0)]) == {("away", 0): 10}
        assert len(read(own, RecordRange("away", 0, 0, 10))) == 10
        again.join()
        own.stop()
        began = time.monotonic()
        with pytest.raises(
            KafkaFailed, match=r"does not tell the topic away: .*bootstrap\.servers"
        ):
            Cluster(own.settings, 1.0).partitions(Subscription.of({"subscribe": "away"}))
        with pytest.raises(KafkaFailed, match="offsets 0 to 10: no record came in time"):
            read(own, RecordRange("away", 0, 0, 10), patience_seconds=1.0)
        assert time.monotonic() - began < 10


def test_a_process_that_gave_up_on_brokers_ends_as_if_nothing_had_been() -> None:
    program = """
import gc, sys
from processor_runtime.kafka.cluster import Cluster, KafkaFailed
for servers in sys.argv[1:]:
    for settings in ({}, {"security.protocol": "ssl"}):
        # Those that answer have time to, however busy the machine is.
        seconds = 0.5 if settings or servers == sys.argv[1] else 50
        try:
            Cluster({"bootstrap.servers": servers} | settings, seconds).latest([("t", 0)])
        except KafkaFailed as error:
            print(error)
        gc.collect()
"""
    with brokers() as own:
        own.create("t", 1)
        ended = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", program, "127.0.0.1:1", own.servers],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.count("does not tell the offsets of t") == 3


@pytest.mark.long
def test_records_that_are_gone_are_an_error_or_are_left_out(kafka: Brokers) -> None:
    kafka.create("gone", 1)
    kafka.give("gone", 0, *numbered(5))
    for number in range(5, 10):
        kafka.give("gone", 0, str(number).encode())
    kafka.forget("gone", 0, 5)
    assert Cluster(kafka.settings).earliest([("gone", 0)]) == {("gone", 0): 5}
    with pytest.raises(KafkaFailed, match=r"offsets 2 to 8: these .* failOnDataLoss: false"):
        read(kafka, RecordRange("gone", 0, 2, 8))
    found = read(kafka, RecordRange("gone", 0, 2, 8), fails_on_loss=False)
    assert [offset for _, offset, _ in found] == [5, 6, 7]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"startingOffsets": "earliest"}, [0, 0]),
        ({}, [10, 4]),
        ({"startingOffsets": "latest"}, [10, 4]),
        ({"startingOffsets": '{"starts": {"0": 7, "1": -1}}'}, [7, 4]),
        ({"startingOffsets": '{"starts": {"0": -2, "1": 3}}'}, [0, 3]),
        ({"assign": '{"starts": [1]}', "startingOffsets": "earliest"}, [0]),
        ({"subscribePattern": "sta.*", "startingOffsets": "earliest"}, [0, 0]),
        ({"startingOffsets": '{"starts": {"0": 1}}'}, "says nothing of topic starts, partition 1"),
        ({"startingOffsets": '{"starts": {"0": 1, "1": 1, "9": 1}}'}, "nothing is read of .* 9"),
        ({"startingOffsets": "first"}, "does not have the form"),
        ({"assign": '{"starts": [7]}'}, "topic starts has no partition 7"),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp: not a time"),
    ],
)
def test_a_job_begins_where_it_is_told_if_that_fits_the_topic(
    kafka: Brokers, options: dict[str, str], wanted: list[int] | str
) -> None:
    cluster = Cluster(kafka.settings)
    if ("starts", 0) not in cluster.partitions(Subscription(pattern="starts")):
        kafka.create("starts", 2)
        kafka.give("starts", 0, *numbered(10))
        kafka.give("starts", 1, *numbered(4))
    if not {"assign", "subscribePattern"} & options.keys():
        options = options | {"subscribe": "starts"}
    if isinstance(wanted, str):
        with pytest.raises(KafkaOptionError, match=wanted):
            starting_positions(cluster, options)
    else:
        found = starting_positions(cluster, options)
        assert [found[place] for place in sorted(found)] == wanted


def test_librdkafka_says_which_setting_it_does_not_know_and_nothing_of_the_others() -> None:
    with pytest.raises(KafkaOptionError, match=r"sasl\.mechanizm") as error:
        check_consumer({"sasl.mechanizm": "PLAIN", "sasl.password": "hush-hush"})
    assert "hush-hush" not in str(error.value)
