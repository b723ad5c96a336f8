"""Rows in Avro and Protobuf: read by Confluent's deserializers, or refused with where and what."""

import base64
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from processor_runtime.kafka.settings import KafkaOptionError
from tests.processor_runtime.kafka.registry import DAYS, MICROSECONDS, Registry, decimal, record

pytest.importorskip("confluent_kafka", reason="the extra 'kafka' is not installed")
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2

from processor_runtime.kafka.cluster import KafkaFailed
from processor_runtime.kafka.formats.avro_values import Unfit, fitted
from processor_runtime.kafka.formats.decoding import ValueForm
from processor_runtime.kafka.formats.encoding import RowEncoder, check_output_form
from processor_runtime.kafka.output_form import OutputForm
from processor_runtime.sources.schema_values import SchemaValues
from tests.processor_runtime.kafka.messages import fields_of

ROW: dict[str, Any] = {
    "row_id": "1f",
    "kind": "match",
    "processor_id": "tested-card",
    "version": 3,
    "epoch": 2**40,
    "key": ["4711", 7],
    "match_id": "1f",
    "start_time": "2026-11-23T10:00:00.250Z",
    "end_time": "2026-11-23T10:03:00.000Z",
    "start_ms": 1_795_428_000_250,
    "end_ms": 1_795_428_180_000,
    "output": {"card": "4711", "spent": "250.00", "day": "2026-11-23", "tags": ["a"]},
}
START = datetime(2026, 11, 23, 10, 0, 0, 250_000, UTC)
SPENT = record(
    "Spent",
    card="string",
    spent=decimal(6),
    day=["null", DAYS],
    tags={"type": "array", "items": "string"},
)
OWN = record(
    "Alert",
    row_id="string",
    start_time=MICROSECONDS,
    note=("string", "none"),
    error=(["null", "string"], None),
    output=SPENT,
)


def form(schemas: Registry, name: str = "avro", **keys: Any) -> OutputForm:
    settings = (("max.retries", "0"), ("url", schemas.url))
    return OutputForm(name, "alerts", settings, **keys)


def encoded(how: OutputForm, row: dict[str, Any]) -> bytes:
    return RowEncoder(how)(json.dumps(row))


def of_avro(schemas: Registry, value: bytes) -> dict[str, Any]:
    client = SchemaRegistryClient({"url": schemas.url})
    found = AvroDeserializer(client)(value, SerializationContext("alerts", MessageField.VALUE))
    assert isinstance(found, dict)
    return found


def test_percepts_own_schema_has_all_of_a_row_with_json_where_rules_differ(
    schemas: Registry,
) -> None:
    encode = RowEncoder(form(schemas))
    first, second = encode(json.dumps(ROW)), encode(json.dumps({"row_id": "e", "kind": "error"}))
    found = of_avro(schemas, first)
    assert [json.loads(found[name]) for name in ("key", "output")] == [ROW["key"], ROW["output"]]
    assert (found["start_time"], found["epoch"], found["tag"]) == (START, 2**40, None)
    other = of_avro(schemas, second)
    assert {name for name, value in other.items() if value is not None} == {"row_id", "kind"}
    (registered,) = schemas.schemas
    assert registered["subject"] == "alerts-value"
    assert first[:5] == second[:5] == b"\0" + registered["id"].to_bytes(4, "big")


def test_a_schema_of_a_file_is_registered_once_and_takes_its_fields(schemas: Registry) -> None:
    how = form(schemas, schema=json.dumps(OWN))
    values = [encoded(how, ROW) for _ in range(2)]
    assert values[0] == values[1]
    assert len(schemas.schemas) == 1
    assert of_avro(schemas, values[0]) == {
        "row_id": "1f",
        "start_time": START,
        "note": "none",
        "error": None,
        "output": ROW["output"] | {"spent": Decimal("250.00"), "day": date(2026, 11, 23)},
    }


