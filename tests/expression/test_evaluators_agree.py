"""Random typed trees over random rows: whatever way a tree is evaluated, the answer is one."""

import math
from decimal import Decimal
from typing import Any

import polars as pl
from hypothesis import given, reject

from cep.expression import (
    BOOLEAN,
    Expression,
    ExpressionError,
    Node,
    compile_columnar,
    compile_predicate,
    compile_scalar,
    resolve,
    to_sql,
)
from cep.expression.checking.resolve import with_typed_constants
from tests.expression.typed_trees import SCHEMA, Rows, rows, trees


def frame(data: Rows) -> pl.DataFrame:
    return pl.DataFrame(data, schema=SCHEMA.to_polars(), orient="row")


def comparable(value: Any) -> Any:
    """Values that are the same to SQL but not to Python's `==`, or the other way round."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else ("float", value)
    if isinstance(value, Decimal):
        return ("decimal", value)
    return (type(value).__name__, value)


@given(trees(), rows())
def test_columnar_and_scalar_give_the_same_value(tree: Node, data: Rows) -> None:
    tree = with_typed_constants(tree, SCHEMA)
    try:
        columnar = compile_columnar(tree, SCHEMA)
    except ExpressionError:  # decimals whose common type has more than 38 digits
        reject()
    scalar = compile_scalar(tree)
    expected = [comparable(scalar(row, ())) for row in data]
    column = frame(data).select(found=columnar)["found"]
    assert [comparable(value) for value in column.to_list()] == expected, to_sql(tree)


@given(trees(BOOLEAN), rows())
def test_a_predicate_is_true_exactly_where_the_value_is(tree: Node, data: Rows) -> None:
    scalar, predicate = compile_scalar(tree), compile_predicate(tree)
    for row in data:
        assert predicate(row, ()) is (scalar(row, ()) is True), to_sql(tree)


@given(trees())
def test_a_tree_written_as_text_is_parsed_to_a_tree_of_the_same_text(tree: Node) -> None:
    text = to_sql(tree)
    once = resolve(Expression.parse(text), [])
    assert to_sql(resolve(Expression.parse(to_sql(once)), [])) == to_sql(once)


@given(trees(), rows(maximum=3))
def test_a_tree_written_as_text_means_the_same(tree: Node, data: Rows) -> None:
    tree = with_typed_constants(tree, SCHEMA)
    parsed = resolve(Expression.parse(to_sql(tree)), [], SCHEMA)
    before, after = compile_scalar(tree), compile_scalar(parsed)
    for row in data:
        assert comparable(after(row, ())) == comparable(before(row, ())), to_sql(tree)
