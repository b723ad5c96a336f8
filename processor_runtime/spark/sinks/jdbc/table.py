"""The table that output rows are written to, and what an existing table must have."""

from typing import Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Connection,
    DateTime,
    Integer,
    MetaData,
    Table,
    Text,
    inspect,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import NoSuchTableError

from cep.pattern.problems import did_you_mean

JSON_COLUMNS: Final = ("key", "output", "events", "error")


class TableUnfit(RuntimeError):
    """The table does not exist, or rows cannot be written to it."""


def output_table(name: str) -> Table:
    """Return the table of this name (`table` or `schema.table`)."""
    schema, _, table = name.rpartition(".")
    json_type = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
    return Table(
        table,
        MetaData(schema=schema or None),
        Column("row_id", Text, primary_key=True),
        Column("batch_id", BigInteger, nullable=False),
        Column("kind", Text, nullable=False),
        Column("tag", Text),
        Column("processor_id", Text, index=True),
        Column("version", Integer),
        Column("epoch", BigInteger),
        Column("key", json_type),
        Column("match_id", Text),
        Column("start_time", DateTime(timezone=True)),
        Column("end_time", DateTime(timezone=True), index=True),
        Column("start_ms", BigInteger),
        Column("end_ms", BigInteger),
        Column("output", json_type),
        Column("events", json_type),
        Column("error", json_type),
    )


def prepare_table(connection: Connection, table: Table, *, create: bool) -> None:
    """Make sure that rows can be written to a table; create it if wanted.

    Raises:
        TableUnfit: it does not exist, or lacks columns or the key.
    """
    if create:
        table.metadata.create_all(connection)
    inspector = inspect(connection)
    try:
        found = {column["name"] for column in inspector.get_columns(table.name, table.schema)}
    except NoSuchTableError:
        raise TableUnfit(
            f"there is no table {table.fullname}; create it, or write create_table: true"
        ) from None
    for name in table.columns.keys():  # noqa: SIM118 - a view of names, not a mapping
        if name not in found:
            raise TableUnfit(
                f"the table {table.fullname} has no column {name}. {did_you_mean(name, found)}"
            )
    keys = [inspector.get_pk_constraint(table.name, table.schema)["constrained_columns"]]
    unique = inspector.get_unique_constraints(table.name, table.schema)
    keys += [constraint["column_names"] for constraint in unique]
    if ["row_id"] not in keys:
        raise TableUnfit(
            f"row_id is no key of the table {table.fullname}, so that rows written again would be "
            "doubled; make it the primary key"
        )
