"""Rows of output → values in Avro and Protobuf, by a schema that a registry keeps.

    JSON of a row ──► schema of the topic's subject ──► magic byte, id of the schema, … ──► record

The subject is the topic's (`alerts-value`). Its schema is registered, if it is not there yet: one
from a file, or Percept's own (`row_schemas`); or it is the newest that the registry has. A row that
does not fit is an error: a batch is written whole or not at all.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Final

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from fastavro import schemaless_writer
from fastavro.schema import SchemaParseException
from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message_factory import GetMessageClass

from processor_runtime.kafka import row_schemas
from processor_runtime.kafka.avro_values import Unfit, fitted
from processor_runtime.kafka.cluster import KafkaFailed
from processor_runtime.kafka.output_form import OutputForm
from processor_runtime.kafka.schema_registry import registry_client, registry_failures
from processor_runtime.kafka.settings import KafkaOptionError

_MAGIC: Final = b"\0"
_FIRST_MESSAGE: Final = b"\0"
"""The only message of a file, or its first, in Confluent's wire format."""
_NOT_FOUND, _CONFLICT = 404, 409
_SERIALIZED: Final = "serialized"
_KINDS: Final = {"avro": "AVRO", "protobuf": "PROTOBUF"}
_LONGEST_REASON: Final = 300
_UNUSABLE: Final = (KeyError, SchemaParseException, SchemaRegistryError, TypeError, ValueError)
"""What the libraries say of a schema that is none, or that refers to one that is not there."""


def check_output_form(form: OutputForm) -> None:
    """Check settings of the registry and the schema of a file, without any connection.

    Raises:
        KafkaOptionError: they cannot be used.
    """
    client = registry_client(dict(form.registry))
    if form.schema:
        try:
            parsed = _parsed_avro(client, Schema(form.schema, "AVRO"))
        except _UNUSABLE as error:
            told = str(error).partition("\n")[0][:_LONGEST_REASON]
            raise KafkaOptionError(f"schema_file: no schema of Avro: {told}") from None
        if not isinstance(parsed, dict) or parsed.get("type") != "record":
            raise KafkaOptionError("schema_file: the schema is no record, which rows are")


@dataclass(slots=True)
class RowEncoder:
    """Writes rows by one schema, which it asks for with the first of them.

    Args:
        form: how they are written.
    """

    form: OutputForm
    _encode: Callable[[dict[str, Any]], bytes] | None = field(init=False, default=None)
    _schema: str = field(init=False, default="")

    def __call__(self, text: str) -> bytes:
        """Return the value of a row.

        Args:
            text: the row as JSON.

        Raises:
            KafkaFailed: the row does not fit the schema, or the registry refuses.
            KafkaOptionError: the schema cannot be used.
        """
        row = json.loads(text)
        encode = self._encode or self._started()
        try:
            return encode(row)
        except (Unfit, ParseError, TypeError, ValueError, OverflowError) as error:
            said = str(error).partition("\n")[0][:_LONGEST_REASON]
            raise KafkaFailed(
                f"topic {self.form.topic}: the row {row.get('row_id')} of {_origin(row)} does not "
                f"fit the {self._schema}: {said}. Change the schema, or what the rule selects; or "
                "send such kinds of rows to another output"
            ) from None

    def _started(self) -> Callable[[dict[str, Any]], bytes]:
        client = registry_client(dict(self.form.registry))
        number, schema = self._found(client)
        self._schema = f"schema {number} of {self.form.subject}"
        header = _MAGIC + number.to_bytes(4, "big")
        make = _avro_encoder if self.form.name == "avro" else _protobuf_encoder
        try:
            self._encode = make(client, schema, header)
        except _UNUSABLE as error:
            said = str(error).partition("\n")[0][:_LONGEST_REASON]
            raise KafkaFailed(f"the {self._schema} cannot be used: {said}") from None
        return self._encode

    def _found(self, client: SchemaRegistryClient) -> tuple[int, Schema]:
        """Return the id of the schema, and the schema."""
        form, subject = self.form, self.form.subject
        kind = _KINDS[form.name]
        own = row_schemas.AVRO if form.name == "avro" else row_schemas.protobuf_file()
        given = Schema(form.schema or own, kind)
        with registry_failures(f"schema_registry of the output to {form.topic}"):
            try:
                if form.registers:
                    registered = client.register_schema_full_response(subject, given)
                    return int(registered.schema_id or 0), given
                if form.schema:
                    return int(client.lookup_schema(subject, given).schema_id or 0), given
                newest = client.get_latest_version(
                    subject, _SERIALIZED if form.name == "protobuf" else None
                )
            except SchemaRegistryError as error:
                if (told := _refusal(error, form)) is None:
                    raise
                raise KafkaFailed(told) from None
        if (newest.schema.schema_type or "AVRO") != kind:
            raise KafkaFailed(
                f"the newest schema of {subject} is of {newest.schema.schema_type or 'AVRO'}. "
                f"Write value_format: {str(newest.schema.schema_type or 'avro').lower()}"
            )
        return int(newest.schema_id or 0), newest.schema


def _refusal(error: SchemaRegistryError, form: OutputForm) -> str | None:
    """Return what a registry says of a schema, with the mend; `None` if it is about others."""
    if error.http_status_code == _NOT_FOUND and not form.registers:
        what = "not this schema" if form.schema else "no schema"
        return (
            f"the schema registry has {what} under {form.subject}. Register it there, or leave "
            "out register_schema: false"
        )
    if error.http_status_code == _CONFLICT:
        return (
            f"the schema registry refuses the schema for {form.subject}, as it is not compatible "
            f"with those before: {error.error_message}. Change schema_file; or write "
            "register_schema: false, so that the newest that is there is used"
        )
    return None


def _origin(row: dict[str, Any]) -> str:
    rule = row.get("processor_id")
    return f"rule {rule}" if rule else f"kind {row.get('kind')}"


def _parsed_avro(client: SchemaRegistryClient, schema: Schema) -> Any:
    return AvroSerializer(client)._get_parsed_schema(schema)  # noqa: SLF001 - with its references


def _avro_encoder(
    client: SchemaRegistryClient, schema: Schema, header: bytes
) -> Callable[[dict[str, Any]], bytes]:
    parsed = _parsed_avro(client, schema)

    def encode(row: dict[str, Any]) -> bytes:
        target = BytesIO()
        target.write(header)
        schemaless_writer(target, parsed, fitted(row, parsed))
        return target.getvalue()

    return encode


def _protobuf_encoder(
    client: SchemaRegistryClient, schema: Schema, header: bytes
) -> Callable[[dict[str, Any]], bytes]:
    parser = ProtobufDeserializer(Empty, {"use.deprecated.format": False}, client)
    file, pool = parser._get_parsed_schema(schema)  # noqa: SLF001 - as `messages` does
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
