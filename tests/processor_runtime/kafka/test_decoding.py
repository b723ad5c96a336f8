"""Avro and Protobuf, written by Confluent's serializers and schemas that change, as JSON."""

import json
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from processor_runtime.kafka.settings import KafkaOptionError
from tests.processor_runtime.kafka.registry import DAYS, MICROSECONDS, Registry, decimal, record

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, timestamp_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from processor_runtime.kafka.cluster import KafkaFailed
from processor_runtime.kafka.formats.decoding import ValueForm, check_form, plain, with_json

IN = pa.schema([("value", pa.binary())])
OUT = pa.schema([("value", pa.binary()), ("decoded", pa.string()), ("unreadable", pa.string())])
CONTEXT = SerializationContext("payments", MessageField.VALUE)
TIME = datetime(2026, 11, 23, 10, 0, 0, 250_000, UTC)
AVRO_1 = record(
    "Payment", user="string", cents="int", ts={"type": "long", "logicalType": "timestamp-millis"}
)
# Another order, a wider type, one that is new, one that may be missing, one that is gone.
AVRO_2 = record(
    "Payment",
    ts=MICROSECONDS,
    cents="long",
    amount=decimal(10),
    tags=(["null", {"type": "array", "items": "string"}], None),
    day=DAYS,
    raw="bytes",
    where={"type": "map", "values": "double"},
    kind={"type": "enum", "name": "Kind", "symbols": ["CARD", "CASH"]},
)
SECOND = {
    "ts": TIME,
    "cents": 2**40,
    "amount": Decimal("12.50"),
    "tags": ["a"],
    "day": date(2026, 11, 23),
    "raw": b"\xff\x00",
    "where": {"x": 1.5, "y": float("nan")},
    "kind": "CASH",
}


def avro(schemas: Registry, schema: dict[str, Any], value: dict[str, Any]) -> bytes:
    client = SchemaRegistryClient({"url": schemas.url})
    written = AvroSerializer(client, json.dumps(schema))(value, CONTEXT)
    return bytes(written or b"")


def message_class(*fields: tuple[str, int, str]) -> Any:
    """Return a class of messages with these fields: name, number, type."""
    file = descriptor_pb2.FileDescriptorProto(
        name="payment.proto",
        package="payments",
        syntax="proto3",
        dependency=["google/protobuf/timestamp.proto"],
    )
    file.message_type.add(name="Other")
    payment = file.message_type.add(name="Payment")
    for name, number, kind in fields:
        added = payment.field.add(name=name, number=number, label=1)
        if kind.startswith("."):
            added.type, added.type_name = 11, kind
        else:
            added.type = getattr(added, f"TYPE_{kind}")
    pool = DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("payments.Payment"))


def protobuf(schemas: Registry, message: Any) -> bytes:
    client = SchemaRegistryClient({"url": schemas.url})
    serializer = ProtobufSerializer(type(message), client, {"use.deprecated.format": False})
    written = serializer(message, CONTEXT)
    return bytes(written or b"")


def form(schemas: Registry, name: str, **shape: str) -> ValueForm:
    return ValueForm(
        name, (("max.retries", "1"), ("retries.wait.ms", "1"), ("url", schemas.url)),
        shape=json.dumps({"fields": shape}),
    )  # fmt: skip


def decoded(how: ValueForm, *values: bytes | None) -> list[tuple[Any, str | None]]:
    batch = pa.RecordBatch.from_arrays([pa.array(values, pa.binary())], schema=IN)
    rows = with_json(batch, how, OUT).to_pylist()
    assert [row["value"] for row in rows] == list(values)
    return [(row["decoded"] and json.loads(row["decoded"]), row["unreadable"]) for row in rows]


def test_each_value_is_read_by_the_schema_it_was_written_with(schemas: Registry) -> None:
    first = {"user": "ana", "cents": 5, "ts": TIME}
    values = [avro(schemas, AVRO_1, first), avro(schemas, AVRO_2, SECOND)]
    asked = len(schemas.asked)

    found = decoded(form(schemas, "avro"), *values * 50)

    shown = "2026-11-23T10:00:00.250000+00:00"
    assert found[0] == (first | {"ts": shown}, None)
    texts = {"ts": shown, "amount": "12.50", "day": "2026-11-23", "raw": "/wA="}
    assert found[1] == (SECOND | texts | {"where": {"x": 1.5, "y": "NaN"}}, None)
    assert found[2:] == found[:2] * 49
    assert len(schemas.asked) == asked + 2


def test_a_time_is_milliseconds_where_the_stream_counts_so(schemas: Registry) -> None:
    value = avro(schemas, AVRO_2, SECOND)
    ((content, _),) = decoded(form(schemas, "avro", ts="integer", amount="float"), value)
    assert content["ts"] == 1_795_428_000_250
    assert content["amount"] == 12.5