def test_a_message_of_percepts_own_tells_what_is_missing_from_nothing(schemas: Registry) -> None:
    encode = RowEncoder(form(schemas, "protobuf"))
    read = partial(fields_of, SchemaRegistryClient({"url": schemas.url}))
    found = read(encode(json.dumps(ROW | {"version": 0})))
    assert json.loads(found["output"]) == ROW["output"]
    assert (found["start_time"], found["epoch"]) == ("2026-11-23T10:00:00.250Z", str(2**40))
    assert found["version"] == 0
    assert read(encode('{"row_id": "e", "kind": "error"}')) == {"row_id": "e", "kind": "error"}


@pytest.mark.parametrize("name", ["avro", "protobuf"])
def test_what_is_written_is_what_a_source_reads(schemas: Registry, name: str) -> None:
    value = encoded(form(schemas, name), ROW)
    columns = pa.schema([("output", pa.string()), ("start_time", pa.timestamp("us", "UTC"))])
    found = SchemaValues(ValueForm(name, (("url", schemas.url),)), columns).read([value])
    assert found.malformed == {}
    (row,) = found.columns.to_dicts()
    assert json.loads(row["output"]) == ROW["output"]
    assert row["start_time"] == START


def test_without_registering_the_newest_schema_of_the_subject_is_used(schemas: Registry) -> None:
    how = form(schemas, registers=False)
    with pytest.raises(KafkaFailed, match=r"has no schema under alerts-value\. Register it"):
        encoded(how, ROW)
    schemas.register("alerts-value", {"schema": json.dumps(OWN | {"name": "Older"})})
    schemas.register("alerts-value", {"schema": json.dumps(OWN)})
    before = len(schemas.schemas)
    value = encoded(how, ROW)
    assert int.from_bytes(value[1:5], "big") == schemas.schemas[-1]["id"]
    given = form(schemas, registers=False, schema=json.dumps(OWN | {"name": "Older"}))
    assert int.from_bytes(encoded(given, ROW)[1:5], "big") == schemas.schemas[0]["id"]
    other = form(schemas, registers=False, schema=json.dumps(OWN | {"name": "Other"}))
    with pytest.raises(KafkaFailed, match=r"has not this schema under alerts-value"):
        encoded(other, ROW)
    with pytest.raises(KafkaFailed, match=r"is of AVRO\. Write value_format: avro"):
        encoded(form(schemas, "protobuf", registers=False), ROW)
    assert len(schemas.schemas) == before


def test_messages_of_ones_own_are_written_by_the_registrys_schema(schemas: Registry) -> None:
    file = descriptor_pb2.FileDescriptorProto(name="a.proto", package="own", syntax="proto3")
    alert = file.message_type.add(name="Alert")
    alert.field.add(name="row_id", number=1, label=1, type=9)
    alert.field.add(name="output", number=2, label=1, type=11, type_name=".own.Alert.Spent")
    nested = alert.nested_type.add(name="Spent")
    nested.field.add(name="spent", number=1, label=1, type=1)
    schemas.register("alerts-value", {"schema": text_of(file), "schemaType": "PROTOBUF"})
    how = form(schemas, "protobuf", registers=False)
    read = partial(fields_of, SchemaRegistryClient({"url": schemas.url}))
    assert read(encoded(how, ROW)) == {"row_id": "1f", "output": {"spent": 250.0}}
    with pytest.raises(KafkaFailed, match=r"row 1f of rule tested-card does not fit .*spent"):
        encoded(how, ROW | {"output": {"spent": "much"}})


def set_of(*files: descriptor_pb2.FileDescriptorProto) -> str:
    written = descriptor_pb2.FileDescriptorSet(file=files).SerializeToString()
    return base64.b64encode(written).decode()


