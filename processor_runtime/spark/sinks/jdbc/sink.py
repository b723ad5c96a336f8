"""Rows in a table of PostgreSQL or SQLite, once each: existing rows are not changed.

    rows ──► row_id ──► INSERT … ON CONFLICT (row_id) DO NOTHING, a batch in one transaction

It runs on the driver, over one connection, so that the password stays there and readers see a
complete batch or nothing.
"""

import logging
import time
from collections.abc import Callable
from itertools import count, islice
from typing import Any, Final

from pyspark.sql import DataFrame, Row
from sqlalchemy import Connection, Engine, insert
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError

from contract.problem_text import first_line
from discoverers.clock import Backoff
from processor_runtime.job_file.outputs import JdbcOutput
from processor_runtime.spark.sinks.jdbc.database import database_engine, storable_json
from processor_runtime.spark.sinks.jdbc.table import JSON_COLUMNS, output_table, prepare_table
from processor_runtime.spark.sinks.output_sink import SinkSurroundings
from processor_runtime.spark.sinks.row_columns import instant
from processor_runtime.spark.sinks.row_identity import rows_in_order, with_identity

# A database that restarts is there again within a minute.
_BACKOFF: Final = Backoff(limit_seconds=10)

_log = logging.getLogger("percept.outputs")


class JdbcSink:
    """Writes batches to a table.

    `now`: seconds, by a clock that nobody sets.

    Raises:
        ValueError: the variable with the password is not set, or the URL is invalid.
    """

    def __init__(
        self,
        output: JdbcOutput,
        surroundings: SinkSurroundings,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        password = None
        if output.password_env is not None:
            password = surroundings.secret(output.password_env, "password_env")
        self._engine: Engine = database_engine(output.url, output.user, password)
        self._table = output_table(output.table)
        self._creates_table = output.create_table
        self._rows_per_statement = output.rows_per_statement
        self._is_prepared = False
        self._give_up_after_seconds = output.give_up_after_seconds
        self._sleep = sleep
        self._now = now
        self.secrets = frozenset({password or "", self._engine.url.password or ""})
        self.remedy = (
            f"Look at {self._engine.url.render_as_string(hide_password=True)} and its table "
            f"{output.table}. The batch is written again when the job is started again; rows that "
            "exist already are not inserted twice."
        )

    def write(self, rows: DataFrame, batch_id: int, row_count: int) -> None:
        """Insert a batch, in one transaction.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: the database refuses it, or stays unavailable.
            TableUnfit: the table does not exist, or lacks columns.
        """
        if row_count == 0:
            return
        named = with_identity(rows, batch_id, row_count)
        ends_at = self._now() + self._give_up_after_seconds
        for attempt in count(1):
            try:
                self._insert(named, batch_id, row_count)
            except OperationalError as error:
                pause_seconds = _BACKOFF.seconds(attempt)
                if self._now() + pause_seconds > ends_at:
                    raise
                _log.warning(
                    "the database failed, trying again: %s", first_line(error.orig or error)
                )
                self._sleep(pause_seconds)
            else:
                return

    def close(self) -> None:
        """Close the connection."""
        self._engine.dispose()

    def _insert(self, rows: DataFrame, batch_id: int, row_count: int) -> None:
        with self._engine.begin() as connection:
            if not self._is_prepared:
                prepare_table(connection, self._table, create=self._creates_table)
            statement = self._statement(connection)
            found = rows_in_order(rows, row_count)
            while part := list(islice(found, self._rows_per_statement)):
                connection.execute(statement, [_values(row, batch_id) for row in part])
        self._is_prepared = True

    def _statement(self, connection: Connection) -> Any:
        match connection.dialect.name:
            case "postgresql":
                return postgresql.insert(self._table).on_conflict_do_nothing(
                    index_elements=["row_id"]
                )
            case "sqlite":
                return sqlite.insert(self._table).on_conflict_do_nothing(index_elements=["row_id"])
            case _:  # the job file allows no other
                return insert(self._table)


def _values(row: Row, batch_id: int) -> dict[str, Any]:
    values: dict[str, Any] = row.asDict()
    # Names of side outputs come from the author of the process function.
    values["tag"] = row["tag"] and row["tag"].replace("\x00", "\N{REPLACEMENT CHARACTER}")
    for name in JSON_COLUMNS:
        values[name] = storable_json(values[name])
    return values | {
        "batch_id": batch_id,
        "start_time": instant(row["start_ms"]),
        "end_time": instant(row["end_ms"]),
    }
