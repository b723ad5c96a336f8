"""Avro and Protobuf, written by Confluent's serializers and schemas that change, as columns."""

import json
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
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
from fastavro import parse_schema, schemaless_writer
from google.protobuf import descriptor_pb2, timestamp_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from processor_runtime.kafka.cluster import KafkaFailed
from processor_runtime.kafka.formats.decoding import ValueForm, check_form
from processor_runtime.sources.schema_values import SchemaValues

INSTANT = pa.timestamp("us", "UTC")
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


def form(schemas: Registry, name: str) -> ValueForm:
    return ValueForm(
        name, (("max.retries", "1"), ("retries.wait.ms", "1"), ("url", schemas.url))
    )  # fmt: skip


def decoded(
    how: ValueForm, *values: bytes | None, **columns: pa.DataType
) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """Return rows, and by row why one is malformed."""
    found = SchemaValues(how, pa.schema(list(columns.items()))).read(values)
    assert found.columns.columns == list(columns)
    assert all(why.raw == values[row] for row, why in found.malformed.items())
    return found.columns.to_dicts(), {row: why.reason for row, why in found.malformed.items()}


FIELDS: dict[str, pa.DataType] = {
    "user": pa.string(),
    "cents": pa.int64(),
    "ts": INSTANT,
    "amount": pa.decimal128(10, 2),
    "tags": pa.list_(pa.string()),
    "day": pa.date32(),
    "raw": pa.binary(),
    "kind": pa.string(),
}


def test_each_value_is_read_by_the_schema_it_was_written_with(schemas: Registry) -> None:
    first = {"user": "ana", "cents": 5, "ts": TIME}
    values = [avro(schemas, AVRO_1, first), avro(schemas, AVRO_2, SECOND)]
    asked = len(schemas.asked)

    found, malformed = decoded(form(schemas, "avro"), *values * 50, **FIELDS)

    assert found[0] == dict.fromkeys(FIELDS) | first
    assert found[1] == {name: SECOND.get(name) for name in FIELDS}
    assert found[2:] == found[:2] * 49
    assert malformed == {}
    assert len(schemas.asked) == asked + 2
    assert decoded(form(schemas, "avro"), **FIELDS) == ([], {})


def test_what_a_column_cannot_hold_as_it_is_is_written_as_text(schemas: Registry) -> None:
    value = avro(schemas, AVRO_2, SECOND)
    (row,), malformed = decoded(
        form(schemas, "avro"), value, **dict.fromkeys(("ts", "cents", *SECOND), pa.string())
    )
    assert malformed == {}
    assert row.pop("where") == '{"x":1.5,"y":"NaN"}'
    assert row == {
        "ts": "2026-11-23T10:00:00.250000+00:00",
        "cents": str(2**40),
        "amount": "12.50",
        "tags": '["a"]',
        "day": "2026-11-23",
        "raw": "/wA=",
        "kind": "CASH",
    }


def test_a_time_is_milliseconds_where_the_stream_counts_so(schemas: Registry) -> None:
    value = avro(schemas, AVRO_2, SECOND)
    how = form(schemas, "avro")
    (row,), _ = decoded(how, value, ts=pa.int64(), amount=pa.float64())
    assert row == {"ts": 1_795_428_000_250, "amount": 12.5}
    (row,), _ = decoded(how, value, ts=pa.timestamp("us"), where=pa.map_(pa.string(), pa.float64()))
    assert row["ts"] == TIME.replace(tzinfo=None)
    assert row["where"]["x"] == 1.5


def test_messages_of_protobuf_need_no_classes_and_change_over_time(schemas: Registry) -> None:
    stamp = ".google.protobuf.Timestamp"
    old = message_class(("user", 1, "STRING"), ("cents", 2, "INT32"), ("ts", 3, stamp))
    more = ("cents", 2, "INT64"), ("vip", 4, "BOOL"), ("ts", 3, stamp)
    new = message_class(("user", 1, "STRING"), *more)
    one, other, timeless = old(user="ana", cents=5), new(user="bo", cents=2**40), new()
    for each in (one, other):
        each.ts.FromDatetime(TIME.replace(tzinfo=None))

    values = [protobuf(schemas, each) for each in (one, other, timeless)]
    columns = {"user": pa.string(), "cents": pa.int64(), "ts": INSTANT, "vip": pa.bool_()}
    found, malformed = decoded(form(schemas, "protobuf"), *values, **columns)
    assert found == [
        {"user": "ana", "cents": 5, "ts": TIME, "vip": None},
        {"user": "bo", "cents": 2**40, "ts": TIME, "vip": False},
        {"user": "", "cents": 0, "ts": None, "vip": False},
    ]
    assert malformed == {}
    times, _ = decoded(form(schemas, "protobuf"), *values, ts=pa.int64())
    assert [row["ts"] for row in times] == [1_795_428_000_250] * 2 + [None]
    texts, _ = decoded(form(schemas, "protobuf"), *values, ts=pa.string(), cents=pa.string())
    assert texts[1] == {"ts": "2026-11-23T10:00:00.250Z", "cents": str(2**40)}


