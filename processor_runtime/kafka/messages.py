"""Protobuf messages by the schema that each names: no generated classes are needed.

id, indexes of the message ──► descriptor, of the registry ──► class ──► dictionary
"""

from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.schema_registry.serde import SchemaId
from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import MessageToDict
from google.protobuf.message_factory import GetMessageClass

_KIND: Final = "PROTOBUF"
_FORMAT: Final = "serialized"


@dataclass(slots=True)
class ProtobufMessages:
    """Reads values of Confluent's wire format.

    Confluent's deserializer wants one class for all values; it is asked for the descriptors alone.

    Args:
        schemas: gives schemas by their ids.
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
