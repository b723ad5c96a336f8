"""Sessions that see and write what belongs to some streams only; slices need not think of it.

    request, its token ──confine──► this context ─► every session opened in it
    statement ─► each table in it: rows of these streams ─► store
    flush ─► each object: of one of these streams, or `BeyondConfinement`

A table has a column `stream`, or refers to a table that belongs to a stream. One that does neither
is empty to a confined session, unless it stands in `_OF_REQUESTS`. So a table that is added is
confined too, or hidden, and a query that names no stream finds nothing of another one. SQL about
tables whose classes it does not name is refused.
"""

from collections.abc import Iterable
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import (
    ClauseElement,
    Column,
    ColumnElement,
    ForeignKeyConstraint,
    FromClause,
    Join,
    Table,
    TextClause,
    and_,
    event,
    false,
    select,
    tuple_,
)
from sqlalchemy.orm import (
    Mapper,
    ORMExecuteState,
    Session,
    object_mapper,
    registry,
    sessionmaker,
    with_loader_criteria,
)
from sqlalchemy.orm.interfaces import ORMOption
from sqlalchemy.sql import visitors
from sqlalchemy.sql.selectable import AliasedReturnsRows
from sqlalchemy.sql.visitors import ExternallyTraversible

_ALL_STREAMS: Final = "percept_all_streams"
ALL_STREAMS: Final = {_ALL_STREAMS: True}
"""Execution options of a statement about what must be unique in all streams, such as an id.

Its result must tell of no other stream but that.
"""

_STREAMS: Final = "streams"
_OF_REQUESTS: Final = frozenset({"idempotent_requests"})  # found by the token of the request
_INFO: Final = "percept_streams"
_CONFINED_TO: ContextVar[frozenset[str] | None] = ContextVar("percept streams", default=None)


class BeyondConfinement(Exception):
    """Something of a stream was to be written that the session is not confined to.

    `stream` is its name; `None` where it belongs to no one stream.
    """

    def __init__(self, stream: str | None) -> None:
        super().__init__("no stream" if stream is None else stream)
        self.stream = stream


def confine(streams: frozenset[str] | None) -> None:
    """Confine the sessions that are opened in this context from now on; `None` = all streams."""
    _CONFINED_TO.set(streams)


def confined_to() -> frozenset[str] | None:
    """Return the streams that sessions opened now are confined to; `None` = all streams."""
    return _CONFINED_TO.get()


def confine_sessions(sessions: sessionmaker[Session], tables: registry) -> None:
    """Let sessions of a factory be confined, if `opened` asks it for them."""

    def narrow(asked: ORMExecuteState) -> None:
        _narrow(asked, tables)

    event.listen(sessions, "do_orm_execute", narrow)
    event.listen(sessions, "before_flush", _refuse_other_streams)


def opened(sessions: sessionmaker[Session]) -> Session:
    """Return a session of a factory, confined as this context is."""
    session = sessions()
    session.info[_INFO] = confined_to()
    return session


def _narrow(asked: ORMExecuteState, tables: registry) -> None:
    """Add to each table of a statement which of its rows a confined session sees."""
    streams = asked.session.info.get(_INFO)
    if streams is None or asked.execution_options.get(_ALL_STREAMS):
        return
    parts = list(visitors.iterate(asked.statement))  # type: ignore[arg-type]
    can_narrow = asked.is_orm_statement and not asked.is_insert
    if _names_no_class(parts) if can_narrow else any(map(_is_table, parts)):
        what = "a confined session cannot run this; name mapped classes, without aliases"
        raise TypeError(f"{what}: {asked.statement}")
    if can_narrow:
        asked.statement = asked.statement.options(*_criteria(streams, tables.mappers))


def _is_table(part: object) -> bool:
    """Whether it may be about a table that is confined."""
    return isinstance(part, TextClause) or (
        isinstance(part, Table) and part.name not in _OF_REQUESTS
    )


def _names_no_class(parts: Iterable[ExternallyTraversible]) -> bool:
    """Whether a statement is about a table that is confined without naming its class."""
    named: set[str] = set()
    used: set[str] = set()
    for part in parts:
        match part:
            case TextClause():
                return True
            case AliasedReturnsRows() if _is_table(part.element):
                return True  # of a class, too: criteria do not reach it in every join
            case Join() if any(_is_table(side) and not _is_of_class(side) for side in _sides(part)):
                return True
            case Column() if _is_table(part.table):
                # A row that is looked up by its key is so by a column of the table.
                (named if _is_of_class(part) else used).add(str(part.table))
            case Table() if _is_of_class(part):
                named.add(str(part))
            case _:
                pass
    return not used <= named


def _sides(join: Join) -> tuple[FromClause, FromClause]:
    return join.left, join.right


def _is_of_class(part: ClauseElement) -> bool:
    return "parententity" in part._annotations  # noqa: SLF001 - where the mapper tells it


def _refuse_other_streams(session: Session, _context: Any, _instances: Any) -> None:
    streams = session.info.get(_INFO)
    if streams is None:
        return
    for written in (*session.new, *session.dirty, *session.deleted):
        table = _table_of(object_mapper(written))
        if _stream_column(table) is not None:
            stream = getattr(written, _stream_key(table))
            if stream not in streams:
                raise BeyondConfinement(stream)
        elif table.name not in _OF_REQUESTS and not _owners(table):
            raise BeyondConfinement(None)


@lru_cache(maxsize=256)
def _criteria(streams: frozenset[str], mappers: frozenset[Mapper[Any]]) -> tuple[ORMOption, ...]:
    names = sorted(streams)
    return tuple(
        with_loader_criteria(mapper.class_, _criterion(_table_of(mapper), names))
        for mapper in sorted(mappers, key=lambda each: each.class_.__name__)
        if _table_of(mapper).name not in _OF_REQUESTS
    )


def _criterion(table: Table, streams: list[str]) -> ColumnElement[bool]:
    """Return which rows of a table belong to these streams: none, if nothing tells."""
    own = _stream_column(table)
    if own is not None:
        return own.in_(streams)
    owned = [
        _key(part.parent for part in owner.elements).in_(
            select(*(part.column for part in owner.elements))
            .where(_criterion(owner.referred_table, streams))
            .correlate(None)
        )
        for owner in _owners(table)
    ]
    return and_(*owned) if owned else false()


def _key(columns: Iterable[ColumnElement[Any]]) -> ColumnElement[Any]:
    first, *others = columns
    return tuple_(first, *others) if others else first


def _owners(table: Table) -> list[ForeignKeyConstraint]:
    """Return the references of a table to what belongs to a stream itself."""
    references = sorted(table.foreign_key_constraints, key=lambda each: tuple(each.column_keys))
    return [each for each in references if _has_stream(each.referred_table)]


def _has_stream(table: Table) -> bool:
    return _stream_column(table) is not None or bool(_owners(table))


def _stream_column(table: Table) -> ColumnElement[Any] | None:
    return table.columns.get(_stream_key(table))


def _stream_key(table: Table) -> str:
    return "name" if table.name == _STREAMS else "stream"


def _table_of(mapper: Mapper[Any]) -> Table:
    assert isinstance(mapper.local_table, Table)  # noqa: S101 - nothing else is mapped
    return mapper.local_table