def files_of_alert(syntax: str = "proto3") -> list[descriptor_pb2.FileDescriptorProto]:
    """Return a file whose first message names what it wants of a row, after what it imports."""
    currency = descriptor_pb2.FileDescriptorProto(name="own/currency.proto", package="own")
    currency.enum_type.add(name="Currency").value.add(name="EUR", number=0)
    amount = descriptor_pb2.FileDescriptorProto(
        name="own/amount.proto", package="own", dependency=["own/currency.proto"]
    )
    amount.message_type.add(name="Amount").field.add(name="value", number=1, label=1, type=1)
    alert = descriptor_pb2.FileDescriptorProto(
        name="own/alert.proto",
        package="own",
        syntax=syntax,
        dependency=["google/protobuf/timestamp.proto", "own/amount.proto"],
    )
    message = alert.message_type.add(name="Alert")
    message.field.add(name="row_id", number=1, label=1, type=9)
    start = message.field.add(name="start_time", number=2, label=1, type=11)
    start.type_name = ".google.protobuf.Timestamp"
    found = message.field.add(name="output", number=3, label=1, type=11)
    found.type_name = ".own.Alert.Found"
    nested = message.nested_type.add(name="Found")
    nested.field.add(name="card", number=1, label=2 if syntax == "proto2" else 1, type=9)
    nested.field.add(name="spent", number=2, label=1, type=11, type_name=".own.Amount")
    alert.message_type.add(name="Unused")
    alert.source_code_info.location.add(leading_comments="of nobody's business")
    return [currency, amount, alert]


FITTING = ROW | {"output": {"card": "4711", "spent": {"value": 250.0}}}


def test_messages_of_a_file_are_registered_once_with_what_they_import(schemas: Registry) -> None:
    how = form(schemas, "protobuf", schema=set_of(*files_of_alert()))
    values = [encoded(how, FITTING) for _ in range(2)]
    assert values[0] == values[1]
    read = partial(fields_of, SchemaRegistryClient({"url": schemas.url}))
    assert read(values[0]) == {
        "row_id": "1f",
        "start_time": "2026-11-23T10:00:00.250Z",
        "output": {"card": "4711", "spent": {"value": 250.0}},
    }
    assert [(each["subject"], each.get("references")) for each in schemas.schemas] == [
        ("own/currency.proto", []),
        ("own/amount.proto", [reference("own/currency.proto")]),
        ("alerts-value", [reference("own/amount.proto")]),
    ]
    assert "nobody" not in str(base64.b64decode(schemas.schemas[-1]["schema"]))


def reference(name: str) -> dict[str, Any]:
    return {"name": name, "subject": name, "version": 1}


def test_messages_of_a_file_not_registered_are_told_by_their_subject(schemas: Registry) -> None:
    currency, amount, alert = files_of_alert()
    how = form(schemas, "protobuf", registers=False, schema=set_of(currency, amount, alert))
    with pytest.raises(KafkaFailed, match=r"has not this schema under own/currency\.proto"):
        encoded(how, FITTING)
    encoded(form(schemas, "protobuf", schema=how.schema), FITTING)
    before = len(schemas.schemas)
    assert int.from_bytes(encoded(how, FITTING)[1:5], "big") == schemas.schemas[-1]["id"]
    alert.message_type[0].field.add(name="kind", number=9, label=1, type=9)
    other = form(schemas, "protobuf", registers=False, schema=set_of(currency, amount, alert))
    with pytest.raises(KafkaFailed, match=r"has not this schema under alerts-value"):
        encoded(other, FITTING)
    assert len(schemas.schemas) == before


def test_a_message_that_lacks_what_it_requires_is_told_with_the_row(schemas: Registry) -> None:
    how = form(schemas, "protobuf", schema=set_of(*files_of_alert("proto2")))
    assert encoded(how, FITTING)
    told = r"row 1f of rule tested-card does not fit .*output\.card"
    with pytest.raises(KafkaFailed, match=told):
        encoded(how, ROW | {"output": {}})


