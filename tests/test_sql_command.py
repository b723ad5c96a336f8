"""`percept sql` as a user runs it."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from percept.command_line import app

EVENTS: list[dict[str, Any]] = [
    {"ts": "2026-01-01T00:00:03Z", "user": "ana", "kind": "pay", "amount": 7.5},
    {"ts": "2026-01-01T00:00:01Z", "user": "ana", "kind": "try", "amount": None},
    {"ts": "2026-01-01T00:00:02Z", "user": "ana", "kind": "try", "amount": None},
    {"ts": "2026-01-01T00:00:02Z", "user": "bob", "kind": "try", "amount": 1},
]
PAID = """
    SELECT * FROM payments MATCH_RECOGNIZE (
      PARTITION BY user ORDER BY ts
      MEASURES FIRST(t.ts) AS first_try, COUNT(t.*) AS tries, p.amount AS amount
      PATTERN (t+ p) WITHIN INTERVAL '1' MINUTE
      DEFINE t AS kind = 'try', p AS kind = 'pay')
"""
PAID_ROW = {"user": "ana", "first_try": "2026-01-01T00:00:01Z", "tries": 2, "amount": 7.5}
COUNTED = "MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a+ b) DEFINE a AS x = 1)"


def run(*arguments: object, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["sql", *map(str, arguments)], input=stdin)


def jsonl(*events: object) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text("\n" + jsonl(*EVENTS))
    return path


def test_rows_are_printed_as_a_table_with_their_number(events: Path) -> None:
    shown = run(PAID, events).stdout
    assert "│ ana  │ 2026-01-01 00:00:01 │ 2     │ 7.5    │" in shown
    assert shown.endswith("1 row, 1 match\n")


def test_a_null_is_shown_as_one_and_markup_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(jsonl({"ts": 1, "x": "[red]"}))
    clause = "MATCH_RECOGNIZE (ORDER BY ts ALL ROWS PER MATCH PATTERN (a b?) DEFINE b AS x = '')"
    assert "│ 1  │ [red] │" in run(clause, path).stdout
    measured = "MATCH_RECOGNIZE (ORDER BY ts MEASURES b.x AS x PATTERN (a b?) DEFINE b AS x = '')"
    assert "│ NULL │" in run(measured, path).stdout


def test_rows_are_printed_as_json_lines_and_csv(events: Path) -> None:
    assert rows(run(PAID, events, "-f", "jsonl")) == [PAID_ROW]
    table = run(PAID, events, "-f", "csv").stdout
    assert list(csv.reader(io.StringIO(table))) == [
        ["user", "first_try", "tries", "amount"],
        ["ana", "2026-01-01 00:00:01", "2", "7.5"],
    ]


def test_values_that_json_has_no_form_for_are_text(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    frame = {"ts": [1], "d": ["2.50"], "f": [float("nan")], "day": ["2026-01-02"]}
    pl.DataFrame(frame).with_columns(
        pl.col("d").cast(pl.Decimal(9, 2)), pl.col("day").str.to_date()
    ).write_parquet(path)
    clause = "MATCH_RECOGNIZE (ORDER BY ts ALL ROWS PER MATCH PATTERN (a) DEFINE a AS d > 2.4)"
    (row,) = rows(run(clause, path, "-f", "jsonl"))
    assert row == {"ts": 1, "d": "2.5", "f": "NaN", "day": "2026-01-02"}


def test_all_formats_of_events_give_the_same(events: Path, tmp_path: Path) -> None:
    packed, table, columns = (tmp_path / f"e.{end}" for end in ("jsonl.gz", "csv", "parquet"))
    packed.write_bytes(gzip.compress(events.read_bytes()))
    frame = pl.DataFrame(EVENTS, infer_schema_length=None, strict=False)
    frame.write_csv(table)
    timed = frame.with_columns(pl.col("ts").str.to_datetime(time_zone="UTC"))
    timed.write_parquet(columns)
    arrow, stream = tmp_path / "e.arrow", tmp_path / "e.arrows"
    timed.write_ipc(arrow)
    timed.write_ipc_stream(stream)

    for path in (packed, table, columns, arrow, stream):
        assert rows(run(PAID, path, "-f", "jsonl")) == [PAID_ROW]
    for path in (events, packed, table, columns, arrow, stream):
        found = run(PAID, "-", "-f", "jsonl", stdin=path.read_bytes())
        assert rows(found) == [PAID_ROW]


@pytest.mark.parametrize("name", ["t", "db.events", '"a b"."events.jsonl"', "a.b.c"])
def test_the_name_of_the_events_is_free(events: Path, name: str) -> None:
    query = PAID.replace("FROM payments", f"FROM {name}")
    assert rows(run(query, events, "-f", "jsonl")) == [PAID_ROW]


def test_empty_lines_and_marks_of_other_systems_are_no_events(tmp_path: Path) -> None:
    clause = "MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a+) DEFINE a AS TRUE)"
    for name, text in (
        ("e.csv", "\ufeffts,x\r\n1,2\r\n\r\n2,\r\n\r\n"),
        ("e.jsonl", '\ufeff{"ts": 1}\r\n\r\n{"ts": 2}\r\n\r\n'),
    ):
        path = tmp_path / name
        path.write_bytes(text.encode())
        assert rows(run(clause, path, "-f", "jsonl")) == [{"n": 2}]


@pytest.mark.parametrize("end", ["jsonl", "csv"])
def test_a_schema_says_what_the_columns_are(tmp_path: Path, end: str) -> None:
    path = tmp_path / f"events.{end}"
    given = [{"ts": 60_000, "id": "007", "no": 1}, {"ts": 0, "id": "7", "no": 2}]
    text = "ts,id,no\n60000,007,1\n1970-01-01T00:00:00Z,7,2\n"
    path.write_text(jsonl(*given) if end == "jsonl" else text.replace("60000", "1970-01-01 00:01"))
    clause = """MATCH_RECOGNIZE (ORDER BY ts MEASURES ARRAY_AGG(id) AS ids, LAST(ts) AS ts
        PATTERN (a+) DEFINE a AS ts >= TIMESTAMP '1970-01-01 00:00:00')"""
    schema = "id STRING, ts TIMESTAMP"
    (row,) = rows(run(clause, path, "--schema", schema, "-f", "jsonl"))
    assert row == {"ids": ["7", "007"], "ts": "1970-01-01T00:01:00Z"}


def test_columns_of_nested_values_are_read(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(jsonl({"ts": 1, "p": {"tags": ["x"]}}, {"ts": 2, "p": {"tags": [], "n": 3}}))
    clause = (
        "MATCH_RECOGNIZE (ORDER BY ts MEASURES ARRAY_AGG(p) AS p PATTERN (a b) DEFINE b AS p.n = 3)"
    )
    (row,) = rows(run(clause, path, "-f", "jsonl"))
    assert row == {"p": [{"tags": ["x"], "n": None}, {"tags": [], "n": 3}]}


def test_days_are_an_order_of_time(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("day\n2026-01-09\n2026-01-03\n2026-01-01\n")
    clause = """MATCH_RECOGNIZE (ORDER BY day MEASURES FIRST(day) AS day, COUNT(*) AS n
        PATTERN (a+) WITHIN INTERVAL '3' DAY DEFINE a AS day < DATE '2026-02-01')"""
    found = rows(run(clause, path, "-f", "jsonl"))
    assert found == [{"day": "2026-01-01", "n": 2}, {"day": "2026-01-09", "n": 1}]


def test_the_query_can_come_from_a_file(events: Path, tmp_path: Path) -> None:
    query = tmp_path / "paid.sql"
    query.write_text("-- the first payment\n" + PAID + ";\n")
    assert rows(run(query, events, "-f", "jsonl")) == [PAID_ROW]
    query.write_text(PAID.replace("t+", "t+("))
    refused = run(query, events)
    assert refused.exit_code == 2
    assert f"{query}: line 5, column" in refused.stderr


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT", "the query: line 1, column 6: "),
        (
            PAID.replace("kind = 'pay'", "sort = 'pay'"),
            "line 6, column 38: there is no column sort",
        ),
        (PAID.replace("kind = 'pay'", "amount / 0 = 1"), "division by zero"),
        (PAID.replace("t+ p", "t* p*") + " GROUP BY user", "only SELECT columns FROM"),
    ],
)
def test_a_query_that_cannot_run_is_told_with_its_place(
    events: Path, query: str, message: str
) -> None:
    result = run(query, events)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not result.stdout


@pytest.mark.parametrize("query", ["nowhere.sql", "", "FROM e"])
def test_what_is_no_query_is_taken_for_a_file_and_told(events: Path, query: str) -> None:
    result = run(query, events)
    assert result.exit_code == 2
    assert f"cannot read the query {query}: " in result.stderr
    assert "SQL that begins with MATCH_RECOGNIZE or SELECT" in result.stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.jsonl", b'{"ts": 1}\n{"ts": \n', "line 2, column 8: not JSON"),
        ("e.jsonl", b'{"ts": 1}\n[1]\n', "line 2: an event must be a JSON object"),
        ("e.jsonl", b'{"ts": "\xff"}', "line 1: cannot read"),
        ("e.jsonl", jsonl({"x": 1}, {"x": "b"}).encode(), "event 1: x is 1, with the other rows"),
        ("e.jsonl", jsonl({"x": [1]}, {"x": ["b"]}).encode(), "event 1: x is [1], with the other"),
        (
            "e.jsonl",
            jsonl({"x": 1}, {"x": True}).encode(),
            "event 2: x is true, with the other rows",
        ),
        ("e.jsonl", jsonl({"x": 0.5}, {"x": 2**53 + 1}).encode(), "event 2: x is 9007199254740993"),
        ("e.jsonl", b"", "there are no events"),
        ("e.csv", b"", "there are no events"),
        ("e.py", b"print(1, 2)\nprint(3)\n", "a file of events is JSON Lines, CSV"),
        ("e.csv", b"ts,x\n1,2,3\n", "cannot read as CSV: found more fields"),
        ("e.parquet", b"no", "cannot read as Parquet"),
        ("e.jsonl.gz", b"\x1f\x8bno", "cannot decompress"),
    ],
)
def test_events_that_cannot_be_read_are_told_with_their_place(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    result = run(COUNTED, path)
    assert result.exit_code == 2
    assert f"{path}: {message}" in result.stderr


def test_a_schema_that_does_not_fit_is_told(events: Path) -> None:
    wrong = run(PAID, events, "--schema", "user STRONG OF")
    assert wrong.exit_code == 2
    assert "--schema: " in wrong.stderr
    unfit = run(PAID, events, "--schema", "user STRING, ts TIMESTAMP, kind BIGINT")
    assert unfit.exit_code == 2
    assert "4 of 4 events could not be read: event 1: kind: 'pay' is no BIGINT" in unfit.stderr
    assert run(PAID, events.with_name("nowhere")).exit_code == 2


# What would give a wrong answer without a word


def warnings(clause: str, path: Path, *events: object, schema: str = "") -> str:
    path.write_text(jsonl(*events))
    options = ["--schema", schema] if schema else []
    result = run(f"MATCH_RECOGNIZE ({clause})", path, *options)
    assert result.exit_code == 0, result.stderr
    return result.stderr


ONE = "MEASURES COUNT(*) AS n PATTERN (a) DEFINE a AS TRUE"


def test_a_key_that_events_do_not_have_is_told(events: Path) -> None:
    told = warnings(f"PARTITION BY k ORDER BY ts {ONE}", events, {"ts": 1}, schema="ts INT, k INT")
    assert told == "warning: no event has k, so PARTITION BY k makes one partition\n"
    told = warnings(f"PARTITION BY k ORDER BY ts {ONE}", events, {"ts": 1}, {"ts": 2, "K": 5})
    assert "1 of 2 events have no k; together they are one partition" in told


def test_an_order_that_is_none_is_told(events: Path) -> None:
    assert "in the order of the file" in warnings(ONE, events, {"ts": 1})
    told = warnings(f"ORDER BY ts {ONE}", events, {"ts": 1}, {"x": 1})
    assert told == "warning: 1 of 2 events have no ts; they come last\n"
    told = warnings(f"ORDER BY ts {ONE}", events, {"ts": "2026-01-01"}, {"ts": "2026-02-30"})
    assert told == "warning: ts is ordered as text: '2026-02-30' is no time\n"
    assert not warnings(f"ORDER BY ts {ONE}", events, {"ts": "b"}, {"ts": "a"})


def test_seconds_taken_for_milliseconds_are_told(events: Path) -> None:
    clause = (
        "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a b) WITHIN INTERVAL '1' DAY DEFINE b AS x"
    )
    rows = {"ts": 1_767_225_600, "x": True}, {"ts": 1_767_300_000, "x": True}
    assert "its values look like seconds" in warnings(clause, events, *rows)
    rows = {"ts": 1_767_225_600_000, "x": True}, {"ts": 1_767_225_601_000, "x": True}
    assert not warnings(clause, events, *rows)


def test_a_variable_that_no_event_can_be_is_told(events: Path) -> None:
    clause = "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a b) DEFINE b AS x = 'pay' AND a.ts > 1"
    told = warnings(clause, events, {"ts": 1, "x": "PAY"})
    assert told == "warning: no event can be B: x = 'pay' AND a.ts > 1\n"


def test_a_match_that_only_the_end_of_the_events_decided_is_told(events: Path) -> None:
    rows = [{"ts": n * 1_000, "x": 1} for n in range(3)]
    clause = "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (a+) {} DEFINE a AS x = 1"
    told = warnings(clause.format(""), events, *rows)
    assert "1 of 1 match were open when the events ended" in told
    assert not warnings(clause.replace("a+", "a a").format(""), events, *rows)


def test_a_window_that_is_over_is_not_open(events: Path) -> None:
    """The time of all events counts, not only that of the partition."""
    rows = {"ts": 0, "u": 1}, {"ts": 5_000, "u": 2}, {"ts": 6_000, "u": 2}
    clause = """PARTITION BY u ORDER BY ts MEASURES COUNT(*) AS n
        PATTERN (a+) WITHIN INTERVAL '4' SECOND DEFINE a AS TRUE"""
    assert "1 of 2 matches were open" in warnings(clause, events, *rows)


def test_a_measure_called_like_a_column_is_told_and_no_json(events: Path) -> None:
    clause = """ORDER BY ts MEASURES COUNT(*) AS n ALL ROWS PER MATCH
        PATTERN (a) DEFINE a AS TRUE"""
    assert "2 columns of the result are called n" in warnings(clause, events, {"ts": 1, "n": 2})
    refused = run(f"MATCH_RECOGNIZE ({clause})", events, "-f", "jsonl")
    assert refused.exit_code == 2
    assert "different names" in refused.stderr


@pytest.mark.parametrize("second", ["n", "N"])
def test_two_measures_of_one_name_are_refused_as_in_a_rule(events: Path, second: str) -> None:
    clause = ONE.replace("AS n", f"AS n, MAX(ts) AS {second}")
    refused = run(f"MATCH_RECOGNIZE ({clause})", events)
    assert refused.exit_code == 2
    assert f"the output has a column {second} already" in refused.stderr
    query = f"SELECT n, n AS {second} FROM e MATCH_RECOGNIZE ({ONE})"  # noqa: S608 - not SQL of a database
    selected = run(query, events)
    assert f"the output has a column {second} already" in selected.stderr


def test_the_query_may_come_from_standard_input(events: Path) -> None:
    assert rows(run("-", events, "-f", "jsonl", stdin=PAID)) == [PAID_ROW]
    wrong = run("-", events, stdin=PAID.replace("PATTERN", "PATERN"))
    assert wrong.exit_code == 2
    assert "standard input: " in wrong.stderr
    for said in (b"\xff", b""):
        assert run("-", events, stdin=said).exit_code == 2
    both = run("-", "-", stdin=PAID)
    assert both.exit_code == 2
    assert "standard input holds the query or the events, not both" in both.stderr


@pytest.mark.parametrize("schema", [(), ("--schema", "ts INT, x INT")])
def test_a_column_that_a_csv_file_has_twice_is_refused(
    tmp_path: Path, schema: tuple[str, ...]
) -> None:
    path = tmp_path / "events.csv"
    path.write_text("\ufeffts,x,x\n1,1,2\n2,2,1\n")
    result = run(COUNTED, path, *schema)
    assert result.exit_code == 2
    assert "line 1: 2 columns are called x; rename or remove all but one" in result.stderr


@pytest.mark.parametrize("header", ["ts,x,x_duplicated_0", "ts,x,,"])
def test_columns_of_a_csv_file_that_only_look_repeated_are_read(
    tmp_path: Path, header: str
) -> None:
    path = tmp_path / "events.csv"
    more = "," * header.count(",,")
    path.write_text(f"{header}\n1,1,5{more}\n2,2,5{more}\n")
    assert rows(run(COUNTED, path, "-f", "jsonl")) == [{"n": 2}]
