"""What the parser refuses, where it points, and what it reads the same."""

from typing import Any

import pytest

from cep.expression import (
    Expression,
    ExpressionError,
    ExpressionTooLarge,
    Field,
    columns_of,
)
from cep.expression.tree import Literal
from percept import Pattern, find_matches, match_recognize


def refused(text: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        Expression.parse(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "the expression is empty"),
        ("price >", 1, 7, "something is missing beside >"),
        ("price > 1)", 1, 10, "unexpected )"),
        ("name = 'x", 1, 8, "a quote is never closed"),
        ("price 3", 1, 7, "unexpected 3"),
        ("price > 1; name = 'a'", 1, 10, "this is not one expression"),
        ("price > 1 -- dear", 1, 9, "comments are not allowed in an expression"),
        ('name = "a"', 1, 8, "double quotes are ambiguous"),
        ("name = 'a'\n  AND lenght(name) > 3", 2, 7, "there is no function LENGHT"),
        ("EXISTS (SELECT 1)", 1, 9, "SELECT is not part of the language"),
        ("price IN (SELECT 1)", 1, 11, "SELECT is not part of the language"),
        ("price IN ()", 1, 1, "IN needs a list of values"),
        ("price ^ 1 > 0", 1, 7, "^ is no operator of SQL"),
        ("tags[0:1] = 'a'", 1, 1, "[ ] takes one index"),
        ("CURRENT_TIMESTAMP() > ts", 1, 1, "there is no CURRENT_TIMESTAMP"),
        ("SUM(a.price) OVER () > 1", 1, 1, "this window does not say how far it reaches"),
        ("SUM(DISTINCT a.price) > 1", 1, 14, "DISTINCT is not part of the language"),
        ("FIRST(a.price, 1) > 1", 1, 1, "FIRST takes 1 argument"),
        ("SUM(price) > 1", 1, 1, "SUM needs the fields of one step"),
        ("SUM(a.price * b.price) > 1", 1, 1, "SUM needs the fields of one step"),
        ("SUM(LAST(a.price)) > 1", 1, 1, "aggregates cannot be nested"),
        ("COUNT(*) > 1", 1, 1, "COUNT(*) does not say of which step"),
        ("SUM(a.*) > 1", 1, 1, "* stands only in COUNT(step.*)"),
        ("a.* = 1", 1, 1, "* stands only in COUNT(step.*)"),
        ("name LIKE type", 1, 11, "LIKE needs a constant text in single quotes"),
        ("name LIKE 'a!b' ESCAPE '!'", 1, 11, "! must be followed by %, _ or ! (at character 2"),
        ("name LIKE 'a' ESCAPE '!!'", 1, 22, "ESCAPE needs one character"),
        ("name RLIKE '(?m)a'", 1, 12, "the flag m is not supported, only i and s are"),
        ("name RLIKE 'a(?=b)'", 1, 12, "look-around and named groups are not supported"),
        (r"name RLIKE '(a)\1'", 1, 12, r"the escape \1 is not supported"),
        ("name RLIKE '[a'", 1, 12, "the class is never closed: ] is missing"),
        ("name RLIKE '*a'", 1, 12, "malformed regular expression"),
        ("name RLIKE 'a++'", 1, 12, "a quantifier cannot follow a quantifier"),
        ("name RLIKE 'a{5000}'", 1, 12, "at most 1000 repetitions"),
        ("ts > TIMESTAMP 'soon'", 1, 16, "'soon' is no TIMESTAMP"),
        ("ts > ts - INTERVAL '1' MONTH", 1, 20, "this is no interval of a fixed length"),
        ("CAST(price AS BINARY) = 1", 1, 6, "CAST to BINARY is not allowed"),
        ("SUBSTRING(name) = 'a'", 1, 1, "SUBSTRING takes 2 to 3 arguments, not 1"),
        ("price IS 5", 1, 1, "IS needs NULL, TRUE, FALSE or [NOT] DISTINCT FROM"),
        ("1e999 > 1", 1, 1, "1e999 is too large a number"),
        ("price > " + "1" * 39, 1, 9, "a number has at most 38 digits"),
    ],
)
def test_a_refusal_says_where_and_what(text: str, line: int, column: int, message: str) -> None:
    error = refused(text)
    assert error.message.startswith(message)
    assert (error.line, error.column) == (line, column)


def test_a_refusal_shows_the_place_with_carets_and_how_to_mend_it() -> None:
    assert str(refused("name = 'a'\n\tAND lenght(name) > 3")) == (
        "line 2, column 6: there is no function LENGHT\n"
        "  \tAND lenght(name) > 3\n"
        "  \t    ^^^^^^^^^^^\n"
        "did you mean LENGTH or LEN or LEFT?"
    )


@pytest.mark.parametrize(
    ("text", "given", "limit"),
    [
        ("a" * 10_001, 10_001, 10_000),
        ("(" * 25 + "a" + ")" * 25, 25, 24),
        ("CASE WHEN a THEN " * 25 + "b" + " END" * 25, 25, 24),
        ("a" + " + a" * 100 + " > 1", 65, 64),
    ],
)
def test_limits_are_errors_with_numbers(text: str, given: int, limit: int) -> None:
    error = refused(text)
    assert isinstance(error, ExpressionTooLarge)
    assert (error.given, error.limit) == (given, limit)


def test_a_row_of_two_thousand_nots_is_refused_not_overflowing_the_stack() -> None:
    negated = refused("NOT " * 2000 + "a")
    assert isinstance(negated, ExpressionTooLarge)
    assert "65 levels of nesting, at most 64" in str(negated)


