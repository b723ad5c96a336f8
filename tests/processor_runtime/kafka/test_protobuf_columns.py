"""Messages of Protobuf with fields of every kind, read into columns."""

import base64
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")
from google.protobuf import descriptor_pb2, duration_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from processor_runtime.kafka.formats.decoding import ValueForm
from processor_runtime.sources.schema_values import SchemaValues

TIME = datetime(2026, 11, 23, 10, 0, 0, 250_000, UTC)
INSTANT = pa.timestamp("us", "UTC")
KNOWN = ".google.protobuf."
REPEATED = 3
FIELDS = {
    "name": "STRING",
    "octets": "BYTES",
    "huge": "UINT64",
    "small": "SINT32",
    "rate": "FLOAT",
    "share": "DOUBLE",
    "kind": ".own.Kind",
    "ts": f"{KNOWN}Timestamp",
    "lasted": f"{KNOWN}Duration",
    "count": f"{KNOWN}Int64Value",
    "inner": ".own.Event.Inner",
}
LISTS = {"tags": "STRING", "kinds": ".own.Kind", "inners": ".own.Event.Inner"}


def file() -> descriptor_pb2.FileDescriptorProto:
    """Return a file with the messages `Other` and `Event`."""
    found = descriptor_pb2.FileDescriptorProto(name="own.proto", package="own", syntax="proto3")
    found.dependency.extend(each.DESCRIPTOR.name for each in IMPORTED)
    kinds = found.enum_type.add(name="Kind")
    for number, name in enumerate(("CARD", "CASH")):
        kinds.value.add(name=name, number=number)
    found.message_type.add(name="Other")
    event = found.message_type.add(name="Event")
    inner = event.nested_type.add(name="Inner")
    add(inner, 1, "size", "INT64")
    add(inner, 2, "at", f"{KNOWN}Timestamp")
    entry = event.nested_type.add(name="SharesEntry")
    entry.options.map_entry = True
    add(entry, 1, "key", "STRING")
    add(entry, 2, "value", "DOUBLE")
    event.oneof_decl.add(name="_maybe")
    for number, (name, kind) in enumerate((FIELDS | LISTS).items(), 1):
        add(event, number, name, kind).label = REPEATED if name in LISTS else 1
    add(event, 20, "shares", ".own.Event.SharesEntry").label = REPEATED
    maybe = add(event, 21, "maybe", "INT32")
    maybe.proto3_optional, maybe.oneof_index = True, 0
    return found


def add(message: Any, number: int, name: str, kind: str) -> Any:
    field = message.field.add(name=name, number=number, label=1)
    if kind.startswith("."):
        field.type, field.type_name = (14 if kind.endswith("Kind") else 11), kind
    else:
        field.type = getattr(field, f"TYPE_{kind}")
    return field


IMPORTED = (timestamp_pb2, duration_pb2, wrappers_pb2)
POOL = DescriptorPool()
for each in IMPORTED:
    POOL.AddSerializedFile(each.DESCRIPTOR.serialized_pb)
POOL.Add(file())
EVENT = GetMessageClass(POOL.FindMessageTypeByName("own.Event"))
SCHEMA = base64.b64encode(file().SerializeToString()).decode()
SCHEMAS = json.dumps([{"id": 7, "schemaType": "PROTOBUF", "schema": SCHEMA}])
SECOND_MESSAGE = b"\0\0\0\0\x07\x02\x02"


def read(*messages: Any, **columns: pa.DataType) -> tuple[list[dict[str, Any]], dict[int, str]]:
    values = [SECOND_MESSAGE + each.SerializeToString() for each in messages]
    reader = SchemaValues(ValueForm("protobuf", schemas=SCHEMAS), pa.schema(list(columns.items())))
    found = reader.read(values)
    return found.columns.to_dicts(), {row: why.reason for row, why in found.malformed.items()}


