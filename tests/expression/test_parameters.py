"""`:name` in expressions: exactly the constant, whatever its value; types and their values."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cep.expression import (
    Expression,
    ExpressionError,
    compile_columnar,
    compile_predicate,
    compile_scalar,
    to_sql,
)
from cep.expression.errors import UnknownParameter
from cep.expression.parameters import (
    Parameter,
    Written,
    constant_of,
    json_value,
    parameter_type,
    value_of,
)
from cep.expression.parsing.parser import Constants
from cep.expression.rewrite import rebuilt
from cep.expression.temporal import MAX_INTERVAL
from cep.expression.tree import Aggregate, Field, Literal, Node, aggregates_of, walk
from tests.expression.typed_trees import SCHEMA, Rows, rows, trees


def parameterised(root: Node) -> tuple[str, dict[str, Literal]]:
    """Return a tree as text with a parameter for each constant, and their values."""
    constants: dict[str, Literal] = {}

    def change(node: Node) -> Node:
        if isinstance(node, Literal) and node.value is not None:
            name = f"p{len(constants)}_"
            constants[name] = node
            return Field((f"§{name}",))
        return node if isinstance(node, Aggregate) else rebuilt(node, change)

    text = to_sql(change(root))
    for name in constants:
        text = text.replace(f"`§{name}`", f":{name}")
    return text, constants


@given(trees())
def test_a_parameter_is_the_constant_it_stands_for(tree: Node) -> None:
    assume(not aggregates_of(tree))
    assume(all(_is_finite(node) for node in walk(tree)))  # others are no values of parameters
    text, constants = parameterised(tree)
    try:
        plain = Expression.parse(to_sql(tree))
        expression = Expression.parse(text, constants)
    except ExpressionError:  # deeper or longer as text than is taken
        return
    assert expression.root == tree
    assert expression.written_out.root == tree == plain.root
    assert dict(expression.parameters) == constants


def _is_finite(node: Node) -> bool:
    """Return whether a constant can be a value; in text, NaN and infinity are casts."""
    value = node.value if isinstance(node, Literal) else None
    return not isinstance(value, float) or isfinite(value)


@given(st.text(max_size=30))
def test_no_value_changes_what_the_text_means(value: str) -> None:
    root = Expression.parse("name = :it AND NOT other", {"it": Literal(value)}).root
    other = Expression.parse("name = 'x' AND NOT other").root

    def same(node: Node) -> Node:
        return Literal("x") if node == Literal(value) else rebuilt(node, same)

    assert same(root) == other


def test_two_values_make_two_expressions() -> None:
    low, high = (Expression.parse("a > :x", {"x": Literal(value)}) for value in (1, 2))
    one, true = (Expression.parse("a = :x", {"x": Literal(value)}) for value in (1, True))
    assert low != high
    assert one != true
    assert len({low, high, one, true}) == 4


@pytest.mark.parametrize("name", ["limit", "end", "order", "count", "LIKE", "_1"])
def test_a_keyword_can_be_the_name(name: str) -> None:
    found = Expression.parse(f"a > :{name} AND :{name} > 0", {name: Literal(5)})
    assert found.root == Expression.parse("a > 5 AND 5 > 0").root


def test_patterns_of_texts_may_be_parameters() -> None:
    constants = {"like": Literal("a%"), "regex": Literal("^a+$")}
    text = "name LIKE :like OR name RLIKE :regex"
    wanted = "name LIKE 'a%' OR name RLIKE '^a+$'"
    assert Expression.parse(text, constants).root == Expression.parse(wanted).root
    with pytest.raises(ExpressionError, match="of the pattern"):
        Expression.parse("name RLIKE :regex", {"regex": Literal("(")})
    with pytest.raises(ExpressionError, match="constant text"):
        Expression.parse("name RLIKE :regex", {"regex": Literal(1)})


def test_an_unknown_name_is_told_with_its_place_and_the_nearest_one() -> None:
    with pytest.raises(UnknownParameter) as refused:
        Expression.parse("a > 1 AND\n  b > :limti", {"limit": Literal(1)})
    assert (refused.value.line, refused.value.column) == (2, 7)
    assert refused.value.hint == "did you mean limit?"


@pytest.mark.parametrize("text", ["a > : limit", "a:limit > 1", "a > :", "a > :1", "a > :`limit`"])
def test_only_a_name_right_behind_the_colon_is_one(text: str) -> None:
    with pytest.raises(ExpressionError):
        Expression.parse(text, {"limit": Literal(1)})


VALUES: list[tuple[str, Written, Any]] = [
    ("BOOLEAN", True, True),
    ("TINYINT", -128, -128),
    ("BIGINT", 2**63 - 1, 2**63 - 1),
    ("DOUBLE", 1, 1.0),
    ("double", 0.1, 0.1),
    ("DECIMAL(10,2)", "12.5", Decimal("12.50")),
    ("DECIMAL(10,2)", 12.5, Decimal("12.50")),
    ("STRING", "it's", "it's"),
    ("DATE", "2024-02-29", date(2024, 2, 29)),
    ("TIMESTAMP", "2024-01-31T10:00:00+01:00", datetime(2024, 1, 31, 9, tzinfo=UTC)),
    ("TIMESTAMP", "2024-01-31", datetime(2024, 1, 31, tzinfo=UTC)),
    ("TIMESTAMP_NTZ", "2024-01-31T10:00:00", datetime(2024, 1, 31, 10)),  # noqa: DTZ001 - naive on purpose
    ("INTERVAL", "90 minutes", timedelta(minutes=90)),
]


@pytest.mark.parametrize(("declared", "value", "constant"), VALUES)
def test_values_are_read_and_written(declared: str, value: Written, constant: Any) -> None:
    data_type = parameter_type(declared)
    read = constant_of(data_type, value)
    assert read == Literal(constant)
    assert constant_of(data_type, json_value(read)) == read


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("BOOLEAN", 1),
        ("BOOLEAN", "true"),
        ("TINYINT", 128),
        ("BIGINT", 2**63),
        ("BIGINT", 1.0),
        ("BIGINT", True),
        ("BIGINT", "1"),
        ("DOUBLE", "1"),
        ("DOUBLE", True),
        ("DOUBLE", float("nan")),
        ("DOUBLE", 10**400),
        ("DECIMAL(4,2)", 100),
        ("DECIMAL(4,2)", "1.005"),
        ("DECIMAL(4,2)", "NaN"),
        ("STRING", 1),
        ("STRING", "a" * 10_001),
        ("DATE", "2024-02-30"),
        ("DATE", "2024-02-28T10:00:00"),
        ("TIMESTAMP", "today"),
        ("TIMESTAMP_NTZ", "2024-01-31T10:00:00Z"),
        ("INTERVAL", "1 month"),
        ("INTERVAL", 5),
    ],
)
def test_what_is_no_value_of_the_type_is_refused(declared: str, value: Written) -> None:
    with pytest.raises(ValueError, match=r"is not|limit is"):
        constant_of(parameter_type(declared), value)


@pytest.mark.parametrize(
    "declared",
    [
        "DUBLE",
        "",
        "ARRAY<ARRAY<INT>>",
        "ARRAY<MAP>",
        "STRUCT<a: INT>",
        "INT, b STRING",
        "STRING COMMENT 'x'",
        "DECIMAL(99,1)",
    ],
)
def test_other_types_are_refused(declared: str) -> None:
    with pytest.raises(ValueError, match="cannot be of type"):
        parameter_type(declared)


@given(st.floats(allow_nan=False, allow_infinity=False), st.timedeltas(-MAX_INTERVAL, MAX_INTERVAL))
def test_every_number_and_interval_survives_being_written(
    number: float, interval: timedelta
) -> None:
    for declared, value in (("DOUBLE", number), ("INTERVAL", interval)):
        again = constant_of(parameter_type(declared), json_value(Literal(value)))
        assert (again, str(again.value)) == (Literal(value), str(value))


@given(
    st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)), max_size=5),
    st.lists(st.text("ab'😀", max_size=2), max_size=5),
    rows(),
    st.sampled_from(["IN", "NOT IN"]),
)
def test_a_list_is_the_constants_in_it(
    numbers: list[int], texts: list[str], data: Rows, word: str
) -> None:
    """In columns, as a value and as a predicate; an empty list holds nothing, not even NULL."""
    of_types = (("count", "ARRAY<BIGINT>", numbers), ("name", "ARRAY<STRING>", texts))
    for column, declared, values in of_types:
        listed = value_of(parameter_type(declared), list(values))
        assert value_of(parameter_type(declared), json_value(listed)) == listed
        root = Expression.parse(f"{column} {word} :some", {"some": listed}).root
        expected = [_is_in(row[column], values, negated=word == "NOT IN") for row in data]
        frame = pl.DataFrame(data, schema=SCHEMA.to_polars(), orient="row")
        assert frame.select(x=compile_columnar(root, SCHEMA))["x"].to_list() == expected
        assert [compile_scalar(root)(row, ()) for row in data] == expected
        assert [compile_predicate(root)(row, ()) for row in data] == [e is True for e in expected]


def _is_in(value: Any, values: list[Any], *, negated: bool) -> bool | None:
    if value is None and values:
        return None
    return (value in values) is not negated


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name = :some", "is a list, which is no value"),
        ("name IN (:some)", "is a list, which is no value"),
        ("name LIKE :some", "is a list, which is no value"),
        ("UPPER(:some) = 'A'", "UPPER takes 1 argument, not 2"),
        ("CIDR_MATCH(name, :some)", "'a' is no block of IP addresses"),
        ("name IN :one", "is one value, not a list"),
        ("name IN :soma", "no parameter soma"),
    ],
)
def test_a_list_is_no_value(text: str, told: str) -> None:
    constants: Constants = {"some": (Literal("a"), Literal("b")), "one": Literal("a")}
    with pytest.raises(ExpressionError, match=told):
        Expression.parse(text, constants)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("name LIKE ANY (:some)", "name LIKE ANY ('a%', 'b')"),
        ("name NOT ILIKE ALL (:some, 'c')", "name NOT ILIKE ALL ('a%', 'b', 'c')"),
        ("name LIKE ANY (:none)", "FALSE"),
        ("name LIKE ALL (:none)", "TRUE"),
        ("ARRAYS_OVERLAP(tags, ARRAY(:some))", "ARRAYS_OVERLAP(tags, ARRAY('a%', 'b'))"),
        ("EXISTS(tags, tag -> tag IN :some)", "EXISTS(tags, tag -> tag IN ('a%', 'b'))"),
        ("CIDR_MATCH(ip, :blocks, 'fe80::/10')", "CIDR_MATCH(ip, '10.0.0.0/8', 'fe80::/10')"),
        ("COALESCE(name, :some)", "COALESCE(name, 'a%', 'b')"),
    ],
)
def test_a_list_stands_for_its_values(text: str, meaning: str) -> None:
    constants: Constants = {
        "some": (Literal("a%"), Literal("b")),
        "blocks": (Literal("10.0.0.0/8"),),
        "none": (),
    }
    assert Expression.parse(text, constants).root == Expression.parse(meaning).root


def test_a_list_is_bounded() -> None:
    data_type = parameter_type("ARRAY<BIGINT>")
    assert len(value_of(data_type, [*range(1_000)])) == 1_000  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the limit is 1000"):
        value_of(data_type, [*range(1_001)])
    for wrong in ("x", 1, [1, "x"], [[1]]):
        with pytest.raises(ValueError, match="is not"):
            value_of(data_type, wrong)  # type: ignore[arg-type]


def test_bounds_and_allowed_values() -> None:
    parameter = Parameter("x", parameter_type("BIGINT"), Literal(5), Literal(1), Literal(9))
    refused = {n for n in range(-1, 12) if parameter.refusal(Literal(n))}
    assert refused == {-1, 0, 10, 11}
    assert parameter.refusal((Literal(1), Literal(0))) == "0 is below the minimum, 1"
    few = Parameter("x", parameter_type("STRING"), Literal("a"), allowed=(Literal("a"),))
    assert [bool(few.refusal(Literal(text))) for text in ("a", "b")] == [False, True]
