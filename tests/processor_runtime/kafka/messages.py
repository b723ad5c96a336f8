"""Messages of Protobuf in Confluent's wire format, as JSON has them."""

from io import BytesIO
from typing import Any

from confluent_kafka.schema_registry.serde import SchemaId
from google.protobuf.json_format import MessageToDict

from processor_runtime.kafka.formats.decoding import ProtobufMessages


def fields_of(schemas: Any, value: bytes) -> dict[str, Any]:
    """Return the fields of a message under the names of its schema, with their defaults.

    `schemas`: the client of a registry, or the schemas in a file.
    """
    named = SchemaId("PROTOBUF")
    payload = named.from_bytes(BytesIO(value)).read()
    fields: dict[str, Any] = MessageToDict(
        ProtobufMessages(schemas).class_of(named).FromString(payload),
        preserving_proto_field_name=True,
        always_print_fields_with_no_presence=True,
    )
    return fields
