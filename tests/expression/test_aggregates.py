"""Aggregates folded event by event give what computing them anew would."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.expression import (
    EvaluationError,
    Expression,
    aggregates_of,
    compile_aggregate,
    resolve,
)

NUMBERS = st.none() | st.integers(-(2**63), 2**63 - 1)
DECIMALS = st.none() | st.decimals("-99999999.99", "99999999.99", places=2, allow_nan=False)
DOUBLES = st.none() | st.floats(allow_nan=False)


def over(text: str, events: list[dict[str, Any]]) -> Any:
    (aggregate,) = aggregates_of(resolve(Expression.parse(text), ["a"]))
    compiled = compile_aggregate(aggregate)
    state = compiled.initial
    for event in events:
        state = compiled.fold(state, event)
    return compiled.result(state)


def test_over_no_events_all_but_count_are_null() -> None:
    names = ["SUM", "AVG", "MIN", "MAX", "FIRST", "LAST"]
    assert [over(f"{name}(a.x)", []) for name in names] == [None] * 6
    assert over("COUNT(a.x)", []) == over("COUNT(a.*)", []) == 0


def test_null_is_not_counted_but_is_a_first_and_a_last_value() -> None:
    events: list[dict[str, Any]] = [{"x": None}, {"x": 2}, {}]
    assert over("COUNT(a.x)", events) == 1
    assert over("COUNT(a.*)", events) == 3
    assert [over(f"{name}(a.x)", events) for name in ["SUM", "AVG", "MIN", "MAX"]] == [2, 2.0, 2, 2]
    assert over("FIRST(a.x)", events) is None
    assert over("LAST(a.x)", events) is None
    assert over("a.x", [*events, {"x": 5}]) == 5


def test_an_operand_is_an_expression_over_one_event() -> None:
    events = [{"price": 2.0, "quantity": 3}, {"price": 1.5, "quantity": 2}]
    assert over("SUM(a.price * a.quantity)", events) == 9.0
    assert over("COUNT(NULLIF(a.quantity, 2))", events) == 1


@given(st.lists(NUMBERS))
def test_integers_are_summed_exactly_beyond_64_bits(values: list[int | None]) -> None:
    known = [value for value in values if value is not None]
    events = [{"x": value} for value in values]
    assert over("SUM(a.x)", events) == (sum(known) if known else None)
    assert over("AVG(a.x)", events) == (sum(known) / len(known) if known else None)
    assert over("MIN(a.x)", events) == min(known, default=None)
    assert over("MAX(a.x)", events) == max(known, default=None)


@given(st.lists(DECIMALS))
def test_decimals_are_summed_exactly(values: list[Decimal | None]) -> None:
    known = [Fraction(value) for value in values if value is not None]
    found = over("SUM(a.x)", [{"x": value} for value in values])
    assert (None if found is None else Fraction(found)) == (sum(known) if known else None)


@given(st.lists(DOUBLES))
def test_doubles_are_summed_in_the_order_of_acceptance(values: list[float | None]) -> None:
    expected: float | None = None
    for value in values:
        if value is not None:
            expected = value if expected is None else expected + value
    found = over("SUM(a.x)", [{"x": value} for value in values])
    assert found == expected or (math.isnan(found) and expected is not None)


@given(
    st.lists(NUMBERS, min_size=1), st.sampled_from(["SUM", "AVG", "MIN", "MAX", "FIRST", "LAST"])
)
def test_states_of_a_shared_prefix_stay_valid(values: list[int | None], name: str) -> None:
    (aggregate,) = aggregates_of(resolve(Expression.parse(f"{name}(a.x)"), ["a"]))
    compiled = compile_aggregate(aggregate)
    states = [compiled.initial]
    for value in values:
        states.append(compiled.fold(states[-1], {"x": value}))
        compiled.fold(states[-2], {"x": 17})  # another partial match goes on from the same prefix
    for length, state in enumerate(states):
        anew = over(f"{name}(a.x)", [{"x": value} for value in values[:length]])
        assert compiled.result(state) == anew


def test_nan_is_the_largest() -> None:
    events = [{"x": 1.0}, {"x": float("nan")}, {"x": float("inf")}]
    assert math.isnan(over("MAX(a.x)", events))
    assert over("MIN(a.x)", events) == 1.0


def test_a_text_cannot_be_summed() -> None:
    with pytest.raises(EvaluationError, match=r"cannot evaluate SUM\(a.x\): x is STRING"):
        over("SUM(a.x)", [{"x": "1"}])
