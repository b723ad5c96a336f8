"""Confined sessions see and write rows of their streams only, whatever statement asks for them."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Mapper, Session, aliased

from api.access.tables import Token
from api.audit.tables import Change
from api.idempotency.tables import IdempotentRequest
from api.jobs.tables import HeldVersion, Job
from api.processors.tables import Processor
from api.store.confinement import ALL_STREAMS, BeyondConfinement, confine, confined_to
from api.store.database import Database
from api.streams.tables import Stream
from api.tables import Record

OF_NO_STREAM = {"tokens"}
"""Tables whose rows belong to no stream: to a confined session they are empty."""
OF_REQUESTS = {"idempotent_requests"}
"""Tables of what requests themselves need, found by their token."""
NAMES = ("a", "b")


@contextmanager
def confined(*streams: str) -> Iterator[None]:
    before = confined_to()
    confine(frozenset(streams))
    try:
        yield
    finally:
        confine(before)


def add_rows(session: Session, stream: str, numbers: Iterator[int]) -> None:
    """Add one row to each table, all of them of one stream."""
    rows: dict[str, dict[str, Any]] = {}
    for table in Record.metadata.sorted_tables:
        row = {
            column.name: made
            for column in table.columns
            if (made := _value(column, stream, numbers)) is not None
        }
        if "stream" in table.columns:
            row["stream"] = stream
        for reference in table.foreign_key_constraints:
            for part in reference.elements:
                row[part.parent.name] = rows[reference.referred_table.name][part.column.name]
        rows[table.name] = row
        session.execute(table.insert().values(row))


def _value(column: Any, stream: str, numbers: Iterator[int]) -> Any:
    if column.table.name == "streams" and column.name == "name":
        return stream
    kind = column.type
    if isinstance(kind, sa.Boolean):
        return False
    if isinstance(kind, sa.Integer):
        return next(numbers)
    if isinstance(kind, sa.Float):
        return 0.5
    if isinstance(kind, sa.LargeBinary):
        return b"1"
    assert isinstance(kind, sa.String | sa.Text), kind
    return f"{stream}{next(numbers)}"[: kind.length or 20]


@pytest.fixture
def store(database_url: str) -> Iterator[Database]:
    """A store in which each table has one row of the stream `a` and one of `b`."""
    database = Database(database_url)
    numbers = itertools.count(1)
    try:
        with database.writing() as session:
            for name in NAMES:
                add_rows(session, name, numbers)
        yield database
    finally:
        database.close()


Seen = Callable[[Session, Mapper[Any]], int]


def _in_subquery(session: Session, mapper: Mapper[Any]) -> int:
    return (
        session.scalar(sa.select(sa.func.count()).select_from(sa.select(mapper.class_).subquery()))
        or 0
    )


def _in_union(session: Session, mapper: Mapper[Any]) -> int:
    key = mapper.primary_key[0].key
    assert key is not None
    column = getattr(mapper.class_, key)
    return len(session.scalars(sa.union(sa.select(column), sa.select(column))).all())


def _beside_streams(session: Session, mapper: Mapper[Any]) -> int:
    """Count pairs with a stream: confined, there is only one to pair with."""
    query = (
        sa.select(sa.func.count()).select_from(mapper.class_).join(Stream, sa.literal(value=True))
    )
    if mapper.class_ is Stream:
        query = sa.select(sa.func.count()).select_from(Stream).join(Job, sa.literal(value=True))
    return session.scalar(query) or 0


SHAPES: dict[str, Seen] = {
    "entities": lambda session, mapper: len(session.scalars(sa.select(mapper.class_)).all()),
    "query": lambda session, mapper: session.query(mapper.class_).count(),
    "columns": lambda session, mapper: len(session.execute(sa.select(*_columns(mapper))).all()),
    "count": lambda session, mapper: (
        session.scalar(sa.select(sa.func.count()).select_from(mapper.class_)) or 0
    ),
    "count of a column": lambda session, mapper: (
        session.scalar(sa.select(sa.func.count(_columns(mapper)[0]))) or 0
    ),
    "exists": lambda session, mapper: int(
        bool(session.scalar(sa.select(sa.exists(mapper.class_))))
    ),
    "subquery": _in_subquery,
    "union": _in_union,
    "joined": _beside_streams,
}


def _columns(mapper: Mapper[Any]) -> list[Any]:
    return [getattr(mapper.class_, attribute.key) for attribute in mapper.column_attrs]


def of(table: sa.Table) -> int:
    """Return how many rows of a table a session sees that is confined to one stream."""
    return 0 if table.name in OF_NO_STREAM else 1


def mappers() -> list[Mapper[Any]]:
    found = sorted(Record.registry.mappers, key=lambda each: each.class_.__name__)
    return [each for each in found if str(each.local_table) not in OF_REQUESTS]


def test_each_table_shows_rows_of_the_own_streams_only(store: Database) -> None:
    assert len(mappers()) == len(Record.metadata.tables) - len(OF_REQUESTS)
    # More than once, and for another one between: statements are kept compiled.
    for name in ("a", "b", "a"):
        with confined(name), store.reading() as session:
            for mapper in mappers():
                table = mapper.local_table
                assert isinstance(table, sa.Table)
                for shape, seen in SHAPES.items():
                    assert seen(session, mapper) == of(table), (name, table.name, shape)
            assert session.scalars(sa.select(Stream.name)).all() == [name]
            assert {row.stream for row in session.scalars(sa.select(Change))} == {name}
    with store.reading() as session:
        assert all(SHAPES["entities"](session, mapper) == len(NAMES) for mapper in mappers())


def test_a_row_is_found_by_its_key_in_the_own_streams_only(store: Database) -> None:
    for mapper in mappers():
        with store.reading() as session:
            keys = [mapper.primary_key_from_instance(row) for row in session.query(mapper.class_)]
        with confined("b"), store.reading() as session:
            found = [session.get(mapper.class_, tuple(key)) is not None for key in keys]
        assert sum(found) == of(mapper.local_table), mapper  # type: ignore[arg-type]


@pytest.mark.parametrize("verb", ["update", "delete"])
def test_rows_of_other_streams_are_neither_changed_nor_deleted(store: Database, verb: str) -> None:
    # Those that others refer to come last.
    order = [table.name for table in reversed(Record.metadata.sorted_tables)]
    for mapper in sorted(mappers(), key=lambda each: order.index(str(each.local_table))):
        column = getattr(mapper.class_, mapper.primary_key[0].key or "")
        statement = sa.update(mapper.class_).values({column: column})
        with confined("a"), store.writing() as session:
            done: Any = session.execute(
                statement if verb == "update" else sa.delete(mapper.class_),
                execution_options={"synchronize_session": False},
            )
            assert done.rowcount == of(mapper.local_table), mapper  # type: ignore[arg-type]


def test_what_is_written_must_be_of_an_own_stream(store: Database) -> None:
    change = {"at_ms": 1, "actor": "", "actor_id": "", "action": "x", "request_id": ""}
    token = Token(id="t", name="", role="", sha256="new", created_at_ms=1, created_by="")
    for row, beyond in (
        (Change(**change, stream="a"), False),
        (Change(**change, stream="b"), True),
        (Change(**change, stream=None), True),
        (Stream(name="c", uid="c", epoch=0, version=0, created_at_ms=0, created_by=""), True),
        (token, True),
    ):
        with confined("a"), store.reading() as session:
            session.add(row)
            if beyond:
                with pytest.raises(BeyondConfinement):
                    session.flush()
            else:
                session.flush()
            session.rollback()


def test_nothing_is_moved_to_another_stream(store: Database) -> None:
    with confined("a"), store.reading() as session:
        job = session.scalars(sa.select(Job)).one()
        job.stream = "b"
        with pytest.raises(BeyondConfinement) as beyond:
            session.flush()
        assert beyond.value.stream == "b"
        session.rollback()


def test_sql_that_names_no_classes_is_refused(store: Database) -> None:
    with confined("a"), store.reading() as session:
        for statement in (
            sa.text("SELECT * FROM jobs"),
            sa.select(sa.text("* FROM jobs")),
            Job.__table__.select(),
            Job.__table__.delete(),  # type: ignore[attr-defined]
            sa.insert(Job).values(id="new", stream="a", name="new"),
            sa.select(Job.__table__.c.id.label("id")).union(sa.select(Job.__table__.c.id)),
            sa.select(aliased(Job)),
            sa.select(Job.id).where(sa.exists(sa.select(Job.__table__.alias().c.id))),
            sa.select(Stream.name).where(sa.exists(sa.select(Job.__table__.c.id))),
            sa.select(Stream.name).where(sa.text("1 = 1")),
            sa.select(Stream).select_from(
                Stream.__table__.join(Job.__table__, sa.literal(value=True))
            ),
        ):
            with pytest.raises(TypeError, match="confined"):
                session.execute(statement)
        assert session.scalar(sa.select(sa.func.lower("X"))) == "x"
        assert len(session.scalars(sa.select(IdempotentRequest)).all()) == len(NAMES)


def test_what_must_be_unique_everywhere_is_looked_for_in_all_streams_and_what_is_joined_is_not(
    store: Database,
) -> None:
    query = sa.select(sa.func.count(Processor.id))
    with confined("a"), store.reading() as session:
        assert session.scalar(query) == 1
        assert session.scalar(query, execution_options=ALL_STREAMS) == len(NAMES)
    joined = sa.select(HeldVersion.job_id, Job.id).outerjoin(Job, Job.stream == "b")
    with confined("a"), store.reading() as session:
        assert [row[1] for row in session.execute(joined)] == [None]
    with confined("b"), store.reading() as session:
        assert [row[1] == row[0] for row in session.execute(joined)] == [True]
    with confined(), store.reading() as session:
        assert not any(SHAPES["count"](session, mapper) for mapper in mappers())
