"""A database table as a source: one processor document a row, read by SQLAlchemy.

    SELECT * FROM table ──► FoundProcessors

Columns, by name; others are passed over:

* `document`: the processor document, as JSON text or as the database's JSON type. Needed.
* `id`, `stream`: in the document or here; if in both, they must agree.
* `version`: a whole number. With it a table may keep all versions of a processor: the newest that
  is effective at once counts, and all that are scheduled after it. Without it versions get numbers
  here (`discoverers.assembly`).
* `paused`: whether the processor is paused.

A table that has other names takes a `query` that renames them. The database is only read.

Source: FLIP-200, which discovers from a table in its demonstration.
"""

import json
from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator
from sqlalchemy import URL, Connection, Engine, create_engine, make_url, select, table, text
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from contract.connections import postgresql_timeouts
from discoverers.discoverer import DiscovererSurroundings, PatternProcessorDiscovererFactory
from discoverers.found import (
    DocumentRefused,
    FoundProcessors,
    FoundVersion,
    ProcessorProblem,
    found_version,
)
from discoverers.periodic import PeriodicPatternProcessorDiscoverer
from discoverers.stream_options import StreamOptions

_TIMEOUT_SECONDS = 30


class DatabaseDiscovererFactory(PatternProcessorDiscovererFactory):
    """Options of `type: database`."""

    url: str | None = Field(
        default=None, description="`sqlite:///file` or `postgresql://user@host/database`."
    )
    url_env: str | None = Field(
        default=None, description="Environment variable with the URL, if it has a password in it."
    )
    table: str | None = Field(default=None, description="The table, or `schema.table`.")
    query: str | None = Field(default=None, description="A SELECT instead of a table.")
    change_query: str | None = Field(
        default=None,
        description="A cheap SELECT whose result changes whenever the documents do, such as "
        "`SELECT max(updated_at), count(*) FROM rules`; the documents are read only then.",
    )
    stream: StreamOptions = Field(description="The stream's definition.")
    interval_seconds: float = Field(default=5, gt=0, description="How often to look.")

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.url is None) == (self.url_env is None):
            raise ValueError("give either url or url_env")
        if (self.table is None) == (self.query is None):
            raise ValueError("give either table or query")
        return self

    def create_discoverer(self, surroundings: DiscovererSurroundings) -> "DatabaseDiscoverer":
        """Return a discoverer of the table.

        Raises:
            ValueError: the environment variable is not set, or the URL is none.
        """
        url = self.url or surroundings.environment.get(self.url_env or "", "")
        if not url:
            raise ValueError(f"url_env: the environment variable {self.url_env} is not set")
        try:
            engine = _engine(make_url(url))
        except ArgumentError:
            raise ValueError("url: not a database URL; write postgresql://host/database") from None
        return DatabaseDiscoverer(self, surroundings, engine)


class DatabaseDiscoverer(PeriodicPatternProcessorDiscoverer):
    """Discovers processors in the rows of a table or a query."""

    failures = (OSError, SQLAlchemyError, DocumentRefused)

    def __init__(
        self,
        options: DatabaseDiscovererFactory,
        surroundings: DiscovererSurroundings,
        engine: Engine,
    ) -> None:
        super().__init__(
            interval_seconds=options.interval_seconds,
            initial=surroundings.initial,
            clock=surroundings.clock,
        )
        self._stream = surroundings.stream
        self._definition = options.stream.definition(surroundings.stream)
        self._engine = engine
        self._rows = _rows_query(options)
        self._change = text(options.change_query) if options.change_query else None
        self._seen_change: Any = None

    def should_update(self) -> bool:
        """Return whether the change query gives another result than before the last reading."""
        if self._change is None:
            return True
        with self._engine.connect() as connection:
            _prepare(connection)
            return bool(self._changed(connection) != self._seen_change)

    def get_processors(self) -> FoundProcessors:
        """Return what is in the table.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: the database cannot be read.
            DocumentRefused: the rows have no column `document`.
        """
        with self._engine.connect() as connection:
            _prepare(connection)
            # Before the rows: what is written in between is then read twice, not missed.
            change = self._changed(connection)
            result = connection.execute(self._rows)
            if "document" not in result.keys():  # noqa: SIM118 - a view of names, not a mapping
                raise DocumentRefused("the rows have no column 'document'; use a query with AS")
            rows = [row._asdict() for row in result]
        versions: list[FoundVersion] = []
        problems: list[ProcessorProblem] = []
        for number, row in enumerate(rows, start=1):
            try:
                if (version := _read_row(row, number, self._stream)) is not None:
                    versions.append(version)
            except DocumentRefused as error:
                origin, name = _origin(row, number), _processor_id(row)
                problems.append(ProcessorProblem(origin, str(error), name, document=error.document))
        self._seen_change = change
        return FoundProcessors(
            stream=self._definition, versions=tuple(versions), problems=tuple(problems)
        )

    def release(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def _changed(self, connection: Connection) -> Any:
        if self._change is None:
            return None
        return connection.execute(self._change).all()


def _rows_query(options: DatabaseDiscovererFactory) -> Any:
    if options.query is not None:
        return text(options.query)
    schema, _, name = (options.table or "").rpartition(".")
    return select(text("*")).select_from(table(name, schema=schema or None))


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        return create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_size=1,
            pool_pre_ping=True,
            connect_args=postgresql_timeouts(_TIMEOUT_SECONDS, _TIMEOUT_SECONDS, url.query),
        )
    if url.get_backend_name() == "sqlite" and url.database:
        # A file that is not there is a failure of the source, not an empty database to be made.
        url = URL.create(
            url.drivername,
            database=f"file:{url.database}",
            query=url.query | {"mode": "rw", "uri": "true"},
        )
    return create_engine(url, pool_size=1, pool_pre_ping=True)


def _prepare(connection: Connection) -> None:
    """Make sure that nothing is written and nothing hangs."""
    match connection.dialect.name:
        case "postgresql":
            connection.exec_driver_sql("SET TRANSACTION READ ONLY")
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = '{_TIMEOUT_SECONDS}s'")
        case "sqlite":
            connection.exec_driver_sql("PRAGMA query_only = ON")
        case _:
            pass


# --- rows


def _read_row(row: Mapping[str, Any], number: int, stream: str) -> FoundVersion | None:
    """Return the version in a row; `None` if it is of another stream."""
    document = _document(row["document"])
    for column, given in (("id", row.get("id")), ("stream", row.get("stream"))):
        if given is not None and document.setdefault(column, given) != given:
            raise DocumentRefused(
                f"the document's {column} is '{document[column]}'. Make both one."
            )
    if document.setdefault("stream", stream) != stream:
        return None
    version = row.get("version")
    if "version" in row and (not isinstance(version, int) or version < 1):
        raise DocumentRefused(f"version {version!r} is no number. Count from 1.")
    return found_version(
        document, _origin(row, number), version=version, paused=bool(row.get("paused"))
    )


def _document(value: Any) -> dict[str, Any]:
    if isinstance(value, str | bytes):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise DocumentRefused(f"not JSON: {error}.") from None
    if not isinstance(value, Mapping):
        raise DocumentRefused("the document is no mapping of keys to values.")
    return dict(value)


def _origin(row: Mapping[str, Any], number: int) -> str:
    name = _processor_id(row)
    if name is None:
        return f"row {number}"
    return f"row of {name}" + (f" version {row['version']}" if "version" in row else "")


def _processor_id(row: Mapping[str, Any]) -> str | None:
    name = row.get("id")
    return name if isinstance(name, str) else None
