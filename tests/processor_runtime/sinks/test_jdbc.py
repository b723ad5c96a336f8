"""Rows are in the table once, in PostgreSQL and SQLite alike; a batch is there whole or not."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from processor_runtime.spark.sinks import OutputFailed, create_sinks
from processor_runtime.spark.sinks.jdbc.database import database_engine, storable_json
from processor_runtime.spark.sinks.jdbc.sink import JdbcSink
from processor_runtime.spark.sinks.jdbc.table import TableUnfit
from tests.api.running import postgresql_schema_named
from tests.processor_runtime.sinks.rows import (
    SCHEMA,
    START_MS,
    Frame,
    error,
    late,
    match,
    output,
    side,
    surroundings,
)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'found.db'}"
    else:
        with postgresql_schema_named(f"percept_outputs_{id(request)}") as found:
            yield found


Sink = Callable[..., JdbcSink]


@pytest.fixture
def sink(url: str) -> Iterator[Sink]:
    """Opens sinks of the table `found`, and closes them at the end."""
    with ExitStack() as opened:

        def opening(**keys: Any) -> JdbcSink:
            wanted = {"type": "jdbc", "url": url, "table": "found", "create_table": True} | keys
            written = JdbcSink(output(**wanted), surroundings(), sleep=lambda seconds: None)
            opened.callback(written.close)
            return written

        yield opening


def stored(url: str, columns: str = "*") -> list[Any]:
    engine = create_engine(make_url(database_engine(url, None, None).url))
    with engine.connect() as connection:
        rows = connection.execute(text(f"SELECT {columns} FROM found ORDER BY row_id")).all()  # noqa: S608 - the test's own columns
    engine.dispose()
    return list(rows)


def test_a_row_is_stored_with_its_times_and_its_json(frame: Frame, sink: Sink, url: str) -> None:
    written = sink()
    written.write(frame(match(3)), 17, 1)
    (row,) = (row._mapping for row in stored(url))
    assert (row["row_id"], row["match_id"]) == (f"{3:032x}", f"{3:032x}")
    assert (row["batch_id"], row["kind"], row["version"], row["epoch"]) == (17, "match", 2, 3)
    end_time = datetime.fromtimestamp((START_MS + 3_000) / 1000, UTC)
    if url.startswith("sqlite"):
        assert row["end_time"] == end_time.strftime("%Y-%m-%d %H:%M:%S.%f")
        assert json.loads(row["output"]) == {"user": "eve", "failures": 3}
    else:
        assert row["end_time"] == end_time
        assert row["output"] == {"user": "eve", "failures": 3}
        assert row["error"] is None


def test_rows_that_are_written_again_are_not_doubled(frame: Frame, sink: Sink, url: str) -> None:
    rows = [match(1), match(2), late("ana"), late("ana"), error(), side("audit")]
    sink().write(frame(*rows), 4, 6)
    sink().write(frame(*reversed(rows)), 4, 6)
    kinds = [kind for (kind,) in stored(url, "kind")]
    assert sorted(kinds) == ["error", "late", "late", "match", "match", "side"]


def test_a_batch_of_which_one_row_is_refused_is_not_there_at_all(
    frame: Frame, sink: Sink, url: str
) -> None:
    written = sink(rows_per_statement=2)
    written.write(frame(match(1)), 0, 1)
    refused = match(999, kind=None)
    rows = frame(*(match(number) for number in range(10, 20)), refused)
    with pytest.raises(SQLAlchemyError, match="kind"):
        written.write(rows, 1, 11)
    assert len(stored(url)) == 1


@pytest.mark.long
def test_a_batch_of_many_statements_and_pieces_is_complete(
    frame: Frame, sink: Sink, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("processor_runtime.spark.sinks.row_identity.ROWS_PER_TASK", 100)
    rows = frame(*map(match, range(250)))
    sink(rows_per_statement=30).write(rows, 0, 250)
    assert len(stored(url)) == 250


@pytest.mark.long
def test_text_that_postgresql_cannot_store_is_mended(frame: Frame, sink: Sink, url: str) -> None:
    odd = match(output=r'{"a":"nul \u0000","b":"half \ud800","c":"\\u0000"}', tag="t\x00")
    sink().write(frame(odd), 0, 1)
    ((content,),) = stored(url, "output")
    found = json.loads(content) if isinstance(content, str) else content
    assert found == {"a": "nul \N{REPLACEMENT CHARACTER}", "b": "half ?", "c": "\\u0000"}


def test_json_that_can_be_stored_keeps_every_character() -> None:
    for kept in (None, '{"a":1.10}', '{"a": "plain"}', '{"z":1,"a":2}'):
        assert storable_json(kept) == kept
    assert storable_json(r'"\ud83d\ude00"') == '"\N{GRINNING FACE}"'


@pytest.mark.long
def test_a_table_that_is_not_there_is_created_only_if_wanted(frame: Frame, sink: Sink) -> None:
    with pytest.raises(TableUnfit, match="no table found; create it, or write create_table: true"):
        sink(create_table=False).write(frame(match()), 0, 1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("row_id TEXT PRIMARY KEY, batchid BIGINT", "no column batch_id. Did you mean 'batchid'"),
        ("", "row_id is no key of the table found"),
    ],
)
def test_a_table_of_ones_own_must_fit(
    frame: Frame, sink: Sink, url: str, columns: str, told: str
) -> None:
    names = ["row_id", "batch_id", "start_time", "end_time", *SCHEMA.names]
    columns = columns or ", ".join(f"{name} TEXT" for name in names)
    engine = database_engine(url, None, None)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE TABLE found ({columns})"))
    engine.dispose()
    with pytest.raises(TableUnfit, match=told):
        sink().write(frame(match()), 0, 1)


@pytest.mark.parametrize(("away_seconds", "rows"), [(60, 1), (200, 0)])
def test_a_database_that_is_away_is_tried_again_for_a_time(
    frame: Frame, sink: Sink, monkeypatch: pytest.MonkeyPatch, away_seconds: int, rows: int
) -> None:
    written, clock = sink(), [0.0]
    insert = written._insert
    monkeypatch.setattr(written, "_now", lambda: clock[0])
    monkeypatch.setattr(written, "_sleep", lambda seconds: clock.append(clock.pop() + seconds))

    def failing_insert(*arguments: Any) -> None:
        if clock[0] < away_seconds:
            raise OperationalError("INSERT", None, Exception("gone away"))
        insert(*arguments)

    written.write(frame(match(1)), 0, 1)
    monkeypatch.setattr(written, "_insert", failing_insert)
    with nullcontext() if rows else pytest.raises(OperationalError, match="gone away"):
        written.write(frame(match(2)), 1, 1)
    assert 60 <= clock[0] <= 120
    with written._engine.connect() as connection:
        found = connection.execute(text("SELECT count(*) FROM found")).scalar_one()
    assert found == 1 + rows


def test_a_database_that_is_not_there_is_named_without_its_password(
    frame: Frame,
) -> None:
    wanted = output(
        give_up_after_seconds=0,
        type="jdbc",
        url="jdbc:postgresql://127.0.0.1:1/test",
        table="found",
        user="percept",
        password_env="DB_PASSWORD",  # noqa: S106 - the name of a variable
    )
    around = surroundings(environment={"DB_PASSWORD": "hush-hush"})
    with create_sinks([wanted], around) as outputs, pytest.raises(OutputFailed) as told:
        outputs.write(frame(match()), 0, {"match": 1})
    assert "postgresql+psycopg://percept:***@127.0.0.1:1/test" in str(told.value)
    assert "hush-hush" not in str(told.value)


def test_a_password_that_is_not_set_is_told_by_the_name_of_its_variable() -> None:
    keys = {"type": "jdbc", "url": "postgresql://db/test", "table": "found"}
    wanted = output(**keys, password_env="DB_PASS")  # noqa: S106 - the name of a variable
    with pytest.raises(OutputFailed, match="output 'jdbc': password_env: the environment vari"):
        create_sinks([wanted], surroundings())


@pytest.mark.parametrize(
    ("given", "opened"),
    [
        ("jdbc:sqlite:found.db", "sqlite:///found.db"),
        ("sqlite:////tmp/found.db", "sqlite:////tmp/found.db"),
        ("jdbc:postgresql://db:5432/rules", "postgresql+psycopg://db:5432/rules"),
    ],
)
def test_addresses_are_also_understood_as_jdbc_writes_them(given: str, opened: str) -> None:
    assert database_engine(given, None, None).url.render_as_string() == opened


def test_statements_cannot_hang_for_ever() -> None:
    with postgresql_schema_named("percept_outputs_timeout") as url:
        engine = database_engine(url, None, None)
        with engine.begin() as connection:
            found = connection.execute(text("SHOW statement_timeout")).scalar_one()
        engine.dispose()
    assert found == "1min"