def test_messages_of_protobuf_need_no_classes_and_change_over_time(schemas: Registry) -> None:
    stamp = ".google.protobuf.Timestamp"
    old = message_class(("user", 1, "STRING"), ("cents", 2, "INT32"), ("ts", 3, stamp))
    more = ("cents", 2, "INT64"), ("vip", 4, "BOOL"), ("ts", 3, stamp)
    new = message_class(("user", 1, "STRING"), *more)
    one, other = old(user="ana", cents=5), new(user="bo", cents=2**40)
    for each in (one, other):
        each.ts.FromDatetime(TIME.replace(tzinfo=None))

    how = form(schemas, "protobuf", cents="integer", ts="integer")
    found = decoded(how, protobuf(schemas, one), protobuf(schemas, other))
    assert found == [
        ({"user": "ana", "cents": 5, "ts": 1_795_428_000_250}, None),
        ({"user": "bo", "cents": 2**40, "vip": False, "ts": 1_795_428_000_250}, None),
    ]


@pytest.mark.parametrize("name", ["avro", "protobuf"])
def test_what_is_no_such_value_is_told_and_others_are_read(schemas: Registry, name: str) -> None:
    if name == "avro":
        good = avro(schemas, AVRO_1, {"user": "ana", "cents": 5, "ts": TIME})
    else:
        good = protobuf(schemas, message_class(("user", 1, "STRING"))(user="ana"))
    unknown = b"\x00\x00\x00\x00\x09" + good[5:]
    found = decoded(
        form(schemas, name), b"", b'{"user": "ana"}', good[:-1], unknown, unknown, None, good
    )
    told = [reason for content, reason in found if content is None]
    wanted = [*["cannot be read"] * 3, *["there is no schema with the id 9"] * 2, None]
    assert [reason and reason.partition(":")[0] for reason in told] == wanted
    assert found[-1][0]["user"] == "ana"
    assert sum("/9?" in f"{path}?" for path in schemas.asked) == 1


def test_a_registry_that_does_not_answer_is_no_malformed_value(schemas: Registry) -> None:
    value = avro(schemas, AVRO_1, {"user": "ana", "cents": 5, "ts": TIME})
    how = form(schemas, "avro")
    schemas.fails_with = 503
    with pytest.raises(KafkaFailed, match="the schema registry refuses: not now"):
        decoded(how, value)
    schemas.fails_with = None
    assert decoded(how, value)[0][0]["user"] == "ana"
    away = ValueForm("avro", (("max.retries", "0"), ("url", "http://127.0.0.1:1")))
    with pytest.raises(KafkaFailed, match=r"cannot be reached: .* under source\.schema_registry"):
        decoded(away, value)


def test_schemas_of_a_file_do_without_a_registry(schemas: Registry) -> None:
    value = avro(schemas, AVRO_1, {"user": "ana", "cents": 5, "ts": TIME})
    message = protobuf(schemas, message_class(("user", 1, "STRING"))(user="bo"))
    text = json.dumps(schemas.schemas)
    schemas.fails_with = 503
    assert decoded(ValueForm("avro", schemas=text), value)[0][0]["user"] == "ana"
    assert decoded(ValueForm("protobuf", schemas=text), message)[0][0] == {"user": "bo"}
    unknown = b"\x00\x00\x00\x00\x09" + value[5:]
    (told,) = decoded(ValueForm("avro", schemas=text), unknown)
    assert told[1] == "there is no schema with the id 9"


@pytest.mark.parametrize("text", ["{", "[]", "{}", '[{"id": 1}]', '[{"schema": "x"}]', "[1]"])
def test_a_file_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(KafkaOptionError, match="schema_file: not a JSON list"):
        check_form(ValueForm("avro", schemas=text))


def test_a_setting_the_registrys_client_does_not_know_is_told_without_secrets() -> None:
    how = ValueForm(
        "avro", (("basic.auth.user.info", "me:hush"), ("url", "http://r"), ("urk", "1"))
    )
    with pytest.raises(KafkaOptionError, match=r"schema_registry: .*urk") as error:
        check_form(how)
    assert "hush" not in str(error.value)


def test_numbers_that_are_none_are_written_as_spark_reads_them() -> None:
    values = [float("nan"), float("inf"), float("-inf")]
    assert plain(values, None) == ["NaN", "Infinity", "-Infinity"]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_a_time_without_zone_is_of_utc_wherever_it_is_read(
    monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        naive = TIME.replace(tzinfo=None)
        found = {plain(each, "integer") for each in (TIME, naive, naive.isoformat())}
        assert found == {round(TIME.timestamp() * 1_000)}
    finally:
        monkeypatch.undo()
        time.tzset()