LOOPED, BROKEN, WITHOUT_MESSAGES = (files_of_alert() for _ in range(3))
LOOPED[0].dependency.append(LOOPED[1].name)
BROKEN[-1].message_type[0].field[2].type_name = ".own.Nowhere"
del WITHOUT_MESSAGES[-1].message_type[:]


@pytest.mark.parametrize("name", ["avro", "protobuf"])
def test_without_a_registry_the_newest_schema_of_a_file_of_schemas_is_used(
    schemas: Registry, name: str
) -> None:
    own = json.dumps(OWN) if name == "avro" else set_of(*files_of_alert())
    encoded(form(schemas, name), ROW)
    row = ROW if name == "avro" else FITTING
    wanted = encoded(form(schemas, name, schema=own), row)
    offline = OutputForm(name, "alerts", (), json.dumps(schemas.schemas))
    asked = len(schemas.asked)
    check_output_form(offline)
    assert encoded(offline, row) == wanted
    assert len(schemas.asked) == asked


ASKED = (("url", "http://r"),)


def messages(*files: descriptor_pb2.FileDescriptorProto) -> OutputForm:
    return OutputForm("protobuf", "alerts", ASKED, set_of(*files))


def known(name: str, *written: dict[str, Any]) -> OutputForm:
    """Return a form of rows without a registry, whose file has these schemas."""
    numbered = [{"id": 7, "subject": "alerts-value", "version": 1} | each for each in written]
    return OutputForm(name, "alerts", (), json.dumps(numbered))


def of_protobuf(schema: str) -> dict[str, Any]:
    return {"schema": schema, "schemaType": "PROTOBUF"}


NO_SET = "no set of descriptors of Protobuf"
UNUSABLE = "schema 7 of alerts-value cannot be used"
PROTO = b'syntax = "proto3";'
LONE = descriptor_pb2.FileDescriptorProto(name="b.proto")


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (OutputForm("avro", "alerts", ASKED, "{"), "no schema of Avro"),
        (
            OutputForm("avro", "alerts", ASKED, '{"type": "rekord", "name": "R"}'),
            "no schema of Avro",
        ),
        (OutputForm("avro", "alerts", ASKED, '"string"'), "Avro for rows: it is no record"),
        (OutputForm("protobuf", "alerts", ASKED, base64.b64encode(PROTO).decode()), NO_SET),
        (OutputForm("protobuf", "alerts", ASKED, base64.b64encode(bytes(9)).decode()), NO_SET),
        (messages(*files_of_alert()[1:]), r"own/currency\.proto is imported, and is not in it\. C"),
        (messages(*BROKEN), r"own/alert\.proto cannot be used"),
        (messages(*LOOPED), r"own/(currency|amount)\.proto cannot be used"),
        (messages(*LOOPED[:2]), "no file imports another"),
        (messages(*WITHOUT_MESSAGES), r"own/alert\.proto has no message, which rows are"),
        (
            messages(*files_of_alert(), LONE),
            r"no file imports b\.proto, own/alert\.proto, so which",
        ),
        (known("avro"), "not a JSON list of schemas with their id"),
        (known("avro", {"subject": "other", "schema": "{}"}), "has none under alerts-value"),
        (known("avro", {"schema": '"string"'}), f"{UNUSABLE}: it is no rec"),
        (known("avro", {"schema": "{"}), UNUSABLE),
        (known("avro", of_protobuf("x")), r"Write value_format: protobuf"),
        (known("protobuf", {"schema": "{}"}), r"is of AVRO\. Write value_format: avro"),
        (known("protobuf", of_protobuf(PROTO.decode())), UNUSABLE),
        (known("protobuf", of_protobuf("CgA=")), "cannot be used"),
    ],
)
def test_a_file_that_rows_cannot_be_written_by_is_refused_at_once(
    how: OutputForm, told: str
) -> None:
    with pytest.raises(KafkaOptionError, match=f"schema_file: .*{told}"):
        check_output_form(how)


