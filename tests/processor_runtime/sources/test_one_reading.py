"""One file of odd events, through every reader of events: all find the same matches.

Keys with leading zeros, words that YAML takes for truth values, numbers of 16 digits beside a half,
equal times with and without NULL in the order, microseconds, numbers in a TIMESTAMP column, no key.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from api.trials.trial import run_trial
from cep.definition.rule_files import read_documents
from cep.events.order import EventTime
from cep.events.table import event_rows
from cep.expression import Schema
from cep.trials.rule import WrittenRule, read_rule
from percept import Pattern, find_matches
from percept.command_line import app
from processor_runtime.backtest.history import read_history
from processor_runtime.backtest.replay import replayed
from processor_runtime.backtest.rules import ready, rules_in, streams_in
from processor_runtime.rules.loading import RuleDefaults
from tests.processor_runtime.spark.finished_job import job
from tests.processor_runtime.written_rows import written

BIG: Final = 9_007_199_254_740_993
EARLIER, LATER = "1970-01-01T00:00:01.000200Z", "1970-01-01T00:00:01.000500Z"
COLUMNS: Final = ("ts", "id", "code", "country", "n", "seq")
ROWS: Final[list[tuple[Any, ...]]] = [
    (1000, "e1", "0042", "NO", 0.5, 2),
    (1000, "e2", "42", "NO", 0.5, 2),
    (1000, "e3", "0042", "off", BIG, None),
    (1000, "e4", "0042", "off", BIG, 3),
    (LATER, "e5", "42", "off", BIG, 1),
    (EARLIER, "e6", "42", "NO", 0.5, 9),
    (2000, "e7", None, "NO", 0.5, 1),
    (2000, "e8", None, "off", BIG, 2),
    (3000, "e9", "42", "NO", 0.5, 1),
    (3000, "e10", "42", "off", BIG - 1, 2),
]
EVENTS: Final = [
    {name: value for name, value in zip(COLUMNS, row, strict=True) if value is not None}
    for row in ROWS
]
DDL: Final = "ts TIMESTAMP, id STRING, code STRING, country STRING, n DECIMAL(20,2), seq BIGINT"
STREAM: Final = {"name": "odd", "schema": DDL, "event_time_column": "ts", "order_by": ["seq"]}
PATTERN: Final = {
    "steps": [
        {"name": "a", "where": "country = 'NO'"},
        {"name": "b", "contiguity": "next", "where": f"n = {BIG}"},
    ]
}
RULE: Final = {"id": "a-then-b", "stream": "odd", "key_by": ["code"], "pattern": PATTERN}
QUERY: Final = """SELECT code, a_id, b_id FROM odd MATCH_RECOGNIZE (
  PARTITION BY code ORDER BY ts, seq MEASURES A.id AS a_id, B.id AS b_id
  AFTER MATCH SKIP TO NEXT ROW PATTERN (A B)
  DEFINE A AS country = 'NO', B AS n = 9007199254740993)"""
Found = set[tuple[str | None, str, str]]
EXPECTED: Final[Found] = {("0042", "e1", "e4"), ("42", "e6", "e5"), (None, "e7", "e8")}


def put_rule(
    folder: Path, rule: dict[str, Any], write: Callable[[Any], str] = yaml.safe_dump
) -> None:
    for name, document in (("odd", STREAM), ("a-then-b", rule)):
        (folder / f"{name}.yaml").write_text(write(document), encoding="utf-8")


@pytest.fixture(params=["jsonl", "csv"])
def events(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The file of events, beside the documents of the rule and its stream."""
    put_rule(tmp_path, RULE)
    path = tmp_path / f"events.{request.param}"
    if request.param == "csv":
        lines = [",".join(COLUMNS)]
        lines += [",".join("" if each is None else f"{each}" for each in row) for row in ROWS]
    else:
        lines = [json.dumps(event) for event in EVENTS]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(*words: object) -> str:
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result.stdout


def lines(text: str) -> list[dict[str, Any]]:
    return list(map(json.loads, text.splitlines()))


def found(key: Any, steps: Mapping[str, Iterable[Mapping[str, Any]]]) -> tuple[Any, str, str]:
    (a,), (b,) = steps["a"], steps["b"]
    return key, a["id"], b["id"]


