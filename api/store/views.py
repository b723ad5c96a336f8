"""Answers made of rows: fields have the names of columns, and times those of milliseconds."""

from functools import cache
from typing import Any, TypeVar

from api.store.database import Record
from contract.service.bases import Answer

View = TypeVar("View", bound=Answer)


def view_of(kind: type[View], record: Record, /, **told: Any) -> View:
    """Return a row as it is shown.

    Args:
        kind: what is made of it.
        record: the row; `created_at` is in its column `created_at_ms`.
        told: what has no column, or is not shown as it is there.

    Raises:
        AttributeError: there is neither a column for a field nor a value.
    """
    columns = {
        name: getattr(record, column)
        for name, column in _columns(kind, type(record)).items()
        if name not in told
    }
    return kind.model_validate(columns | told)


@cache
def _columns(kind: type[Answer], table: type[Record]) -> dict[str, str]:
    return {
        field.alias or name: f"{name}_ms" if hasattr(table, f"{name}_ms") else name
        for name, field in kind.model_fields.items()
    }