def event() -> Any:
    found = EVENT(
        name="ana", octets=b"\xff\x00", huge=2**63, small=-1, rate=0.5, share=float("nan"),
        kind=1, tags=["a", "b"], kinds=[0, 1, 9], shares={"x": 1.5}, maybe=0,
    )  # fmt: skip
    found.ts.FromDatetime(TIME)
    found.lasted.FromMilliseconds(3_500)
    found.count.value = 2**40
    found.inner.size = 2**41
    found.inner.at.FromDatetime(TIME)
    found.inners.add(size=1)
    return found


COLUMNS = {
    "name": pa.string(),
    "octets": pa.binary(),
    "huge": pa.decimal128(20, 0),
    "small": pa.int8(),
    "rate": pa.float32(),
    "share": pa.float64(),
    "kind": pa.string(),
    "ts": INSTANT,
    "lasted": pa.string(),
    "count": pa.int64(),
    "inner": pa.struct([("size", pa.int64()), ("at", INSTANT), ("new", pa.string())]),
    "tags": pa.list_(pa.string()),
    "kinds": pa.list_(pa.string()),
    "inners": pa.list_(pa.struct([("size", pa.int32())])),
    "shares": pa.map_(pa.string(), pa.float64()),
    "maybe": pa.int32(),
    "missing": pa.string(),
}
ALL = {
    "name": "ana",
    "octets": b"\xff\x00",
    "huge": Decimal(2**63),
    "small": -1,
    "rate": 0.5,
    "kind": "CASH",
    "ts": TIME,
    "lasted": "3.500s",
    "count": 2**40,
    "inner": {"size": 2**41, "at": TIME, "new": None},
    "tags": ["a", "b"],
    "kinds": ["CARD", "CASH", "9"],
    "inners": [{"size": 1}],
    "shares": {"x": 1.5},
    "maybe": 0,
    "missing": None,
}
NOTHING = {
    "name": "",
    "octets": b"",
    "huge": Decimal(0),
    "small": 0,
    "rate": 0.0,
    "share": 0.0,
    "kind": "CARD",
    "tags": [],
    "kinds": [],
    "inners": [],
    "shares": {},
}


def test_fields_of_every_kind_become_columns_and_what_is_left_out_its_default() -> None:
    (found, empty), malformed = read(event(), EVENT(), **COLUMNS)
    assert malformed == {}
    assert str(found.pop("share")) == "nan"
    assert found == ALL
    assert empty == dict.fromkeys(COLUMNS) | NOTHING


def test_a_column_of_text_takes_every_field_of_a_message() -> None:
    (found, empty), malformed = read(event(), EVENT(), **dict.fromkeys(COLUMNS, pa.string()))
    assert malformed == {}
    assert found["octets"] == "/wA="
    assert (found["huge"], found["small"], found["rate"]) == (str(2**63), "-1", "0.5")
    assert (found["ts"], found["count"]) == ("2026-11-23T10:00:00.250Z", str(2**40))
    assert json.loads(found["inner"]) == {"size": str(2**41), "at": "2026-11-23T10:00:00.250Z"}
    assert (found["kinds"], found["shares"]) == ('["CARD","CASH","9"]', '{"x":1.5}')
    assert (empty["inner"], empty["ts"], empty["maybe"]) == (None, None, None)


def test_what_no_column_can_hold_costs_its_own_row() -> None:
    too_much, late = event(), event()
    too_much.small = 200
    late.ts.seconds = 2**50
    messages = [event()] * 400 + [too_much, late] + [event()] * 400
    found, malformed = read(*messages, small=pa.int8(), ts=INSTANT, huge=pa.int64())
    assert malformed.keys() == set(range(802))
    found, malformed = read(*messages, small=pa.int8(), ts=INSTANT)
    assert malformed == {
        400: "does not fit the stream's schema: small",
        401: "cannot be read: ts: there is no such time",
    }
    assert found[402] == {"small": -1, "ts": TIME}
    assert found[400]["ts"] == TIME
