"""Rows of output → values in Avro and Protobuf, by a schema that a registry keeps.

    JSON of a row ──► schema (`subject_schemas`) ──► magic byte, id of the schema, … ──► record

A row that does not fit is an error: a batch is written whole or not at all.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Final

from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import SerializationError
from fastavro import schemaless_writer
from fastavro.schema import SchemaParseException
from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import EncodeError
from google.protobuf.message_factory import GetMessageClass

from processor_runtime.kafka.cluster import KafkaFailed
from processor_runtime.kafka.formats.avro_values import Unfit, fitted
from processor_runtime.kafka.formats.descriptor_sets import DescriptorSet
from processor_runtime.kafka.formats.subject_schemas import schemas_of, subject_schema
from processor_runtime.kafka.output_form import OutputForm
from processor_runtime.kafka.settings import KafkaOptionError

_MAGIC: Final = b"\0"
_FIRST_MESSAGE: Final = b"\0"
"""The only message of a file, or its first, in Confluent's wire format."""
_LONGEST_REASON: Final = 300
_UNUSABLE: Final = (
    LookupError,
    SchemaParseException,
    SchemaRegistryError,
    SerializationError,
    TypeError,
    ValueError,
)
"""What the libraries say of a schema that is none, or that refers to one that is not there."""


def check_output_form(form: OutputForm) -> None:
    """Check settings of the registry and the schema of a file, without any connection.

    Raises:
        KafkaOptionError: they cannot be used.
    """
    schemas = schemas_of(form)
    if not form.registry:
        try:
            number, schema = subject_schema(form, schemas)
            _encoder(form, schemas, number, schema)
        except KafkaFailed as error:
            raise KafkaOptionError(f"schema_file: {error}") from None
    elif form.schema and form.name == "protobuf":
        DescriptorSet.of(form.schema)
    elif form.schema:
        try:
            _parsed_avro(schemas, Schema(form.schema, "AVRO"))
        except _UNUSABLE as error:
            told = str(error).partition("\n")[0][:_LONGEST_REASON]
            raise KafkaOptionError(f"schema_file: no schema of Avro for rows: {told}") from None


@dataclass(slots=True)
class RowEncoder:
    """Writes rows by one schema, which it asks for with the first of them."""

    form: OutputForm
    _encode: Callable[[dict[str, Any]], bytes] | None = field(init=False, default=None)
    _schema: str = field(init=False, default="")

    def __call__(self, text: str) -> bytes:
        """Return the value of a row.

        `text`: the row as JSON.

        Raises:
            KafkaFailed: the row does not fit the schema, or the registry refuses.
            KafkaOptionError: the schema cannot be used.
        """
        row = json.loads(text)
        encode = self._encode or self._started()
        try:
            return encode(row)
        except (Unfit, EncodeError, ParseError, TypeError, ValueError, OverflowError) as error:
            said = str(error).partition("\n")[0][:_LONGEST_REASON]
            raise KafkaFailed(
                f"topic {self.form.topic}: the row {row.get('row_id')} of {_origin(row)} does not "
                f"fit the {self._schema}: {said}. Change the schema, or what the rule selects; or "
                "send such kinds of rows to another output"
            ) from None

    def _started(self) -> Callable[[dict[str, Any]], bytes]:
        schemas = schemas_of(self.form)
        number, schema = subject_schema(self.form, schemas)
        self._schema = f"schema {number} of {self.form.subject}"
        self._encode = _encoder(self.form, schemas, number, schema)
        return self._encode


def _encoder(
    form: OutputForm, schemas: Any, number: int, schema: Schema
) -> Callable[[dict[str, Any]], bytes]:
    """Return what writes rows by a schema.

    Raises:
        KafkaFailed: the schema cannot be used.
    """
    header = _MAGIC + number.to_bytes(4, "big")
    make = _avro_encoder if form.name == "avro" else _protobuf_encoder
    try:
        return make(schemas, schema, header)
    except _UNUSABLE as error:
        said = str(error).partition("\n")[0][:_LONGEST_REASON]
        raise KafkaFailed(f"the schema {number} of {form.subject} cannot be used: {said}") from None


def _origin(row: dict[str, Any]) -> str:
    rule = row.get("processor_id")
    return f"rule {rule}" if rule else f"kind {row.get('kind')}"


def _parsed_avro(schemas: Any, schema: Schema) -> Any:
    parsed = AvroSerializer(schemas)._get_parsed_schema(schema)  # noqa: SLF001 - with references
    if not isinstance(parsed, dict) or parsed.get("type") != "record":
        raise ValueError("it is no record, which rows are")
    return parsed


def _avro_encoder(schemas: Any, schema: Schema, header: bytes) -> Callable[[dict[str, Any]], bytes]:
    parsed = _parsed_avro(schemas, schema)

    def encode(row: dict[str, Any]) -> bytes:
        target = BytesIO()
        target.write(header)
        schemaless_writer(target, parsed, fitted(row, parsed))
        return target.getvalue()

    return encode


def _protobuf_encoder(
    schemas: Any, schema: Schema, header: bytes
) -> Callable[[dict[str, Any]], bytes]:
    parser = ProtobufDeserializer(Empty, {"use.deprecated.format": False}, schemas)
    file, pool = parser._get_parsed_schema(schema)  # noqa: SLF001 - as `decoding` does
    described = pool.FindFileByName(file.name).message_types_by_name[file.message_type[0].name]
    message_class = GetMessageClass(described)

    def encode(row: dict[str, Any]) -> bytes:
        message = message_class()
        ParseDict(_with_texts(row, described), message, ignore_unknown_fields=True)
        return bytes(header + _FIRST_MESSAGE + message.SerializeToString())

    return encode


def _with_texts(row: dict[str, Any], described: Any) -> dict[str, Any]:
    """Return a row with JSON wherever a message wants a text and there is something nested."""
    texts = {
        each.name
        for each in described.fields
        if each.type == each.TYPE_STRING and not isinstance(row.get(each.name), str | None)
    }
    return {
        name: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if name in texts
        else value
        for name, value in row.items()
    }
