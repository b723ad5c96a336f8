"""Stores for services under faults."""

from tests.api.conftest import (
    _quiet_logs,
    free_port,
    migrated_store,
    postgresql_schema,
    sqlite_template,
)

__all__ = ["_quiet_logs", "free_port", "migrated_store", "postgresql_schema", "sqlite_template"]
