"""`percept explain` as a user runs it."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner, Result

from cep.pattern import Pattern
from cep.row_pattern.parsing.clauses import read_query
from percept.command_line import app
from tests.docs.fences import ROOT

RULE = """\
steps:
  - name: fail
    where: action = 'fail'
    times: 3
  - name: login
    contiguity: followed_by
    where: action = 'login'
within: 10 minutes
"""
CLAUSE = "match_recognize(order by ts pattern(a b+?)define a as x>1,b as x<1)"


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    path = tmp_path / "rule.yaml"
    path.write_text(RULE)
    return path


def run(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["explain", *map(str, arguments)], input=stdin)


def test_a_document_is_told_as_its_builder_calls(rule: Path) -> None:
    result = run(rule)
    assert result.exit_code == 0
    assert Pattern.parse(result.stdout).tree == Pattern.from_yaml(RULE).tree


STREAM = """\
name: payments
schema: ts TIMESTAMP, user STRING, action STRING, amount DECIMAL(10, 2), size DOUBLE
event_time_column: ts
"""


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("action = 'login'", "Runs in compiled code."),
        ("size > 2 * AVG(fail.size)", "Runs in compiled code."),
        (
            "amount > LAST(fail.amount)",
            "Runs in Python: a condition on a value of type DECIMAL of an earlier event.",
        ),
    ],
)
def test_it_is_told_what_runs_a_rule_and_why(tmp_path: Path, where: str, text: str) -> None:
    (tmp_path / "stream.yaml").write_text(STREAM)
    rule = tmp_path / "rule.yaml"
    steps = RULE.replace("action = 'login'", where).replace("\n", "\n  ").rstrip()
    rule.write_text(f"id: r\nstream: payments\nkey_by: [user]\npattern:\n  {steps}\n")
    told = run(rule)
    assert told.exit_code == 0, told.output
    assert told.stderr.strip() == text


def test_a_clause_that_is_searched_for_says_so() -> None:
    clause = "match_recognize(order by ts pattern(a b+?)define a as x>1,b as prev(x)<1)"
    assert run(clause).stderr.startswith("Runs in Python: a clause that is searched for")


def test_sql_is_told_in_one_layout_from_text_file_and_stdin(tmp_path: Path) -> None:
    path = tmp_path / "rule.sql"
    path.write_text(f"-- two steps\n/* of x */ {CLAUSE}")
    texts = {result.stdout for result in (run(CLAUSE), run(path), run("-", stdin=f"\n{CLAUSE}"))}
    (text,) = texts
    assert text.splitlines()[0] == "MATCH_RECOGNIZE ("
    assert read_query(text) == read_query(CLAUSE)


def test_each_language_is_told_in_the_other(rule: Path) -> None:
    told = run(rule, "--as", "sql", "--key", "user", "--key", "host", "--time", "at")
    assert told.exit_code == 0
    assert "PARTITION BY user, host" in told.stdout
    assert "ORDER BY at" in told.stdout
    back = run("-", "--as", "pattern", stdin=told.stdout)
    assert back.exit_code == 0
    assert Pattern.from_yaml(back.stdout).tree.elements[0].times is not None
    assert run(CLAUSE, "--as", "sql").stdout == run(CLAUSE).stdout
    assert Pattern.from_yaml(run(rule, "--as", "pattern").stdout).tree == (
        Pattern.from_yaml(RULE).tree
    )


def test_what_is_not_the_same_is_refused_with_reason_and_hint(tmp_path: Path) -> None:
    result = run("MATCH_RECOGNIZE (PATTERN (A | B) DEFINE A AS x > 1)", "--as", "pattern")
    assert result.exit_code == 1
    assert "percept explain: SQL: not the same in pattern: A | B has no" in result.stderr
    path = tmp_path / "rule.yaml"
    path.write_text("steps: [{name: a}, {name: b, contiguity: followed_by_any}]")
    result = run(path, "--as", "sql")
    assert result.exit_code == 1
    assert "Use a skip strategy" in result.stderr


def test_graphs_are_printed_as_dot_svg_and_json(rule: Path) -> None:
    for source in (rule, CLAUSE):
        assert run(source, "--as", "dot").stdout.startswith("digraph pattern {")
        assert ET.fromstring(run(source, "--as", "svg").stdout).tag.endswith("svg")  # noqa: S314
        told = json.loads(run(source, "--as", "json").stdout)
        assert set(told) == {"language", "text", "states", "drawing", "translation"}
        assert told["states"]["nodes"][0]["kind"] == "start"
        assert "text" in told["translation"]
    assert told["drawing"]["pattern"]["kind"] == "sequence"


def test_what_is_not_usable_is_told_where_and_why(tmp_path: Path) -> None:
    missing = run(tmp_path / "none.yaml")
    assert missing.exit_code == 2
    assert "Give a file, or SQL that begins with MATCH_RECOGNIZE or SELECT." in missing.stderr
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("steps: [{nam: a}]")
    assert "unknown key" in run(wrong).stderr
    unclear = run("MATCH_RECOGNIZE (PATTERN (A) DEFINE B AS x > 1)")
    assert unclear.exit_code == 2
    assert "line 1, column 37" in unclear.stderr
    assert run(CLAUSE, "--as", "poem").exit_code == 2


def test_the_picture_of_the_page_is_what_the_command_draws() -> None:
    page = (ROOT / "docs/explain.md").read_text(encoding="utf-8")
    (clause,) = re.findall(r"the drawing of `(.*)`:", page)
    shown = (ROOT / "docs/images/explain.svg").read_text(encoding="utf-8")
    assert run(clause, "--as", "svg").stdout == shown


def test_of_a_whole_rule_the_pattern_key_and_time_are_told(tmp_path: Path) -> None:
    inner = "".join(f"  {line}" for line in RULE.splitlines(keepends=True))
    stream = "name: logins\nschema: at TIMESTAMP\nevent_time_column: at\n---\n"
    whole = f"id: guessed\nstream: logins\nkey_by: [user]\npattern:\n{inner}"
    (tmp_path / "pattern.yaml").write_text(RULE)
    (tmp_path / "rule.yaml").write_text(stream + whole)
    alone, rule = tmp_path / "pattern.yaml", tmp_path / "rule.yaml"
    assert run(rule).stdout == run(alone).stdout == run("-", stdin=whole).stdout
    in_sql = run(rule, "--as", "sql").stdout
    assert in_sql == run(alone, "--as", "sql", "--key", "user", "--time", "at").stdout
    assert "PARTITION BY user" in in_sql
    assert "ORDER BY at" in in_sql
    as_json = json.dumps({"id": "a", "stream": "b", "pattern": {"match_recognize": CLAUSE}})
    assert run("-", stdin=as_json).stdout == run(CLAUSE).stdout


def test_a_mistake_in_a_whole_rule_has_its_place(tmp_path: Path) -> None:
    file = tmp_path / "rule.yaml"
    file.write_text("id: a\nstream: b\npattern:\n  steps:\n  - {name: a, where: 'x ='}\n")
    result = run(file)
    assert result.exit_code == 2
    assert f"{file}:5:25: pattern.steps[0].where" in result.stderr
