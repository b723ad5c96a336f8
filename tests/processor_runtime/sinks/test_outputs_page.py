"""docs/outputs.md: what it shows is what outputs do."""

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from sqlalchemy import text

from cep.definition.checking import check_definition
from cep.definition.document import ProcessorContent
from cep.expression import Schema
from cep.instants import iso_text
from processor_runtime.alerting.group_rows import group_rows
from processor_runtime.alerting.groups import Group
from processor_runtime.job_file.outputs import JdbcOutput, KafkaOutput, ServiceOutput, WebhookOutput
from processor_runtime.spark.sinks.files.sink import FileSink
from processor_runtime.spark.sinks.jdbc.database import database_engine
from processor_runtime.spark.sinks.jdbc.sink import JdbcSink
from processor_runtime.spark.sinks.webhook.requests import signature
from tests.api.running import postgresql_schema_named
from tests.docs.fences import Fence, fences, rows
from tests.processor_runtime.sinks.rows import Frame, error, match, output, surroundings

PAGE = "docs/outputs.md"


def shown(language: str, heading: str) -> str:
    (text,) = (f.text for f in fences(PAGE) if (f.language, f.heading) == (language, heading))
    return text


def test_the_outputs_of_the_example_are_outputs() -> None:
    example = next(each for each in fences(PAGE) if each.language == "yaml")
    found = [output(**keys) for keys in yaml.safe_load(example.text)["outputs"]]
    assert [each.type for each in found] == ["parquet"]


GROUPS = "One alert for many keys"
NOISE = [
    each
    for each in fences(PAGE)
    if each.heading in {"Less noise", GROUPS, "Budgets"} and each.language == "yaml"
]


def test_the_rules_of_the_examples_say_how_often_they_go_out() -> None:
    said = [yaml.safe_load(each.text) for each in NOISE]
    assert [name for keys in said for name in keys["alert"]] == ["suppress", "group", "budget"]


@pytest.mark.parametrize("example", NOISE, ids=lambda each: each.text.split()[-1])
def test_the_rule_of_an_example_is_one(example: Fence) -> None:
    keys = yaml.safe_load(example.text)
    pattern = {"steps": [{"name": "login"}]}
    schema = Schema.from_ddl("user STRING, country STRING")
    checked = check_definition({"pattern": pattern, **keys}, schema, ProcessorContent)
    assert checked.problems == ()


def test_every_option_in_the_tables_is_one() -> None:
    models: list[Any] = [KafkaOutput, JdbcOutput, WebhookOutput, ServiceOutput]
    known = {name for model in models for name in model.model_fields}
    tables = rows(PAGE, "option", "meaning")
    named = {name.strip("`") for row in tables for name in row["option"].split(", ")}
    assert len(named) > 15
    assert named <= known | {"path"}


def test_a_signature_is_checked_as_the_page_shows() -> None:
    names: dict[str, Any] = {}
    exec(shown("python", "`type: webhook`"), names)  # noqa: S102 - the page's own example
    given = signature(b"s3cret", b"[]")
    assert names["is_genuine"]("s3cret", b"[]", given)
    assert not names["is_genuine"]("other", b"[]", given)
    assert given == f"sha256={hmac.new(b's3cret', b'[]', hashlib.sha256).hexdigest()}"


@pytest.mark.spark
def test_a_row_is_the_json_that_the_page_shows(frame: Frame, tmp_path: Path) -> None:
    sink = FileSink(output(type="json", path=str(tmp_path)), surroundings())
    sink.write(frame(match()), 0, 1)
    (file,) = tmp_path.glob("batch=0/*.json")
    written = json.loads(file.read_text("utf-8"))
    expected = json.loads(shown("json", "Columns"))
    assert written == expected
    assert list(written) == list(expected)


def test_the_row_of_a_group_is_as_the_page_shows_it() -> None:
    row = json.loads(shown("json", GROUPS))
    told = row["output"]
    group = Group(
        id=row["tag"],
        processor_id=row["processor_id"],
        version=2,
        by=("country",),
        values=json.dumps(list(told["group"].values())),
        from_ms=told["from_ms"],
        until_ms=told["until_ms"],
        first_ms=row["start_ms"],
        last_ms=row["end_ms"],
        matches=500,
        versions=(2,),
        match_ids=tuple(told["match_ids"]),
        keys=tuple(f"{number:016x}" for number in range(480)),
    )
    (written,) = group_rows([group], row["epoch"])
    assert json.loads(written.output or "") == told
    for name in ("kind", "tag", "processor_id", "version", "epoch", "start_ms", "end_ms"):
        assert getattr(written, name) == row[name]
    for name in ("start", "end"):
        assert iso_text(row[f"{name}_ms"]) == row[f"{name}_time"]


@pytest.mark.spark
def test_parquet_is_read_with_the_query_that_the_page_shows(frame: Frame, tmp_path: Path) -> None:
    sink = FileSink(output(type="parquet", path=str(tmp_path / "matches")), surroundings())
    sink.write(frame(match(1), match(2)), 0, 2)
    query = shown("sql", "`type: json`, `type: parquet`")
    query = query.replace("'matches", f"'{tmp_path}/matches")
    with duckdb.connect() as connection:
        assert connection.execute(query).fetchall() == [("failed-logins", 2)]


@pytest.mark.spark
def test_rows_are_written_to_a_table_as_the_page_creates_it(frame: Frame) -> None:
    with postgresql_schema_named("percept_outputs_page") as url:
        engine = database_engine(url, None, None)
        with engine.begin() as connection:
            connection.execute(text(shown("sql", "`type: jdbc`")))
        sink = JdbcSink(output(type="jdbc", url=url, table="matches"), surroundings())
        sink.write(frame(match(), error()), 0, 2)
        sink.close()
        with engine.begin() as connection:
            count = connection.execute(text("SELECT count(*) FROM matches")).scalar_one()
        engine.dispose()
    assert count == 2
