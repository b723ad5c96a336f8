"""Values in Avro and Protobuf → columns, by the schema that each of them names.

    magic byte, id of the schema, … ──► schema, of a registry or a file ──► what reads its values
    values of one schema ──AvroRecords, ProtobufRecords──► columns, or why not

Each value is read by the schema it was written with, so that schemas may change over time. A value
that cannot be read is reported; a registry that cannot be reached is an error, which may pass.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from io import BytesIO
from typing import Any, Final

import pyarrow as pa
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.schema_registry.serde import SchemaId
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message_factory import GetMessageClass
from httpx2 import TransportError

from processor_runtime.kafka.formats.avro_columns import AvroRecords
from processor_runtime.kafka.formats.parts import Part, RecordReader, reason_of
from processor_runtime.kafka.formats.protobuf_columns import ProtobufRecords
from processor_runtime.kafka.formats.schema_file import SchemasInFile
from processor_runtime.kafka.formats.schema_registry import registry_client, registry_failures

_PROTOBUF: Final = "PROTOBUF"
_NOT_FOUND: Final = 404
_NO_HEADER: Final = "cannot be read: it does not begin with a magic byte and the id of a schema"


@dataclass(frozen=True, slots=True)
class ValueForm:
    """How values are written.

    Args:
        name: avro or protobuf.
        registry: settings of Confluent's client, `url` among them; empty = there is none.
        schemas: or a JSON list of schemas with their ids.
    """

    name: str
    registry: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    schemas: str = field(default="", repr=False)


def check_form(form: ValueForm) -> None:
    """Check the settings of a registry, or the schemas of a file, without any connection.

    Raises:
        KafkaOptionError: they cannot be used.
    """
    _schemas(form)


def parts_of(
    values: Sequence[bytes | None], form: ValueForm, columns: pa.Schema
) -> tuple[list[Part], dict[int, str]]:
    """Return what values hold, and by row why one cannot be read; one that is NULL has neither.

    `columns`: names of fields, and types.

    Raises:
        KafkaFailed: the registry does not answer.
    """
    with registry_failures("source.schema_registry"):
        return _decoder(os.getpid(), form, columns).read(values)


@lru_cache(maxsize=4)
def _decoder(_process: int, form: ValueForm, columns: pa.Schema) -> "_Decoder":
    """Return the decoder of this process, which keeps the schemas it has seen."""
    schemas = _schemas(form)
    if form.name == "avro":
        return _Decoder("AVRO", partial(_avro_records, AvroDeserializer(schemas), columns))
    return _Decoder(_PROTOBUF, partial(_protobuf_records, ProtobufMessages(schemas), columns))


def _schemas(form: ValueForm) -> Any:
    return SchemasInFile.of(form.schemas) if form.schemas else registry_client(dict(form.registry))


def _avro_records(parser: Any, columns: pa.Schema, named: SchemaId, header: bytes) -> RecordReader:
    schema = parser._get_parsed_schema(parser._get_writer_schema(named))  # noqa: SLF001 - its readers are slower
    return AvroRecords(schema, header, columns.names)


def _protobuf_records(
    messages: "ProtobufMessages", columns: pa.Schema, named: SchemaId, header: bytes
) -> RecordReader:
    return ProtobufRecords(messages.class_of(named), header, columns)


@dataclass(slots=True)
class _Decoder:
    """Reads values of one `kind`; `reader_of` makes what reads those of a schema."""

    kind: str
    reader_of: Callable[[SchemaId, bytes], RecordReader]
    _readers: dict[bytes, RecordReader] = field(default_factory=dict)
    _unknown: dict[Any, str] = field(default_factory=dict)
    """By id of a schema, why there is none."""

    def read(self, values: Sequence[bytes | None]) -> tuple[list[Part], dict[int, str]]:
        """Return what values hold, and which cannot be read; see `parts_of`.

        Raises:
            SchemaRegistryError, TransportError: the registry refuses, or cannot be reached.
        """
        rows_of: dict[bytes, list[int]] = {}
        unreadable: dict[int, str] = {}
        header = b""
        for row, value in enumerate(values):
            if value is None:
                continue
            if not header or not value.startswith(header):
                header = self._header(value)
            if header:
                rows_of.setdefault(header, []).append(row)
            else:
                unreadable[row] = _NO_HEADER
        parts: list[Part] = []
        for header, rows in rows_of.items():
            reader = self._reader(header)
            if isinstance(reader, str):
                unreadable.update(dict.fromkeys(rows, reader))
            else:
                parts += reader.read(rows, [values[row] or b"" for row in rows], unreadable)
        return parts, unreadable

    def _header(self, value: bytes) -> bytes:
        """Return what is in front of a record; empty if there is no such thing."""
        stream = BytesIO(value)
        try:
            SchemaId(self.kind).from_bytes(stream)
        except Exception:  # noqa: BLE001 - whatever is found in foreign bytes
            return b""
        return value[: stream.tell()]

    def _reader(self, header: bytes) -> RecordReader | str:
        """Return what reads the values of a schema, or why there is none."""
        if header in self._readers:
            return self._readers[header]
        named = SchemaId(self.kind)
        named.from_bytes(BytesIO(header))
        number = named.guid if named.id is None else named.id
        if number in self._unknown:
            return self._unknown[number]
        try:
            self._readers[header] = self.reader_of(named, header)
        except SchemaRegistryError as error:
            if error.http_status_code != _NOT_FOUND:
                raise
            self._unknown[number] = f"there is no schema with the id {number}"
            return self._unknown[number]
        except TransportError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a parser finds in a foreign schema
            return reason_of(error)
        return self._readers[header]


@dataclass(slots=True)
class ProtobufMessages:
    """Knows the messages of Confluent's wire format, without generated classes.

    Confluent's deserializer wants one class for all values; it is asked for the descriptors alone.
    """

    schemas: Any
    _parser: Any = field(init=False)

    def __post_init__(self) -> None:
        conf = {"use.deprecated.format": False}
        self._parser = ProtobufDeserializer(Empty, conf, self.schemas)

    def class_of(self, named: SchemaId) -> Any:
        """Return the class of the messages that a schema and indexes name.

        Raises:
            SchemaRegistryError, TransportError: the registry refuses, or cannot be reached.
            SerializationError: the schema has no such message.
        """
        parser = self._parser
        schema = parser._get_writer_schema(named, None, "serialized")  # noqa: SLF001
        file, pool = parser._get_parsed_schema(schema)  # noqa: SLF001
        described = parser._get_message_desc(  # noqa: SLF001
            pool, pool.FindFileByName(file.name), named.message_indexes or [0]
        )
        return GetMessageClass(described)
