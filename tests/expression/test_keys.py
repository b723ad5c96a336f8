"""Which expressions can be keys."""

import pytest

from cep.expression import Expression, Schema, key_problem

SCHEMA = Schema.from_ddl(
    "user STRING, amount DECIMAL(10, 2), ts TIMESTAMP, ok BOOLEAN, tags ARRAY<STRING>, "
    "place STRUCT<city: STRING>, blob BINARY"
)


@pytest.mark.parametrize(
    "text", ["user", "amount", "ts", "ok", "place.city", "LOWER(user)", "amount * 2", "NULL"]
)
def test_plain_values_are_keys(text: str) -> None:
    assert key_problem(Expression.parse(text), SCHEMA) is None


@pytest.mark.parametrize("text", ["tags", "place", "blob"])
def test_values_with_parts_and_unreadable_ones_are_none(text: str) -> None:
    problem = key_problem(Expression.parse(text), SCHEMA)
    assert problem is not None
    assert "cannot be a key" in problem.message
    assert (problem.line, problem.column) == (1, 1)
    assert "plain columns" in problem.hint
