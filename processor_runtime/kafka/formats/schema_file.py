"""Schemas in a file, for jobs that cannot reach a registry: what `GET /schemas` of one returns.

[{"id": 17, "subject": "payments-value", "version": 2, "schema": "…"}, …]
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka.schema_registry import RegisteredSchema, Schema
from confluent_kafka.schema_registry.error import SchemaRegistryError

from processor_runtime.kafka.settings import KafkaOptionError


@dataclass(frozen=True, slots=True)
class SchemasInFile:
    """Answers as the client of a registry does."""

    by_id: Mapping[int, Schema]
    by_version: Mapping[tuple[str, int], RegisteredSchema]

    @classmethod
    def of(cls, text: str) -> "SchemasInFile":
        """Return the schemas in a text.

        Raises:
            KafkaOptionError: it is not of that form.
        """
        try:
            found = [RegisteredSchema.from_dict(each) for each in json.loads(text)]
            by_id = {int(each.schema_id or 0): each.schema for each in found}
        except (AttributeError, KeyError, TypeError, ValueError):
            by_id = {}
        if not by_id or not all(by_id) or not all(each.schema_str for each in by_id.values()):
            raise KafkaOptionError(
                "schema_file: not a JSON list of schemas with their id, as GET /schemas of a "
                "registry returns"
            )
        return cls(by_id, {(each.subject or "", each.version or 0): each for each in found})

    def get_schema(self, schema_id: int, *_how: Any) -> Schema:
        """Return a schema by its id."""
        if schema_id not in self.by_id:
            raise SchemaRegistryError(404, 40403, f"the file has no schema {schema_id}")
        return self.by_id[schema_id]

    def get_version(self, subject_name: str, version: int, *_how: Any) -> RegisteredSchema:
        """Return what another schema refers to."""
        if (subject_name, version) not in self.by_version:
            raise SchemaRegistryError(404, 40402, f"the file has no {subject_name} {version}")
        return self.by_version[subject_name, version]

    def get_latest_version(self, subject_name: str, *_how: Any) -> RegisteredSchema:
        """Return the newest schema of a subject."""
        versions = [version for subject, version in self.by_version if subject == subject_name]
        return self.get_version(subject_name, max(versions, default=0))

    def config(self) -> dict[str, Any]:
        """Return the settings of a client, which has none."""
        return {}
