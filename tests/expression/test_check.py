"""The type check finds every mistake, points at it, and lets nothing through that raises later."""

import polars as pl
import pytest
from hypothesis import given

from cep.expression import (
    BOOLEAN,
    Expression,
    ExpressionError,
    Node,
    Schema,
    check,
    compile_columnar,
    key_problem,
    resolve,
    to_sql,
)
from cep.expression.types import to_polars
from tests.expression.typed_trees import SCHEMA as ALL_TYPES
from tests.expression.typed_trees import trees

SCHEMA = Schema.from_ddl(
    "action STRING, amount DECIMAL(10,2), price DOUBLE, n INT, ok BOOLEAN, ts TIMESTAMP, "
    "local TIMESTAMP_NTZ, tags ARRAY<STRING>, a STRUCT<b: INT>, raw BINARY"
)


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("amuont > 1", 1, "there is no column amuont", "did you mean amount?"),
        ("a.c = 1", 1, "there is no column a.c", "there are: b"),
        ("n = 1 AND acton = 'x'", 11, "there is no column acton", "did you mean action?"),
        ("SUM(fial.amount) > 1", 1, "there is no step fial", "did you mean fail?"),
        ("SUM(fail.amuont) > 1", 5, "there is no column amuont", "did you mean amount?"),
        ("action > 5", 1, "cannot compare STRING with BIGINT", "write the text in quotes"),
        ("ok = 1", 1, "cannot compare BOOLEAN with BIGINT", ""),
        ("action IN ('a', 2)", 1, "cannot compare STRING with BIGINT", "write the text"),
        ("n AND ok", 1, "a condition is needed, this is a BIGINT", "compare it"),
        ("price", 1, "a BOOLEAN is needed, this is a DOUBLE", "compare it"),
        ("LOWER(n) = 'a'", 1, "LOWER needs a text, not a BIGINT", "cast it: CAST(... AS STRING)"),
        ("action + 1 > 2", 1, "+ needs a number, not a STRING", "cast it: CAST(... AS DOUBLE)"),
        ("SUM(fail.action) > 1", 1, "SUM needs a number, not a STRING", ""),
        ("n LIKE 'a'", 1, "a text is needed, this is a BIGINT", "cast it"),
        ("ts > local", 1, "TIMESTAMP and TIMESTAMP_NTZ do not mix", "cast the one without"),
        ("ts > 'soon'", 6, "'soon' is no TIMESTAMP", "write TIMESTAMP '2024-01-31 10:00:00'"),
        (
            "ts + 5 > ts",
            1,
            "+ cannot compute with TIMESTAMP and BIGINT",
            "add or subtract an inter",
        ),
        ("tags = 'a'", 1, "cannot compare ARRAY<STRING> with STRING", ""),
        ("ARRAY_CONTAINS(tags, 5)", 1, "ARRAY_CONTAINS an ARRAY<STRING> cannot hold a BIGINT", ""),
        (
            "COALESCE(n, price) > 1",
            13,
            "this is a DOUBLE, the result before it a BIGINT",
            "cast it",
        ),
        ("CAST(tags AS INT) = 1", 6, "cannot cast ARRAY<STRING> to INT", ""),
        ("raw = 'a'", 1, "cannot compare OTHER with STRING", ""),
    ],
)
def test_a_problem_says_where_what_and_how_to_mend_it(
    text: str, column: int, message: str, hint: str
) -> None:
    problems = check(Expression.parse(text), schema=SCHEMA, steps=["fail"], expects=BOOLEAN)
    assert [(problem.message, problem.column) for problem in problems] == [(message, column)]
    assert problems[0].hint.startswith(hint)


@pytest.mark.parametrize(
    "text",
    [
        "amount > 1.5 AND price > 2 AND n <> 3.5",
        "ts > '2024-01-31' AND ts > TIMESTAMP '2024-01-31 10:00:00'",
        "local < TIMESTAMP '2024-01-01'",
        "SUM(fail.amount) > price AND fail.n IS NULL",
        "COALESCE(price, 0) > COALESCE(amount, 1) AND COALESCE(ts, TIMESTAMP '2024-01-01') < ts",
        "raw IS NULL",
        "NULL",
        "NULLIF(action, '') IS NULL",
        "ts - fail.ts < INTERVAL '10' MINUTE",
    ],
)
def test_what_fits_has_no_problems(text: str) -> None:
    assert check(Expression.parse(text), schema=SCHEMA, steps=["fail"], expects=BOOLEAN) == []


def test_all_problems_are_found_in_the_order_of_the_text() -> None:
    expression = Expression.parse("amuont > 1\nAND action > 5\nOR COUNT(fial.*) = 1")
    problems = check(expression, schema=SCHEMA, steps=["fail"])
    assert [(problem.line, problem.column) for problem in problems] == [(1, 1), (2, 5), (3, 4)]


def test_without_a_schema_only_what_is_wrong_anyhow_is_a_problem() -> None:
    expression = Expression.parse("foo > 1 AND 1 > 'a' AND x.y = 1")
    (problem,) = check(expression, schema=None, steps=[])
    assert problem.message == "cannot compare BIGINT with STRING"


def test_where_there_is_no_event_every_column_needs_a_step() -> None:
    (problem,) = check(
        Expression.parse("amount + LAST(fail.amount)"),
        schema=SCHEMA,
        steps=["fail"],
        allow_columns=False,
    )
    assert (problem.message, problem.hint) == ("amount needs a step in front", "write fail.amount")


@given(trees())
def test_a_tree_compiles_to_columns_exactly_if_the_check_has_no_problem(tree: Node) -> None:
    expression = Expression.parse(to_sql(tree))
    problems = check(expression, schema=ALL_TYPES, steps=[])
    try:
        compile_columnar(resolve(expression, [], ALL_TYPES), ALL_TYPES)
    except ExpressionError:
        assert problems
    else:
        assert not problems, problems[0]


def test_a_schema_survives_polars() -> None:
    assert Schema.from_polars(ALL_TYPES.to_polars()) == ALL_TYPES
    assert Schema.from_ddl(str(ALL_TYPES)) == ALL_TYPES
    assert to_polars(ALL_TYPES.columns[0][1]) == pl.Boolean


@pytest.mark.parametrize("ddl", ["", "a", "a FOO", "a INT, a INT", "a INT b INT"])
def test_a_malformed_schema_is_refused(ddl: str) -> None:
    with pytest.raises(ExpressionError):
        Schema.from_ddl(ddl)


KEYS = Schema.from_ddl(
    "user STRING, amount DECIMAL(10, 2), ts TIMESTAMP, ok BOOLEAN, tags ARRAY<STRING>, "
    "place STRUCT<city: STRING>, blob BINARY"
)


@pytest.mark.parametrize(
    "text", ["user", "amount", "ts", "ok", "place.city", "LOWER(user)", "amount * 2", "NULL"]
)
def test_plain_values_are_keys(text: str) -> None:
    assert key_problem(Expression.parse(text), KEYS) is None


@pytest.mark.parametrize("text", ["tags", "place", "blob"])
def test_values_with_parts_and_unreadable_ones_are_none(text: str) -> None:
    problem = key_problem(Expression.parse(text), KEYS)
    assert problem is not None
    assert "cannot be a key" in problem.message
    assert (problem.line, problem.column) == (1, 1)
    assert "plain columns" in problem.hint
