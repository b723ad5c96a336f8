"""Kinds of rows: by hits and by words as if each row's tests were listed one after the other."""

from collections.abc import Sequence

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from cep import Schema
from cep.expression import Expression, resolve
from cep.keyed.predicate_index import PredicateIndex
from cep.keyed.row_kinds import Concerned, Kind, kinds_of_hits, kinds_of_words

Tests = tuple[int, ...]
ROWS = st.lists(st.sets(st.integers(0, 9), max_size=4), max_size=30)
SCHEMA = Schema.from_ddl("shop BIGINT, action STRING, amount BIGINT")
TEXTS = [
    *(f"shop = {shop} AND action = 'pay'" for shop in range(30)),
    *(f"action = 'pay' AND shop = {shop}" for shop in range(5)),
    *(f"shop = {shop} AND action = 'pay' AND amount > 3" for shop in range(20)),
    *(f"shop = {shop}" for shop in range(10, 25)),
    "amount > 3",
    "amount < 0 OR action = 'fail'",
    "shop IS NULL",
]
EVENTS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-1, 31)),
        st.sampled_from([None, "pay", "fail", ""]),
        st.one_of(st.none(), st.integers(-2, 5)),
    ),
    max_size=40,
)


def by_row(concerned: Concerned[Kind]) -> dict[int, Kind]:
    """Return the kind of each row, having seen that rows are in order and kinds are different."""
    rows, kinds, numbers = concerned
    assert rows.is_sorted()
    assert len(set(kinds)) == len(kinds)
    return {row: kinds[number] for row, number in zip(rows, numbers.tolist(), strict=True)}


def kind_of(tests: Tests) -> Tests:
    """Return the tests themselves, nothing if 0 is not among them."""
    return tests if 0 in tests else ()


def itself(tests: Tests) -> tuple[object, ...]:
    """Return a kind for any tests, none as well."""
    return ("kind", *tests)


@given(ROWS)
def test_hits_give_the_kinds_of_rows(rows: Sequence[set[int]]) -> None:
    pairs = [(row, test) for row, tests in enumerate(rows) for test in tests]
    hits = pl.DataFrame(pairs, schema={"row": pl.UInt32, "test": pl.UInt32}, orient="row")
    hits = hits.sample(fraction=1, shuffle=True, seed=1)
    expected = {row: tuple(sorted(tests)) for row, tests in enumerate(rows) if 0 in tests}
    assert by_row(kinds_of_hits(hits, len(rows), kind_of)) == expected


def test_rows_without_a_test_are_of_a_kind() -> None:
    hits = pl.DataFrame({"row": [1], "test": [4]}, schema={"row": pl.UInt32, "test": pl.UInt32})
    found = kinds_of_hits(hits, 3, itself)
    assert by_row(found) == {0: ("kind",), 1: ("kind", 4), 2: ("kind",)}


@given(ROWS, st.sampled_from([pl.UInt16, pl.UInt32, pl.UInt64]))
def test_words_give_the_kinds_of_rows(rows: Sequence[set[int]], word: pl.DataType) -> None:
    words = pl.Series([sum(1 << test for test in tests) for tests in rows], dtype=word)
    expected = {row: tuple(sorted(tests)) for row, tests in enumerate(rows) if 0 in tests}
    found = kinds_of_words(words, 10, kind_of)
    assert by_row(found) == expected


@given(EVENTS, st.sampled_from([len(TEXTS), 63, 40, 16, 8, 1, 0]))
def test_all_tests_at_once_hold_as_each_by_itself(
    events: Sequence[tuple[int | None, str | None, int | None]], count: int
) -> None:
    nodes = [resolve(Expression.parse(text), (), SCHEMA) for text in TEXTS[-count:][:count]]
    index = PredicateIndex(nodes, SCHEMA)
    schema = {"shop": pl.Int64, "action": pl.String, "amount": pl.Int64}
    frame = pl.DataFrame(events, schema=schema, orient="row")
    together = index.classify(frame, itself)
    singly = index.classify(frame, itself, without=())
    assert by_row(together) == by_row(singly)
    assert len(together[0]) == len(frame)