def by_match(events: Path) -> Found:
    told = lines(run("match", events.with_name("a-then-b.yaml"), events, "--format", "jsonl"))
    return {found(each["key"][0], each["steps"]) for each in told}


def by_sql(events: Path) -> Found:
    told = run("sql", QUERY, events, "--schema", DDL, "--format", "jsonl")
    return {(each["code"], each["a_id"], each["b_id"]) for each in lines(told)}


def by_why(events: Path) -> Found:
    rule = events.with_name("a-then-b.yaml")
    (told,) = lines(run("why", rule, events, "--json"))
    assert told["match_count"] == len(EXPECTED)
    matches: Found = set()
    for key in ("0042", "42", None):
        asked = ("--only", json.dumps([key]), "--from", "0", "--to", "9000", "--json")
        (told,) = lines(run("why", rule, events, *asked))
        columns = {int(place): each["columns"] for place, each in told["events"].items()}
        for match in told["matches"]:
            steps = {name: map(columns.__getitem__, at) for name, at in match["steps"].items()}
            matches.add(found(told["key"][0], steps))
    return matches


def by_draft(events: Path) -> Found:
    """As the service tries a draft, which takes JSON: events of CSV come typed."""
    rows = event_rows(events.read_bytes(), events.name, Schema.from_ddl(DDL))
    given = EVENTS if events.suffix == ".jsonl" else list(rows.typed())
    written = WrittenRule({"pattern": PATTERN, "key_by": ["code"]}, DDL, EventTime("ts", ("seq",)))
    report = run_trial(read_rule(written), given, let_time_pass=False)
    return {
        found(each.key[0], {name: map(EVENTS.__getitem__, at) for name, at in each.steps.items()})
        for each in report.matches
    }


def by_find_matches(events: Path) -> Found:
    schema = Schema.from_ddl(DDL)
    rows = event_rows(events.read_bytes(), events.name, schema)
    order = EventTime("ts", ("seq",)).order(schema)
    result = find_matches(
        Pattern.from_document(PATTERN),
        EVENTS if events.suffix == ".jsonl" else rows.typed(),
        key_by="code",
        order_by=order,
        schema=schema,
        warn=False,
    )
    return {found(each.key, each.steps) for each in result.matches}


def by_backtest(events: Path) -> Found:
    documents, _ = read_documents([events.parent])
    streams = streams_in(documents)
    rules = rules_in(documents, None, streams)
    run = ready(rules.versions, streams["odd"], RuleDefaults(None))
    history = read_history([events], streams["odd"])
    batches = replayed(run.rules, history, closes_windows=True)
    rows = (row for batch in batches for row in batch.rows)
    return {found(json.loads(row.key or "")[0], json.loads(row.events or "")) for row in rows}


@pytest.mark.parametrize(
    "reader", [by_match, by_sql, by_why, by_draft, by_find_matches, by_backtest]
)
def test_an_odd_file_gives_the_same_matches(events: Path, reader: Callable[[Path], Found]) -> None:
    assert reader(events) == EXPECTED


@pytest.mark.parametrize("write", [yaml.safe_dump, json.dumps], ids=["yaml", "json"])
def test_so_do_the_examples_of_a_rule(write: Callable[[Any], str], tmp_path: Path) -> None:
    places = {event["id"]: place for place, event in enumerate(EVENTS)}
    matches = [{"a": [places[a]], "b": [places[b]]} for _, a, b in EXPECTED]
    rule = RULE | {"examples": [{"events": EVENTS, "matches": matches}]}
    put_rule(tmp_path, rule, write)
    assert "1 example run" in run("test", tmp_path)


@pytest.mark.long
def test_so_does_a_job(spark: SparkSession, events: Path) -> None:
    folder = events.parent / "job"
    (folder / "in").mkdir(parents=True)
    (folder / "rules").mkdir()
    for name in ("odd.yaml", "a-then-b.yaml"):
        events.with_name(name).rename(folder / "rules" / name)
    events.rename(folder / "in" / events.name)
    form = "csv" if events.suffix == ".csv" else "json"
    source: dict[str, Any] = {"format": form, "path": str(folder / "in")}
    source |= {"options": {"header": "true"}} if form == "csv" else {}
    trigger = {"available_now": True, "close_at_end": True}
    job(spark, folder, stream="odd", source=source, trigger=trigger).run()
    assert {found(row["key"][0], row["events"]) for row in written(folder)} == EXPECTED
