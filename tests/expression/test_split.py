"""Splitting a condition never changes what it accepts."""

from typing import Any

import pytest
from hypothesis import given

from cep.expression import (
    BOOLEAN,
    Aggregate,
    Expression,
    Field,
    Node,
    aggregates_of,
    compile_aggregate,
    compile_predicate,
    resolve,
    split,
    to_sql,
)
from tests.expression.typed_trees import SCHEMA, Rows, rows, trees


def accepts(node: Node | None, event: dict[str, Any], accepted: dict[str, Any]) -> bool:
    """Whether the condition is true with one accepted event for every step."""
    if node is None:
        return True
    aggregates = aggregates_of(node)
    values = []
    for aggregate in aggregates:
        compiled = compile_aggregate(aggregate)
        values.append(compiled.result(compiled.fold(compiled.initial, accepted[compiled.step])))
    return compile_predicate(node, slot_of=aggregates.index)(event, values)


@given(trees(BOOLEAN, aggregates=True), rows())
def test_event_and_residual_together_are_the_condition(tree: Node, data: Rows) -> None:
    parts = split(tree)
    accepted = {"s": data[0], "t": data[-1]}
    assert parts.event is None or not aggregates_of(parts.event)
    for event in data:
        whole = accepts(tree, event, accepted)
        first = accepts(parts.event, event, accepted)
        assert first or not whole, f"{to_sql(tree)} is true, but not {parts.event}"
        assert (first and accepts(parts.residual, event, accepted)) is whole, to_sql(tree)


@pytest.mark.parametrize(
    ("text", "event", "residual"),
    [
        ("name = 'a'", "name = 'a'", None),
        ("price > LAST(a.price)", None, "price > LAST(a.price)"),
        ("name = 'a' AND price > a.price", "name = 'a'", "price > LAST(a.price)"),
        (
            "name = 'a' AND (type = 'b' OR price > a.price)",
            "name = 'a'",
            "type = 'b' OR price > a.price",
        ),
        (
            "name = 'a' OR price > a.price AND volume > 5",
            "name = 'a' OR volume > 5",
            "name = 'a' OR price > a.price AND volume > 5",
        ),
        ("NOT (name = 'a' OR price > a.price)", "NOT name = 'a'", "NOT price > a.price"),
        (
            "NOT (name = 'a' AND (price > a.price OR volume > 5))",
            "NOT name = 'a' OR NOT volume > 5",
            "NOT (name = 'a' AND (price > a.price OR volume > 5))",
        ),
        (
            "(name = 'a' AND price > a.price) IS TRUE",
            None,
            "(name = 'a' AND price > a.price) IS TRUE",
        ),
    ],
)
def test_the_event_part_is_what_one_event_can_decide(
    text: str, event: str | None, residual: str | None
) -> None:
    parts = split(resolve(Expression.parse(text), ["a"]))
    assert parts.event == (None if event is None else resolve(Expression.parse(event), ["a"]))
    assert parts.residual == (
        None if residual is None else resolve(Expression.parse(residual), ["a"])
    )


def test_a_path_is_a_step_only_if_the_pattern_has_one_of_that_name() -> None:
    expression = Expression.parse("fail.amount")
    assert resolve(expression, []) == Field(("fail", "amount"))
    found = resolve(expression, ["fail"])
    assert isinstance(found, Aggregate)
    assert to_sql(found) == "LAST(fail.amount)"
    assert SCHEMA.type_of(("fail", "amount")) is None
