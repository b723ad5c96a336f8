"""Conditions that are said to exclude each other are never true together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.expression import Expression, Node, compile_predicate, mapping_reader
from cep.expression.disjoint import are_disjoint, implies, is_never_true

SAID = [
    ("name = 'a'", "name = 'b'"),
    ("name IN ('a', 'b')", "name = 'c' AND v > 1"),
    ("name = 'a'", "name <> 'a'"),
    ("v > 1", "v <= 1"),
    ("v >= 2", "v < 2"),
    ("1 < v", "v < 1"),
    ("v IS NULL", "v > 0"),
    ("v BETWEEN 0 AND 1", "v BETWEEN 2 AND 3"),
    ("v > 1 AND name = 'a'", "(v > 1) IS NOT TRUE"),
    ("v > 1", "NOT (v > 1)"),
    ("(v > 1) IS FALSE", "v > 1 AND name = 'a'"),
    ("name = 'a' OR name = 'b'", "name = 'c'"),
    ("name = 'a' AND v = 1", "(name = 'a' AND v = 1) IS NOT TRUE"),
]
NOT_SAID = [
    ("name = 'a'", "v = 1"),
    ("name = 'a'", "(name = 'a' AND v = 1) IS NOT TRUE"),
    ("v > 1", "v < 3"),
    ("v >= 1", "v <= 1"),
    ("name <> 'a'", "name <> 'b'"),
    ("name = 'a' OR v = 1", "name = 'b'"),
    ("v IS NULL", "name = 'a'"),
    ("v = 1", "v = 1.0"),
    ("v IN (1, NULL)", "v = 1"),
    ("v IS NULL", "v IS NULL"),
    ("at = '2024-01-01'", "at = '2024-01-01 00:00:00'"),
]
IMPLIED = [
    ("v > 2", "v > 1"),
    ("v = 1 AND name = 'a'", "name = 'a'"),
    ("name = 'a'", "name IN ('a', 'b')"),
    ("v = 2", "v <> 1"),
    ("name = 'a' OR name = 'b'", "name <> 'c'"),
    ("v >= 2", "name = 'c' OR v >= 2"),
]
NOT_IMPLIED = [
    ("v > 1", "v > 2"),
    ("v IS NULL", "v > 1"),
    ("name <> 'a'", "name = 'b'"),
    ("name IN ('a', 'b')", "name = 'a'"),
    ("v > 1 OR name = 'a'", "v > 1"),
    ("v > 1", "v <> NULL"),
]
PARTS = sorted({text for pair in (*SAID, *NOT_SAID, *IMPLIED) for text in pair})
EVENTS = [{"name": name, "v": v} for name in ("a", "b", "c", None) for v in (None, 0, 1, 2, 3)]


def node(text: str) -> Node:
    return Expression.parse(text).root


@pytest.mark.parametrize(("left", "right"), [*SAID, *NOT_SAID])
def test_what_excludes_each_other_is_found_and_nothing_else(left: str, right: str) -> None:
    is_said = (left, right) in SAID
    assert are_disjoint(node(left), node(right)) is are_disjoint(node(right), node(left)) is is_said
    assert not are_disjoint(None, node(right))


@pytest.mark.parametrize(("left", "right"), [*IMPLIED, *NOT_IMPLIED])
def test_what_follows_is_found_and_nothing_else(left: str, right: str) -> None:
    assert implies(node(left), node(right)) is ((left, right) in IMPLIED)


conditions = st.recursive(
    st.sampled_from(PARTS),
    lambda inner: st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
        lambda t: f"({t[0]}) {t[1]} ({t[2]})"
    ),
    max_leaves=3,
)


@given(left=conditions, right=conditions)
def test_no_event_fits_both_of_two_conditions_that_are_said_to_exclude_each_other(
    left: str, right: str
) -> None:
    one, other = node(left), node(right)
    if are_disjoint(one, other):
        tests = [compile_predicate(each, mapping_reader) for each in (one, other)]
        assert not any(all(test(event, ()) for test in tests) for event in EVENTS)


@given(left=conditions, right=conditions)
def test_what_is_said_to_follow_or_never_to_be_true_is_so_for_every_event(
    left: str, right: str
) -> None:
    one, other = node(left), node(right)
    holds, follows = (compile_predicate(each, mapping_reader) for each in (one, other))
    taken = [event for event in EVENTS if holds(event, ())]
    assert not (taken and is_never_true(one))
    assert not implies(one, other) or all(follows(event, ()) for event in taken)
