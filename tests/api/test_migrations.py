"""Migrations go up and down on both back ends and make exactly the tables the code expects."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, select, text

from api.audit.tables import Change
from api.matches.tables import Match, MatchTriage
from api.store.database import Database, migrate
from api.streams.tables import Stream
from api.tables import Record
from tests.api.running import migrate_sqlite, postgresql_schema_named


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a store without any table."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    with postgresql_schema_named(f"percept_migrations_{tmp_path.name}"[:60]) as url:
        yield url


def tables(database: Database) -> set[str]:
    return set(inspect(database.engine).get_table_names())


def test_a_migrated_store_is_what_the_code_expects(empty_store: str) -> None:
    database = Database(empty_store)
    migrate(database.engine)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Record.metadata) == []
    assert database.is_ready()
    database.close()


def test_matches_of_a_rule_and_a_key_are_looked_up_by_both(tmp_path: Path) -> None:
    """Of a rule that has found most of a million matches, SQLite would else read all for a key."""
    migrate_sqlite(path := tmp_path / "store.db")
    database = Database(f"sqlite:///{path}")
    query = select(Match.number).where(
        Match.stream == "logins", Match.processor_id == "failed-logins", Match.key_text == "eve"
    )
    compiled = query.order_by(Match.number.desc()).compile(
        database.engine, compile_kwargs={"literal_binds": True}
    )
    with database.engine.connect() as connection:
        ((*_, plan),) = connection.execute(text(f"EXPLAIN QUERY PLAN {compiled}"))
    assert "COVERING INDEX ix_matches_stream_processor_id_key_text_number" in plan
    database.close()


@pytest.mark.long
def test_migrations_go_down_to_nothing_and_up_again(empty_store: str) -> None:
    database = Database(empty_store)
    for _ in range(2):
        migrate(database.engine)
        assert {table.name for table in Record.metadata.sorted_tables} < tables(database)
        migrate(database.engine, "base")
        assert tables(database) == {"alembic_version"}
        assert not database.is_ready()
    database.close()


def test_changes_of_one_epoch_go_down_as_well(empty_store: str) -> None:
    database = Database(empty_store)
    migrate(database.engine)
    stream = Stream(
        name="s", uid="u", epoch=3, version=1, description="", created_at_ms=1, created_by="test"
    )
    with database.writing() as session:
        session.add(stream)
        session.flush()
        epochs: list[int | None] = [1, 2, 2, 2, 3, None]
        session.add_all(
            Change(id=place, at_ms=1, actor="test", action="x", stream="s", epoch=epoch)
            for place, epoch in enumerate(epochs)
        )
    while not inspect(database.engine).get_unique_constraints("changes"):
        migrate(database.engine, "-1")
    with database.engine.connect() as connection:
        kept = connection.execute(text("SELECT epoch FROM changes ORDER BY id")).scalars().all()
    assert kept == [1, 2, None, None, 3, None]
    migrate(database.engine)
    assert database.is_ready()
    database.close()


def test_matches_that_are_there_are_counted(empty_store: str) -> None:
    database = Database(empty_store)
    migrate(database.engine)
    stream = {"name": "s", "uid": "u", "epoch": 1, "version": 1, "description": ""}
    either = {"stream": "s", "processor_id": "p", "kind": "match", "version": 1, "job": "j"}
    either |= {"key": "[]", "start_ms": 1, "end_ms": 1}
    match = {"epoch": 1, "key_text": "", "received_at_ms": 1, "output": "", "events": ""}
    triage = {"assignee": "", "changed_at_ms": 1, "decided_by": "", "note_count": 0}
    with database.writing() as session:
        session.add(Stream(**stream, created_at_ms=1, created_by="test"))
        session.flush()
        session.add_all(
            Match(**either, **match, number=number, match_id=f"{number}", event_count=0)
            for number in (1, 2, 3)
        )
        statuses = {"1": "open", "2": "resolved", "gone": "resolved", "gone-open": "open"}
        session.add_all(
            MatchTriage(**either, **triage, match_id=name, status=status, change=n, revision=n)
            for n, (name, status) in enumerate(statuses.items(), start=1)
        )
    while "match_counts" in tables(database):
        migrate(database.engine, "-1")
    migrate(database.engine)
    with database.engine.connect() as connection:
        counts = connection.execute(
            text("SELECT status, present, total FROM match_counts ORDER BY status")
        ).all()
    assert counts == [("open", 2, 2), ("resolved", 1, 2)]
    database.close()


def test_processes_that_start_at_once_migrate_once(empty_store: str) -> None:
    databases = [Database(empty_store) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda database: migrate(database.engine), databases))
    assert databases[0].is_ready()
    for database in databases:
        database.close()