def text_of(file: descriptor_pb2.FileDescriptorProto) -> str:
    return base64.b64encode(file.SerializeToString()).decode()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"spent": "hush"}, "output.spent: a text, and the schema wants decimal"),
        ({"spent": "0.001"}, "output.spent: the number has more digits than decimal(6, 2)"),
        ({"spent": "99999.00"}, "output.spent: the number has more digits than decimal(6, 2)"),
        ({"day": "hush"}, "output.day: a text, and the schema wants date"),
        ({"tags": "hush"}, "output.tags: a text, and the schema wants array"),
        ({"tags": [None]}, "output.tags[0]: the row has none, and the schema wants string"),
        ({"card": None}, "output.card: the row has none, and the schema wants string"),
    ],
)
def test_a_row_that_does_not_fit_is_told_with_row_field_and_mend_and_without_values(
    schemas: Registry, changed: dict[str, Any], told: str
) -> None:
    row = ROW | {"output": ROW["output"] | changed}
    with pytest.raises(KafkaFailed) as error:
        encoded(form(schemas, schema=json.dumps(OWN)), row)
    text = str(error.value)
    assert text.startswith("topic alerts: the row 1f of rule tested-card does not fit the schema 1")
    assert f"schema {schemas.schemas[0]['id']} of alerts-value: {told}. Change the schema" in text
    assert "hush" not in text


@pytest.mark.parametrize(
    ("schema", "value", "wanted"),
    [
        ("int", 2**31 - 1, 2**31 - 1),
        ("int", 2**31, Unfit),
        (["int", "long"], 2**31, 2**31),
        ("long", True, Unfit),
        ("long", 1.5, Unfit),
        ("boolean", 1, Unfit),
        ("double", "NaN", float("nan")),
        ("float", 3, 3.0),
        ("string", None, Unfit),
        (["null"], 1, Unfit),
        (["null", "string", "long"], 3, 3),
        (["null", "string", "long"], {"a": [1]}, '{"a":[1]}'),
        ({"type": "map", "values": "long"}, {"a": 1}, {"a": 1}),
        ({"type": "fixed", "name": "F", "size": 2}, "/wA=", b"\xff\x00"),
        ({"type": "fixed", "name": "F", "size": 3}, "/wA=", Unfit),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "A", "A"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "B", Unfit),
        (MICROSECONDS, 5, 5_000),
        ({"type": "bytes"}, "/wA=", b"\xff\x00"),
        ("bytes", "no Base64!", Unfit),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 0}, "NaN", Unfit),
    ],
)
def test_a_value_takes_the_type_of_its_field_or_is_refused(
    schema: Any, value: Any, wanted: Any
) -> None:
    if wanted is Unfit:
        with pytest.raises(Unfit):
            fitted(value, schema)
        return
    found = fitted(value, schema)
    assert found == wanted or (found != found and wanted != wanted)  # noqa: PLR0124 - NaN
    assert type(found) is type(wanted)


def test_what_the_registry_says_is_told_with_where_to_look(schemas: Registry) -> None:
    encode = RowEncoder(form(schemas))
    schemas.fails_with = 409
    with pytest.raises(KafkaFailed, match=r"not compatible with .*: not now\. Change schema_file"):
        encode(json.dumps(ROW))
    schemas.fails_with = 401
    with pytest.raises(KafkaFailed, match="the schema registry refuses: not now"):
        encode(json.dumps(ROW))
    schemas.fails_with = None
    assert of_avro(schemas, encode(json.dumps(ROW)))["row_id"] == "1f"
    away = OutputForm("avro", "alerts", (("max.retries", "0"), ("url", "http://127.0.0.1:1")))
    with pytest.raises(KafkaFailed, match=r"cannot be reached: .* of the output to alerts"):
        encoded(away, ROW)
