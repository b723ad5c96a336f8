"""Which schema the rows of a topic are written by.

OutputForm ──► a file's, or Percept's own ──► registered, or looked up ──┐
           ──► the newest that the registry has                          ├──► id, schema
           ──► the newest in a file of schemas, where no registry is ────┘
"""

from typing import Any, Final

from confluent_kafka.schema_registry import (
    RegisteredSchema,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
)
from confluent_kafka.schema_registry.error import SchemaRegistryError

from processor_runtime.kafka.cluster import KafkaFailed
from processor_runtime.kafka.formats import row_schemas
from processor_runtime.kafka.formats.descriptor_sets import DescriptorSet
from processor_runtime.kafka.formats.schema_file import SchemasInFile
from processor_runtime.kafka.formats.schema_registry import registry_client, registry_failures
from processor_runtime.kafka.output_form import OutputForm

_NOT_FOUND, _CONFLICT = 404, 409
_SERIALIZED: Final = "serialized"
_KINDS: Final = {"avro": "AVRO", "protobuf": "PROTOBUF"}


def schemas_of(form: OutputForm) -> Any:
    """Return what knows schemas: the client of a registry, or the schemas in a file.

    Raises:
        KafkaOptionError: the settings of the registry, or the file, cannot be used.
    """
    return registry_client(dict(form.registry)) if form.registry else SchemasInFile.of(form.schema)


def subject_schema(form: OutputForm, schemas: Any) -> tuple[int, Schema]:
    """Return the id of the schema of rows, and the schema; register it if that is wanted.

    `schemas`: what `schemas_of` returns.

    Raises:
        KafkaFailed: the registry refuses, cannot be reached, or has no such schema.
    """
    if not form.registry:
        return _newest(form, schemas)
    with registry_failures(f"schema_registry of the output to {form.topic}"):
        if not form.registers and not form.schema:
            return _newest(form, schemas)
        return _given(form, schemas)


def _newest(form: OutputForm, schemas: Any) -> tuple[int, Schema]:
    kind = _KINDS[form.name]
    how = _SERIALIZED if form.name == "protobuf" else None
    try:
        newest = schemas.get_latest_version(form.subject, how)
    except SchemaRegistryError as error:
        raise _refusal(error, form, form.subject) from None
    if (newest.schema.schema_type or "AVRO") != kind:
        raise KafkaFailed(
            f"the newest schema of {form.subject} is of {newest.schema.schema_type or 'AVRO'}. "
            f"Write value_format: {str(newest.schema.schema_type or 'avro').lower()}"
        )
    return int(newest.schema_id or 0), newest.schema


def _given(form: OutputForm, client: SchemaRegistryClient) -> tuple[int, Schema]:
    """Return the schema of the file, or Percept's own, as the registry has it now."""
    if form.name == "avro":
        schema = Schema(form.schema or row_schemas.AVRO, _KINDS["avro"])
    elif form.schema:
        messages = DescriptorSet.of(form.schema)
        schema = _with_imports(form, client, messages, messages.rows)
    else:
        schema = Schema(row_schemas.protobuf_file(), _KINDS["protobuf"])
    return int(_kept(form, client, form.subject, schema).schema_id or 0), schema


def _with_imports(
    form: OutputForm, client: SchemaRegistryClient, messages: DescriptorSet, name: str
) -> Schema:
    """Return the schema of a file; what it imports is kept first, each under its name.

    That is how Confluent's own serializers do it. A compiler refuses files that import each other.
    """
    references = []
    for each in messages.imports_of(name):
        imported = _with_imports(form, client, messages, each)
        kept = _kept(form, client, each, imported)
        version = kept.version or client.lookup_schema(each, imported).version
        references.append(SchemaReference(each, each, version))
    return Schema(messages.text_of(name), _KINDS["protobuf"], references)


def _kept(
    form: OutputForm, client: SchemaRegistryClient, subject: str, schema: Schema
) -> RegisteredSchema:
    """Return what the registry has of a schema of a subject; its version may be missing."""
    keep = client.register_schema_full_response if form.registers else client.lookup_schema
    try:
        return keep(subject, schema)
    except SchemaRegistryError as error:
        raise _refusal(error, form, subject) from None


def _refusal(error: SchemaRegistryError, form: OutputForm, subject: str) -> Exception:
    """Return what a registry says of a schema, with the mend; its own error if it is of others."""
    if error.http_status_code == _NOT_FOUND and not form.registry:
        return KafkaFailed(
            f"the file of schemas has none under {subject}. Take it from the registry anew, with "
            "GET /schemas"
        )
    if error.http_status_code == _NOT_FOUND and not form.registers:
        what = "not this schema" if form.schema else "no schema"
        return KafkaFailed(
            f"the schema registry has {what} under {subject}. Register it there, or leave "
            "out register_schema: false"
        )
    if error.http_status_code == _CONFLICT:
        return KafkaFailed(
            f"the schema registry refuses the schema for {subject}, as it is not compatible "
            f"with those before: {error.error_message}. Change schema_file; or write "
            "register_schema: false, so that the newest that is there is used"
        )
    return error