@pytest.mark.parametrize("name", ["avro", "protobuf"])
def test_what_is_no_such_value_is_told_and_others_are_read(schemas: Registry, name: str) -> None:
    if name == "avro":
        good = avro(schemas, AVRO_1, {"user": "ana", "cents": 5, "ts": TIME})
    else:
        good = protobuf(schemas, message_class(("user", 1, "STRING"))(user="ana"))
    unknown = b"\x00\x00\x00\x00\x09" + good[5:]
    values = (b"", b'{"user": "ana"}', good[:3], good[:-1], unknown, unknown, None, good)
    found, malformed = decoded(form(schemas, name), *values, user=pa.string())
    told = [malformed[row].partition(":")[0] for row in range(7)]
    wanted = [*["cannot be read"] * 4, *["there is no schema with the id 9"] * 2]
    assert told == [*wanted, "the value is NULL"]
    assert [row["user"] for row in found] == [None] * 7 + ["ana"]
    assert sum("/9?" in f"{path}?" for path in schemas.asked) == 1


@pytest.mark.parametrize("name", ["avro", "protobuf"])
def test_a_broken_record_costs_no_other(schemas: Registry, name: str) -> None:
    users = [f"user-{number}" for number in range(2_500)]
    if name == "avro":
        first = avro(schemas, AVRO_1, {"user": "ana", "cents": 5, "ts": TIME})
        values = [avro_again(first, {"user": user, "cents": 5, "ts": TIME}) for user in users]
    else:
        of = message_class(("user", 1, "STRING"))
        header = protobuf(schemas, of())
        values = [header + of(user=user).SerializeToString() for user in users]
    broken = {1, 700, 2_499}
    for row in broken:
        values[row] = values[row][:-3]
    found, malformed = decoded(form(schemas, name), *values, user=pa.string())
    assert malformed.keys() == broken
    wanted = [None if row in broken else user for row, user in enumerate(users)]
    assert [row["user"] for row in found] == wanted


def avro_again(like: bytes, value: dict[str, Any]) -> bytes:
    """Return a value of `AVRO_1` with the same header as another."""
    written = BytesIO()
    schemaless_writer(written, parse_schema(AVRO_1), value)
    return like[:5] + written.getvalue()


def test_a_value_behind_another_in_one_record_swallows_no_next_one(schemas: Registry) -> None:
    good = avro(schemas, AVRO_1, {"user": "ana", "cents": 5, "ts": TIME})
    # Behind the first record begins a text as long as all that follows it in the next value.
    greedy = good + good[:5] + bytes([2 * (len(good) + 8)])
    columns = {"user": pa.string(), "cents": pa.int32()}
    found, malformed = decoded(form(schemas, "avro"), good, greedy, good, good, **columns)
    assert malformed == {}
    assert found == [{"user": "ana", "cents": 5}] * 4


@pytest.mark.parametrize("name", ["avro", "protobuf"])
def test_a_value_that_does_not_fit_its_column_is_told_by_its_name(
    schemas: Registry, name: str
) -> None:
    if name == "avro":
        fields = record("P", user="string", cents="long", rate="double", vip="boolean")
        good = {"user": "ana", "cents": 5, "rate": 1.5, "vip": True}
        values = [avro(schemas, fields, good | {"cents": cents}) for cents in (5, 2**31)]
    else:
        kinds = ("STRING", "INT64", "DOUBLE", "BOOL")
        names = ("user", "cents", "rate", "vip")
        of = message_class(*((each, n, kinds[n - 1]) for n, each in enumerate(names, 1)))
        values = [
            protobuf(schemas, of(user="ana", cents=cents, rate=1.5, vip=True))
            for cents in (5, 2**31)
        ]
    how = form(schemas, name)
    fits = {"cents": pa.int32(), "rate": pa.decimal128(4, 2), "user": pa.string()}
    found, malformed = decoded(how, *values, **fits)
    assert found[0] == {"cents": 5, "rate": Decimal("1.50"), "user": "ana"}
    assert malformed == {1: "does not fit the stream's schema: cents"}
    none_fits = {"vip": pa.int32(), "rate": pa.int64(), "user": pa.int32(), "cents": pa.bool_()}
    _, malformed = decoded(how, *values, **none_fits)
    told = "does not fit the stream's schema: vip, rate, user, cents"
    assert malformed == {0: told, 1: told}


