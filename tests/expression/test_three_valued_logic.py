"""Truth tables, NULL, and what the values of each type mean, in both evaluators at once."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from cep.expression import (
    EvaluationError,
    Expression,
    Schema,
    compile_columnar,
    compile_predicate,
    compile_scalar,
    resolve,
)

TRUTH = {"TRUE": True, "FALSE": False, "NULL": None}
SCHEMA = Schema.from_ddl(
    "flag BOOLEAN, n BIGINT, x DOUBLE, amount DECIMAL(10,2), name STRING, ts TIMESTAMP, "
    "local TIMESTAMP_NTZ, day DATE, tags ARRAY<STRING>, a STRUCT<b: STRUCT<c: BIGINT>>"
)
EVENT: dict[str, Any] = {
    "flag": None,
    "n": 7,
    "x": 2.5,
    "amount": Decimal("10.00"),
    "name": "Ünïcode",
    "ts": datetime(2024, 2, 4, 10, 30, 15, 500000, tzinfo=UTC),
    "local": datetime(2024, 2, 4, 10, 30),  # noqa: DTZ001 - a wall clock reading
    "day": date(2024, 2, 4),
    "tags": ["a", None],
    "a": {"b": {"c": 3}},
}


def value_of(text: str, event: dict[str, Any] | None = None) -> Any:
    """The value both evaluators give."""
    event = {**EVENT, **(event or {})}
    node = resolve(Expression.parse(text), [], SCHEMA)
    scalar = compile_scalar(node)(event, ())
    frame = pl.DataFrame([event], schema=SCHEMA.to_polars())
    columnar = frame.select(compile_columnar(node, SCHEMA)).to_series().to_list()
    assert columnar == [scalar] or (columnar[0] != columnar[0] and scalar != scalar)  # noqa: PLR0124 - NaN
    return scalar


def flagged(text: str) -> dict[str, bool | None]:
    """The value for every truth value of the column `flag`, so that nothing is constant."""
    return {name: value_of(text, {"flag": truth}) for name, truth in TRUTH.items()}


def test_and() -> None:
    assert flagged("flag AND TRUE") == {"TRUE": True, "FALSE": False, "NULL": None}
    assert flagged("flag AND FALSE") == {"TRUE": False, "FALSE": False, "NULL": False}
    assert flagged("flag AND NULL") == {"TRUE": None, "FALSE": False, "NULL": None}


def test_or() -> None:
    assert flagged("flag OR TRUE") == {"TRUE": True, "FALSE": True, "NULL": True}
    assert flagged("flag OR FALSE") == {"TRUE": True, "FALSE": False, "NULL": None}
    assert flagged("flag OR NULL") == {"TRUE": True, "FALSE": None, "NULL": None}


def test_not_and_is() -> None:
    assert flagged("NOT flag") == {"TRUE": False, "FALSE": True, "NULL": None}
    assert flagged("flag IS TRUE") == {"TRUE": True, "FALSE": False, "NULL": False}
    assert flagged("flag IS NOT TRUE") == {"TRUE": False, "FALSE": True, "NULL": True}
    assert flagged("flag IS FALSE") == {"TRUE": False, "FALSE": True, "NULL": False}
    assert flagged("flag IS NULL") == {"TRUE": False, "FALSE": False, "NULL": True}
    assert flagged("flag <=> NULL") == {"TRUE": False, "FALSE": False, "NULL": True}
    assert flagged("flag IS DISTINCT FROM TRUE") == {"TRUE": False, "FALSE": True, "NULL": True}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n IN (7, NULL)", True),
        ("n IN (8, NULL)", None),
        ("n NOT IN (8, NULL)", None),
        ("n NOT IN (8, 9)", True),
        ("n BETWEEN NULL AND 3", False),
        ("n BETWEEN NULL AND 9", None),
        ("CASE WHEN flag THEN 'a' ELSE 'b' END", "b"),
        ("CASE WHEN n > 8 THEN 'a' END", None),
        ("COALESCE(flag, n > 3)", True),
        ("COALESCE(NULLIF(x, 2.5), 0) + 1", 1.0),
        ("NULLIF(n, 7)", None),
        # numbers
        ("n / 2", 3.5),
        ("n / 0", None),
        ("n % 0", None),
        ("x / 0", None),
        ("-n % 4", -3),
        ("n % -4", 3),
        ("-7.5e0 % (x - 0.5)", -1.5),
        ("amount / 4", Decimal("2.5")),
        ("amount / 3", Decimal("3.333333333333333333")),
        ("amount * n", Decimal("70.00")),
        ("amount * x", 25.0),
        ("9223372036854775807 + n", None),
        ("9223372036854775807 * n", None),
        ("ABS(-9223372036854775808 + n - n)", None),
        ("x > 2.5", False),
        ("amount = 10", True),
        ("amount > n", True),
        ("CAST('NaN' AS DOUBLE) = CAST('nan' AS DOUBLE)", True),
        ("CAST('NaN' AS DOUBLE) > x", True),
        ("ROUND(x)", 3.0),
        ("ROUND(-x)", -3.0),
        ("ROUND(x - 1.495, 2)", 1.01),
        ("ROUND(n, -1)", 10),
        ("ROUND(amount / 3, 2)", Decimal("3.33")),
        ("FLOOR(-x)", -3.0),
        ("CEIL(amount / 3)", Decimal(4)),
        # texts
        ("UPPER(name) || '!'", "ÜNÏCODE!"),
        ("LENGTH(name)", 7),
        ("SUBSTRING(name, 2, 3)", "nïc"),
        ("SUBSTRING(name, -3)", "ode"),
        ("SUBSTRING(name, 0, 1)", "Ü"),
        ("TRIM('  a ') = 'a'", True),
        ("name LIKE '_n%'", True),
        ("name LIKE 'Ü%e'", True),
        ("name LIKE '%\\%%'", False),
        ("name RLIKE '[a-z]+$'", True),
        (r"name RLIKE '^\w'", False),
        ("STARTSWITH(name, 'Ü') AND ENDSWITH(name, 'e') AND CONTAINS(name, 'cod')", True),
        ("ARRAY_CONTAINS(tags, 'a')", True),
        ("ARRAY_CONTAINS(tags, 'b')", None),
        ("a.b.c = 3", True),
        # time
        ("YEAR(ts) * 10000 + MONTH(ts) * 100 + DAY(day)", 20240204),
        ("HOUR(ts) * 10000 + MINUTE(local) * 100 + SECOND(ts)", 103015),
        ("DAYOFWEEK(day)", 1),
        ("HOUR(day)", 0),
        ("ts > '2024-02-04T11:30:00+01:00'", True),
        ("ts > TIMESTAMP '2024-02-04 10:30:16'", False),
        ("local = TIMESTAMP '2024-02-04 10:30:00'", True),
        ("day < local", True),
        ("ts - TIMESTAMP '2024-02-04 10:30:00'", timedelta(seconds=15, microseconds=500000)),
        ("day + INTERVAL '90' MINUTE", datetime(2024, 2, 4, 1, 30)),  # noqa: DTZ001 - no time zone
        ("ts + INTERVAL '9000000' HOUR > ts", True),
        ("ts + INTERVAL '90000000' HOUR", None),
        # casts
        ("CAST(x AS INT)", 2),
        ("CAST(x * 1e300 AS BIGINT)", None),
        ("CAST(n AS STRING)", "7"),
        ("CAST(amount AS STRING)", "10"),
        ("CAST(x * 1e10 AS STRING)", "2.5E10"),
        ("CAST(ts AS STRING)", "2024-02-04 10:30:15.5"),
        ("CAST(' 12.7 ' AS INT)", 12),
        ("CAST(name AS DOUBLE)", None),
        ("CAST(x AS DECIMAL(3,0))", Decimal(3)),
        ("CAST(n AS DECIMAL(3,3))", None),
        ("CAST(ts AS DATE)", date(2024, 2, 4)),
        ("CAST(n AS BOOLEAN)", True),
        ("CAST('yes' AS BOOLEAN)", True),
        ("CAST(n * 100 AS TINYINT)", None),
    ],
)
def test_values(text: str, value: Any) -> None:
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


def test_a_missing_field_is_null_in_mappings_and_objects() -> None:
    class Event:
        price = 3.0

    condition = compile_predicate(resolve(Expression.parse("price > 2 AND a.b IS NULL"), []))
    assert condition(Event(), ())
    assert condition({"price": 3}, ())
    assert condition({"price": 3, "a": {}}, ())
    assert not condition({}, ())


@pytest.mark.parametrize("event", [{"price": "3"}, {"price": True}, {"price": [1]}])
def test_values_that_cannot_be_compared_are_an_error_that_names_them(event: dict[str, Any]) -> None:
    condition = compile_predicate(resolve(Expression.parse("price > 2"), []))
    with pytest.raises(EvaluationError, match=r"cannot evaluate price > 2: price is \w+, 2 is BIG"):
        condition(event, ())


def test_what_is_no_condition_is_an_error() -> None:
    condition = compile_predicate(resolve(Expression.parse("price OR name"), []))
    with pytest.raises(EvaluationError, match="price is no condition: it is DOUBLE"):
        condition({"price": 1.5}, ())


@pytest.mark.parametrize(
    ("price", "text", "accepted"),
    [
        (0.1, "price = 0.1", True),
        (Decimal("0.1"), "price = 0.1", True),
        (2**53 + 1, "price > 9007199254740992", True),
        (float("nan"), "price > 1e308", True),
        (float("nan"), "price <= 5", False),
        (float("nan"), "price <> 5", True),
        (10**400, "price > 1e308", True),
        (3, "price IN (1, 3.0)", True),
    ],
)
def test_numbers_of_any_type_compare_by_value(price: Any, text: str, accepted: bool) -> None:  # noqa: FBT001 - a result
    condition = compile_predicate(resolve(Expression.parse(text), []))
    assert condition({"price": price}, ()) is accepted
    refused = compile_predicate(resolve(Expression.parse(f"NOT ({text})"), []))
    assert refused({"price": price}, ()) is not accepted


def test_times_as_text_are_read_beside_a_timestamp() -> None:
    condition = compile_predicate(
        resolve(Expression.parse("ts >= TIMESTAMP '2024-01-31 10:00:00' AND HOUR(ts) < 12"), [])
    )
    assert condition({"ts": "2024-01-31T11:00:00+01:00"}, ())
    assert not condition({"ts": "2024-01-31T10:59:59.9+01:00"}, ())
    assert not condition({"ts": "yesterday"}, ())


@pytest.mark.parametrize(
    ("text", "value"), [("1 < 2", True), ("n IN (NULL)", None), ("NULL IN (n)", None), ("'a'", "a")]
)
def test_what_reads_no_column_still_has_one_value_per_row(text: str, value: Any) -> None:
    frame = pl.DataFrame({"n": [1, 2, 3]})
    node = resolve(Expression.parse(text), [])
    columnar = compile_columnar(node, Schema.from_polars(frame.schema))
    assert frame.select(found=columnar)["found"].to_list() == [value] * 3
    assert frame.clear().select(found=columnar)["found"].to_list() == []


def test_division_by_a_constant_is_rounded_once_in_columns_too() -> None:
    frame = pl.DataFrame({"n": list(range(500, 1500))})
    node = resolve(Expression.parse("n / 3349773095"), [])
    columnar = compile_columnar(node, Schema.from_polars(frame.schema))
    scalar = compile_scalar(node)
    expected = [scalar(row, ()) for row in frame.to_dicts()]
    assert frame.select(found=columnar)["found"].to_list() == expected