def test_long_rows_of_and_and_or_are_not_deep() -> None:
    text = " OR ".join(f"name = '{number}' AND price > {number}" for number in range(200))
    assert columns_of(Expression.parse(text).root) == {"name", "price"}


WORDS = """
    name type ts id price volume user timestamp count date year hour first last sum interval key
    value status level order group index comment set desc end left right row window
"""


@pytest.mark.parametrize("name", WORDS.split())
def test_words_of_sql_are_column_names_where_a_column_can_stand(name: str) -> None:
    for text in (f"{name} = 1", f"1 < {name} AND {name} IS NOT NULL", f"{name} IN (1, 2)"):
        assert columns_of(Expression.parse(text).root) == {name}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a.b.c.d.e.f", ("a", "b", "c", "d", "e", "f")),
        ("`a b`.`c.d`", ("a b", "c.d")),
        ("`a``b`", ("a`b",)),
        ("a.timestamp", ("a", "timestamp")),
    ],
)
def test_paths_are_read_from_the_outside_in(text: str, path: tuple[str, ...]) -> None:
    assert Expression.parse(text).root == Field(path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x BETWEEN 1 AND 2", "x >= 1 AND x <= 2"),
        ("x NOT BETWEEN 1 AND 2", "NOT (x >= 1 AND x <= 2)"),
        ("x != 1", "x <> 1"),
        ("x == 1", "x = 1"),
        ("x IS NOT NULL", "NOT x IS NULL"),
        ("x <=> y", "NOT x IS DISTINCT FROM y"),
        ("NULLIF(x, 1)", "CASE WHEN x = 1 THEN NULL ELSE x END"),
        ("CASE x WHEN 1 THEN 'a' END", "CASE WHEN x = 1 THEN 'a' ELSE NULL END"),
        ("IFNULL(x, 1)", "COALESCE(x, 1)"),
        ("a || b", "CONCAT(a, b)"),
        ("EXTRACT(YEAR FROM ts)", "YEAR(ts)"),
        ("INTERVAL 10 MINUTES", "INTERVAL '600' SECOND"),
        ("INTERVAL '1 day 2 hours'", "INTERVAL '26' HOUR"),
        ("MOD(x, 2)", "x % 2"),
        ("x NOT LIKE 'a!%' ESCAPE '!'", "NOT (x LIKE 'a!%' ESCAPE '!')"),
        ("a AND b AND c", "a and (b) and c"),
        ("- 5", "-5"),
        ("x::INT", "CAST(x AS INT)"),
    ],
)
def test_two_ways_to_write_it_are_one_tree(one: str, other: str) -> None:
    assert Expression.parse(one).root == Expression.parse(other).root


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", "it's"),
        (r"'C:\new\temp\'", "C:\\new\\temp\\"),
        (r"'\d\n\\'", r"\d\n\\"),
        ("'two\nlines'", "two\nlines"),
        (r"r'\d'", r"\d"),
        (r"'\u00e9'", r"\u00e9"),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("1e3", 1000.0),
    ],
)
def test_constants(text: str, value: Any) -> None:
    root = Expression.parse(text).root
    assert getattr(root, "value", None) == value
    assert type(getattr(root, "value", None)) is type(value)


def test_constants_of_different_types_are_different() -> None:
    roots = [Expression.parse(text).root for text in ("1", "1.0", "1e0", "TRUE")]
    assert len(set(roots)) == 4


def test_all_of_and_any_of_keep_or_inside_together() -> None:
    either, third = Expression.parse("a OR b"), Expression.parse("c")
    assert Expression.all_of([either, third]).text == "(a OR b) AND (c)"
    assert Expression.any_of([either, third]).text == "a OR b OR (c)"
    assert Expression.all_of([third]) is third


@pytest.mark.parametrize(
    "condition",
    [
        r"image = 'C:\Windows\net.exe'",
        r"image IN ('x', 'C:\Windows\net.exe')",
        r"image LIKE 'C:\Windows\%'",
        r"image LIKE '%\net.exe'",
        r"ENDSWITH(image, '\net.exe')",
        r"STARTSWITH(image, 'C:\')",
        r"CONTAINS(image, '\Windows\')",
        r"CASE WHEN image = 'C:\Windows\net.exe' THEN 'a\' ELSE 'b' END = 'a\'",
        r"image RLIKE '\\net\.exe$'",
        r"image LIKE 'C:\\W%' ESCAPE '\'",
    ],
)
def test_a_backslash_in_a_text_is_a_backslash_everywhere(condition: str) -> None:
    events = [{"image": image, "ts": 1} for image in (r"C:\Windows\net.exe", "C:Windows\net.exe")]
    found = find_matches(Pattern.begin("a").where(condition), events).matches
    assert [match.steps["a"] for match in found] == [events[:1]]
    clause = (
        "MATCH_RECOGNIZE (ORDER BY ts MEASURES A.image AS image, 'it\\' AS text "
        f"PATTERN (A) DEFINE A AS {condition})"
    )
    rows = [(event["image"], event["ts"]) for event in events]
    schema = "image STRING, ts BIGINT"
    assert match_recognize(clause, rows, schema=schema).rows == [(events[0]["image"], "it\\")]
    written = Expression.parse(str(Expression.parse(condition)))
    assert written == Expression.parse(condition)


def test_a_text_is_parsed_once_unless_it_names_parameters() -> None:
    assert Expression.parse("x = 1").root is Expression.parse("x = 1").root
    parsed = [Expression.parse("x = :limit", {"limit": Literal(value)}) for value in (1, 2)]
    assert parsed[0].root != parsed[1].root
