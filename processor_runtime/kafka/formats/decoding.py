"""Values in Avro and Protobuf → JSON, by the schema that each of them names.

    magic byte, id of the schema, … ──► schema, of a registry or a file ──► Confluent's deserializer
                                                                 ──► JSON of the stream's columns

Each value is read by the schema it was written with, so that schemas may change over time: what a
value lacks is NULL, and what the stream does not know is ignored. A value that cannot be read
is reported; a registry that cannot be reached is an error, which may pass.
"""

import base64
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Any, Final
from uuid import UUID

import pyarrow as pa
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.schema_registry.serde import SchemaId
from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import MessageToDict
from google.protobuf.message_factory import GetMessageClass
from httpx2 import TransportError

from processor_runtime.kafka.formats.schema_file import SchemasInFile
from processor_runtime.kafka.formats.schema_registry import registry_client, registry_failures

_KIND: Final = "PROTOBUF"
_FORMAT: Final = "serialized"
DECODED: Final = "decoded"
UNREADABLE: Final = "unreadable"
"""The columns beside `value`: its JSON, or why there is none."""

_NOT_FOUND: Final = 404
_HEADER_BYTES: Final = 5
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_LONGEST_REASON: Final = 300
_NONE_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

Shape = Any
"""What a column wants of a value, where it matters: "integer", "float", {"fields": …}, {"items": …}
or {"values": …}."""


@dataclass(frozen=True, slots=True)
class ValueForm:
    """How values are written.

    Args:
        name: avro or protobuf.
        registry: settings of Confluent's client, `url` among them; empty = there is none.
        schemas: or a JSON list of schemas with their ids.
        shape: what the columns of the stream want, as JSON.
    """

    name: str
    registry: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    schemas: str = field(default="", repr=False)
    shape: str = "null"


def check_form(form: ValueForm) -> None:
    """Check the settings of a registry, or the schemas of a file, without any connection.

    Raises:
        KafkaOptionError: they cannot be used.
    """
    _schemas(form)


def with_json(batch: pa.RecordBatch, form: ValueForm, schema: pa.Schema) -> pa.RecordBatch:
    """Return records with the JSON of their values beside them.

    `batch`: with a column `value`. `schema`: the columns of the batch, `decoded` and `unreadable`.

    Raises:
        KafkaFailed: the registry does not answer.
    """
    read = _reader(os.getpid(), form)
    with registry_failures("source.schema_registry"):
        found = [read(value) for value in batch.column("value").to_pylist()]
    beside = {DECODED: [text for text, _ in found], UNREADABLE: [reason for _, reason in found]}
    columns = [
        pa.array(beside[each.name], each.type) if each.name in beside else batch.column(each.name)
        for each in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@lru_cache(maxsize=4)
def _reader(_process: int, form: ValueForm) -> "_ValueReader":
    """Return the reader of this process, which keeps the schemas it has seen."""
    schemas = _schemas(form)
    deserialize: Callable[[bytes], Any]
    deserialize = AvroDeserializer(schemas) if form.name == "avro" else ProtobufMessages(schemas)
    return _ValueReader(deserialize, json.loads(form.shape))


def _schemas(form: ValueForm) -> Any:
    return SchemasInFile.of(form.schemas) if form.schemas else registry_client(dict(form.registry))


@dataclass(slots=True)
class _ValueReader:
    deserialize: Callable[[bytes], Any]
    shape: Shape
    _unknown: dict[bytes, str] = field(default_factory=dict)

    def __call__(self, value: bytes | None) -> tuple[str | None, str | None]:
        """Return the JSON of a value, or why it has none.

        Raises:
            SchemaRegistryError, TransportError: the registry refuses, or cannot be reached.
        """
        if value is None:
            return None, None
        header = value[:_HEADER_BYTES]
        if (known := self._unknown.get(header)) is not None:
            return None, known
        try:
            content = plain(self.deserialize(value), self.shape)
            if not isinstance(content, dict):
                return None, "the value is no record"
            return json.dumps(content, ensure_ascii=False, separators=(",", ":")), None
        except SchemaRegistryError as error:
            if error.http_status_code != _NOT_FOUND:
                raise
            number = int.from_bytes(header[1:], "big")
            reason = self._unknown[header] = f"there is no schema with the id {number}"
            return None, reason
        except TransportError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a decoder finds in foreign bytes
            message = str(error).partition("\n")[0] or type(error).__name__
            return None, f"cannot be read: {message}"[:_LONGEST_REASON]


def plain(value: Any, shape: Shape) -> Any:  # noqa: C901, PLR0911 - one line per type
    """Return a value as JSON has it, so that the column of the stream takes it without loss.

    Times are ISO 8601, or milliseconds since 1970 where the column is a whole number; bytes are
    Base64; decimals are texts with all digits.
    """
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if isfinite(value) else _NONE_FINITE[str(value)]
        case str():
            return _number(value) if shape in {"integer", "float"} else value
        case datetime():
            return _milliseconds(value) if shape == "integer" else value.isoformat()
        case date() | time():
            return value.isoformat()
        case Decimal():
            return float(value) if shape == "float" else str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case UUID():
            return str(value)
        case Mapping():
            shapes = shape if isinstance(shape, dict) else {}
            fields, others = shapes.get("fields", {}), shapes.get("values")
            return {
                str(name): plain(each, fields.get(name, others)) for name, each in value.items()
            }
        case list() | tuple():
            items = shape.get("items") if isinstance(shape, dict) else None
            return [plain(each, items) for each in value]
        case _:
            return str(value)


def _number(text: str) -> Any:
    """Return the number in a text (Protobuf writes 64 bits so), or its time in milliseconds."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return _milliseconds(datetime.fromisoformat(text))
    except ValueError:
        return text


def _milliseconds(at: datetime) -> int:
    """Return a time in milliseconds since 1970; one without zone is of UTC, wherever this runs."""
    aware = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MILLISECOND


@dataclass(slots=True)
class ProtobufMessages:
    """Reads Protobuf messages of Confluent's wire format, without generated classes.

    Confluent's deserializer wants one class for all values; it is asked for the descriptors alone.
    """

    schemas: Any
    _parser: Any = field(init=False)
    _classes: dict[tuple[int, tuple[int, ...]], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        conf = {"use.deprecated.format": False}
        self._parser = ProtobufDeserializer(Empty, conf, self.schemas)

    def __call__(self, value: bytes) -> dict[str, Any]:
        """Return the fields of a message under the names of its schema, with their defaults."""
        named = SchemaId(_KIND)
        payload = self._parser._schema_id_deserializer(value, None, named)  # noqa: SLF001
        message = self._class_of(int(named.id or 0), tuple(named.message_indexes or (0,)))()
        message.ParseFromString(payload.read())
        fields: dict[str, Any] = MessageToDict(
            message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
        return fields

    def _class_of(self, number: int, indexes: tuple[int, ...]) -> Any:
        key = (number, indexes)
        if key not in self._classes:
            schema = self.schemas.get_schema(number, None, _FORMAT)
            file, pool = self._parser._get_parsed_schema(schema)  # noqa: SLF001
            described = self._parser._get_message_desc(  # noqa: SLF001
                pool, pool.FindFileByName(file.name), list(indexes)
            )
            self._classes[key] = GetMessageClass(described)
        return self._classes[key]
