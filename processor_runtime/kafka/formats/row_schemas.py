"""The schemas that rows of output have in Avro and Protobuf if nobody gives others.

    columns of a row ──► AVRO, a record · PROTOBUF, a message: percept.Row

What differs from rule to rule is text with JSON: the key, the output, events, and errors.
"""

import base64
import json
from typing import Any, Final

from google.protobuf import descriptor_pb2, timestamp_pb2

_TIME: Final = {"type": "long", "logicalType": "timestamp-millis"}
_FIELDS: Final[tuple[tuple[str, Any, str], ...]] = (
    ("row_id", "string", "unique, and the same when a batch is written again"),
    ("kind", "string", "match, timeout, side, …"),
    ("tag", "string", "of a side output, or the group of a match"),
    ("processor_id", "string", "the rule"),
    ("version", "int", "of the rule"),
    ("epoch", "long", "of the rules of the stream"),
    ("key", "string", "JSON array"),
    ("match_id", "string", "what was found, wherever it is found again"),
    ("start_time", _TIME, "of the first event"),
    ("end_time", _TIME, "of the last event"),
    ("start_ms", "long", "since 1970"),
    ("end_ms", "long", "since 1970"),
    ("output", "string", "JSON object: what the rule selects"),
    ("events", "string", "JSON object: events by step"),
    ("error", "string", "JSON object"),
)
_ALWAYS_THERE: Final = ("row_id", "kind")
_OPTIONAL: Final = 1
_MESSAGE: Final = 11

AVRO: Final = json.dumps(
    {
        "type": "record",
        "name": "Row",
        "namespace": "percept",
        "fields": [
            {"name": name, "type": kind, "doc": doc}
            if name in _ALWAYS_THERE
            else {"name": name, "type": ["null", kind], "default": None, "doc": doc}
            for name, kind, doc in _FIELDS
        ],
    }
)
"""A schema of Avro, as JSON."""


def protobuf_file() -> str:
    """Return a file of Protobuf with the message `percept.Row`, serialized, as Base64."""
    file = descriptor_pb2.FileDescriptorProto(
        name="percept_row.proto",
        package="percept",
        syntax="proto3",
        dependency=[timestamp_pb2.DESCRIPTOR.name],
    )
    row = file.message_type.add(name="Row")
    for number, (name, kind, _) in enumerate(_FIELDS, 1):
        added = row.field.add(name=name, number=number, label=_OPTIONAL)
        if kind is _TIME:
            added.type, added.type_name = _MESSAGE, ".google.protobuf.Timestamp"
            continue
        added.type = _PROTOBUF_TYPES[kind]
        if name not in _ALWAYS_THERE:  # NULL differs from 0 and from ""
            added.proto3_optional, added.oneof_index = True, len(row.oneof_decl)
            row.oneof_decl.add(name=f"_{name}")
    return base64.b64encode(file.SerializeToString()).decode()


_PROTOBUF_TYPES: Final = {
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
    "int": descriptor_pb2.FieldDescriptorProto.TYPE_INT32,
    "long": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
}
