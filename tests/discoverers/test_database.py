"""A table of processor documents as a source, in SQLite and in PostgreSQL."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, make_url, text

from discoverers import BackgroundDiscovery, HealthStatus
from tests.api.running import postgresql_schema_named
from tests.discoverers.sources import STREAM_KEYS, actions, document, newest_of, numbers, running
from tests.patience import PATIENCE_SECONDS, eventually


@dataclass
class RuleTable:
    """A table `rules` that tests write to."""

    url: str
    engine: Engine
    insert: str

    def run(self, sql: str, **values: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(text(sql), values)

    def put(self, version: int, rule: Any, name: str = "a") -> None:
        whole = rule if isinstance(rule, str) else json.dumps(rule)
        self.run(self.insert, id=name, version=version, document=whole)

    def discovery(self, **options: Any) -> BackgroundDiscovery:
        config = {"type": "database", "url": self.url, "stream": STREAM_KEYS}
        source = {} if "query" in options else {"table": "rules"}
        return running(config | source | {"interval_seconds": 0.02} | options)


@pytest.fixture(params=["sqlite", "postgresql"])
def rules(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RuleTable]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'rules.db'}"
        yield from created(url, create_engine(url), "TEXT")
        return
    with postgresql_schema_named(f"percept_rules_{os.getpid()}") as url:
        psycopg_url = make_url(url).set(drivername="postgresql+psycopg")
        yield from created(url, create_engine(psycopg_url), "JSONB")


def created(url: str, engine: Engine, json_type: str) -> Iterator[RuleTable]:
    values = f":id, :version, CAST(:document AS {json_type}), false"
    table = RuleTable(url, engine, f"INSERT INTO rules VALUES ({values})")  # noqa: S608 - of literals
    table.run(f"CREATE TABLE rules (id TEXT, version INT, document {json_type}, paused BOOLEAN)")
    yield table
    engine.dispose()


def test_the_newest_version_of_every_row_is_discovered(rules: RuleTable) -> None:
    rules.put(1, document("a"))
    rules.put(7, document("b"), "b")
    with rules.discovery() as job:
        assert numbers(job.first(PATIENCE_SECONDS)) == {"a": [1], "b": [7]}
        rules.put(2, document("a", "login"))
        eventually(lambda: actions(job.latest()) == {"a": ["login"], "b": ["fail"]})
        rules.run("DELETE FROM rules WHERE id = 'b'")
        eventually(lambda: actions(job.latest()) == {"a": ["login"]})
        assert numbers(newest_of(job)) == {"a": [2]}
        assert newest_of(job).epoch > 7  # than every number so far


def test_scheduled_versions_come_with_the_one_that_runs_until_then(rules: RuleTable) -> None:
    rules.put(1, document("a", "old"))
    rules.put(2, document("a", "now"))
    rules.put(3, document("a", "later", effective_from="2027-01-01T00:00:00Z"))
    rules.run("UPDATE rules SET paused = true")
    with rules.discovery() as job:
        (processor,) = job.first(PATIENCE_SECONDS).processors
        assert processor.paused
        assert [version.version for version in processor.versions] == [2, 3]


def test_a_malformed_row_keeps_the_last_good_version_and_the_others_go_on(
    rules: RuleTable,
) -> None:
    rules.put(1, document("a"))
    rules.put(1, document("b"), "b")
    with rules.discovery() as job:
        job.first(PATIENCE_SECONDS)
        rules.put(2, {"pattern": {"steps": []}})
        rules.put(2, document("b", "login"), "b")
        eventually(lambda: actions(job.latest()) == {"a": ["fail"], "b": ["login"]})
        (problem,) = job.health.problems
        assert (problem.processor_id, problem.kept_versions) == ("a", (1,))
        assert problem.origin == "row of a version 2"


@pytest.mark.parametrize("rules", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{", "not JSON"),
        ("[]", "no mapping"),
        (document("other"), "the document's id is 'other'"),
        ({"pattern": {}, "efective_from": 1}, "Did you mean 'effective_from'?"),
        (document("a", effective_from=2, effective_until=1), "not after effective_from"),
        (
            document("a", pattern={"steps": [{"name": "a", "where": "user IN LIST('vip')"}]}),
            "there is no list 'vip'. Its stream has no lists",
        ),
    ],
)
def test_a_row_that_is_no_document_is_reported(rules: RuleTable, row: Any, words: str) -> None:
    rules.put(1, row)
    rules.put(1, document("b"), "b")
    with rules.discovery() as job:
        assert list(actions(job.first(PATIENCE_SECONDS))) == ["b"]
        (problem,) = job.health.problems
        assert words in problem.message


@pytest.mark.parametrize("rules", ["sqlite"], indirect=True)
def test_a_query_may_rename_columns_and_leave_versions_to_the_discoverer(rules: RuleTable) -> None:
    rules.run("CREATE TABLE detections (body TEXT, enabled INT)")
    body = json.dumps(document("a"))
    rules.run("INSERT INTO detections VALUES (:body, 1)", body=body)
    with rules.discovery(query="SELECT body AS document FROM detections WHERE enabled = 1") as job:
        assert numbers(job.first(PATIENCE_SECONDS)) == {"a": [1]}
        rules.run("UPDATE detections SET body = replace(body, 'fail', 'login')")
        eventually(lambda: actions(job.latest()) == {"a": ["login"]})
        assert numbers(job.first(0)) == {"a": [2]}


def test_with_a_change_query_the_documents_are_read_only_when_it_changes(rules: RuleTable) -> None:
    rules.put(1, document("a"))
    rules.run("CREATE TABLE stamp (at INT)")
    rules.run("INSERT INTO stamp VALUES (1)")
    with rules.discovery(change_query="SELECT at FROM stamp") as job:
        job.first(PATIENCE_SECONDS)
        rules.put(2, document("a", "login"))
        seen_ms = job.health.last_success_ms or 0
        eventually(lambda: (job.health.last_success_ms or 0) > seen_ms + 50)
        assert actions(job.latest()) == {"a": ["fail"]}
        rules.run("UPDATE stamp SET at = 2")
        eventually(lambda: actions(job.latest()) == {"a": ["login"]})


def test_a_table_that_is_gone_leaves_the_last_good_set(rules: RuleTable) -> None:
    rules.put(1, document("a"))
    with rules.discovery() as job:
        good = job.first(PATIENCE_SECONDS)
        rules.run("ALTER TABLE rules RENAME TO elsewhere")
        eventually(lambda: job.health.status is HealthStatus.FAILING)
        assert job.latest() is good
        rules.run("ALTER TABLE elsewhere RENAME TO rules")
        eventually(lambda: job.health.status is HealthStatus.OK)


def test_the_database_is_only_read(rules: RuleTable) -> None:
    query = {
        "sqlite": "DELETE FROM rules RETURNING document",
        "postgresql": "WITH gone AS (DELETE FROM rules RETURNING document) SELECT * FROM gone",
    }[rules.engine.dialect.name]
    rules.put(1, document("a"))
    with rules.discovery(query=query) as job:
        eventually(lambda: job.health.status is HealthStatus.FAILING)
        assert "read" in (job.health.last_error or "").lower()
    with rules.discovery() as job:
        assert list(actions(job.first(PATIENCE_SECONDS))) == ["a"]


def test_a_sqlite_file_that_is_not_there_is_a_failure_and_is_not_made(tmp_path: Path) -> None:
    file = tmp_path / "rules.db"
    options = {"url": f"sqlite:///{file}", "table": "rules", "stream": STREAM_KEYS}
    with running({"type": "database"} | options) as job:
        eventually(lambda: job.health.status is HealthStatus.FAILING)
    assert not file.exists()