def test_a_registry_that_does_not_answer_is_no_malformed_value(schemas: Registry) -> None:
    value = avro(schemas, AVRO_1, {"user": "ana", "cents": 5, "ts": TIME})
    how = form(schemas, "avro")
    schemas.fails_with = 503
    with pytest.raises(KafkaFailed, match="the schema registry refuses: not now"):
        decoded(how, value, user=pa.string())
    schemas.fails_with = None
    assert decoded(how, value, user=pa.string())[0][0]["user"] == "ana"
    away = ValueForm("avro", (("max.retries", "0"), ("url", "http://127.0.0.1:1")))
    with pytest.raises(KafkaFailed, match=r"cannot be reached: .* under source\.schema_registry"):
        decoded(away, value, user=pa.string())


def test_schemas_of_a_file_do_without_a_registry(schemas: Registry) -> None:
    value = avro(schemas, AVRO_1, {"user": "ana", "cents": 5, "ts": TIME})
    message = protobuf(schemas, message_class(("user", 1, "STRING"))(user="bo"))
    text = json.dumps(schemas.schemas)
    schemas.fails_with = 503
    avro_form, protobuf_form = (ValueForm(name, schemas=text) for name in ("avro", "protobuf"))
    assert decoded(avro_form, value, user=pa.string())[0] == [{"user": "ana"}]
    assert decoded(protobuf_form, message, user=pa.string())[0] == [{"user": "bo"}]
    unknown = b"\x00\x00\x00\x00\x09" + value[5:]
    _, malformed = decoded(avro_form, unknown, user=pa.string())
    assert malformed == {0: "there is no schema with the id 9"}


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


@pytest.mark.parametrize("name", ["avro", "protobuf"])
def test_numbers_that_are_none_are_read(schemas: Registry, name: str) -> None:
    numbers = [float("nan"), float("inf"), float("-inf")]
    if name == "avro":
        values = [avro(schemas, record("N", a="double"), {"a": each}) for each in numbers]
    else:
        of = message_class(("a", 1, "DOUBLE"))
        values = [protobuf(schemas, of(a=each)) for each in numbers]
    found, malformed = decoded(form(schemas, name), *values, a=pa.float64())
    assert repr([row["a"] for row in found]) == "[nan, inf, -inf]"
    assert malformed == {}
    _, malformed = decoded(form(schemas, name), *values, a=pa.decimal128(9, 2))
    assert len(malformed) == 3


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_a_time_without_zone_is_of_utc_wherever_it_is_read(
    monkeypatch: pytest.MonkeyPatch, schemas: Registry, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    local = {"type": "long", "logicalType": "local-timestamp-millis"}
    naive = TIME.replace(tzinfo=None)
    try:
        flat = avro(schemas, record("T", ts=local), {"ts": naive})
        beside = record("U", ts=local, either=["string", "int"])  # read by fastavro
        values = [flat, avro(schemas, beside, {"ts": naive, "either": 1})]
        how = form(schemas, "avro")
        for data_type, wanted in ((INSTANT, TIME), (pa.int64(), round(TIME.timestamp() * 1_000))):
            assert decoded(how, *values, ts=data_type) == ([{"ts": wanted}] * 2, {})
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_record_nested_too_deeply_is_malformed_and_others_are_read(schemas: Registry) -> None:
    branch = record("Branch", user="string", inner=["null", "Branch"])
    values = [avro(schemas, branch, {"user": "ana", "inner": None})]
    deep = b"\x06ana\x02" * 900 + b"\x06ana\x00"
    found, malformed = decoded(
        form(schemas, "avro"), values[0][:5] + deep, *values, user=pa.string(), inner=pa.string()
    )
    assert malformed == {0: "does not fit the stream's schema: inner"}
    assert found[1] == {"user": "ana", "inner": None}
