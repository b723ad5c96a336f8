"""Batches of records to a topic: complete, or an error that says what is wrong."""

import threading

import pytest

from tests.processor_runtime.kafka.brokers import METADATA, PRODUCE, Brokers, brokers

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")
from processor_runtime.kafka.cluster import KafkaFailed
from processor_runtime.kafka.producing import BatchProducer, Record
from processor_runtime.kafka.settings import KafkaOptionError

NOT_LEADER, NOT_ENOUGH_REPLICAS, MESSAGE_TOO_LARGE, TOPIC_NOT_ALLOWED = 6, 19, 10, 29


def records(count: int) -> list[Record]:
    return [
        Record(f"k{n % 3}".encode(), str(n).encode(), (("row_id", str(n).encode()),))
        for n in range(count)
    ]


def test_a_batch_is_written_whole_each_record_once_those_of_a_key_in_order(kafka: Brokers) -> None:
    producer = BatchProducer(kafka.settings, "out")
    kafka.fail(PRODUCE, NOT_LEADER, NOT_ENOUGH_REPLICAS)
    kafka.fail(METADATA, -1)
    producer.send(records(500))
    producer.send([Record(None, b"late")])
    producer.close()
    found = kafka.records("out")
    assert sorted(int(each.value()) for each in found if each.key()) == list(range(500))
    assert [each.value() for each in found if each.key() is None] == [b"late"]
    for key in (b"k0", b"k1", b"k2"):
        own = [int(each.value()) for each in found if each.key() == key]
        assert own == sorted(own)
    assert all(each.headers() == [("row_id", each.value())] for each in found if each.key())


@pytest.mark.parametrize("code", [MESSAGE_TOO_LARGE, TOPIC_NOT_ALLOWED])
def test_what_brokers_refuse_is_an_error_the_next_batch_goes(kafka: Brokers, code: int) -> None:
    topic = f"refused-{code}"
    kafka.create(topic, 1)
    producer = BatchProducer(kafka.settings, topic)
    kafka.fail(PRODUCE, code)
    with pytest.raises(KafkaFailed, match=f"topic {topic}: Broker: .*") as error:
        producer.send(records(1))
    assert "Message size too large" in str(error.value) or "authorization failed" in str(
        error.value
    )
    producer.send(records(2))
    assert len(kafka.records(topic, [0])) == 2


def test_a_record_that_is_larger_than_the_client_may_send_names_the_topic(kafka: Brokers) -> None:
    producer = BatchProducer(kafka.settings | {"message.max.bytes": "2000"}, "large")
    with pytest.raises(KafkaFailed, match=r"topic large: .*too large"):
        producer.send([Record(None, b"x" * 3_000)])


@pytest.mark.long
def test_an_outage_is_waited_for_as_long_as_the_settings_say() -> None:
    with brokers() as own:
        own.create("out", 1)
        producer = BatchProducer(own.settings | {"delivery.timeout.ms": "1500"}, "out")
        producer.send(records(1))
        own.stop()
        with pytest.raises(KafkaFailed, match=r"topic out: Local: Message timed out"):
            producer.send(records(1))
        patient = BatchProducer(own.settings, "out")
        again = threading.Timer(0.5, own.start)
        again.start()
        patient.send(records(3))
        again.join()
        assert [int(each.value()) for each in own.records("out", [0])] == [0, 0, 1, 2]


def test_a_setting_that_librdkafka_does_not_know_is_named() -> None:
    with pytest.raises(KafkaOptionError, match=r"compresion\.type") as error:
        BatchProducer({"compresion.type": "zstd", "sasl.password": "hush"}, "t").send(records(1))
    assert "hush" not in str(error.value)
