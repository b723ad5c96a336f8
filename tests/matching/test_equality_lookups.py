"""Tests of one form are evaluated together, whatever their constants; each holds as by itself."""

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.expression import Expression, Schema, resolve
from cep.keyed import equality_lookups
from cep.keyed.equality_lookups import EqualityLookups
from cep.keyed.predicate_index import PredicateIndex
from tests.properties import slow_property

# Names that a join has for columns of its own, too.
SCHEMA = Schema.from_ddl(
    "key STRING, row INT, test STRING, amount DOUBLE, rate FLOAT, small TINYINT, at TIMESTAMP, "
    "column_0 BIGINT, constant_0 STRING, price DECIMAL(9, 2)"
)
NUMBERS = st.one_of(
    st.integers(-3, 3).map(str),
    st.sampled_from(["0.5", "-1.25", "1e0", "2.5e-1", "200", "-129", "99999999999999999999"]),
)
NAMES = st.sampled_from([f"'{name}'" for name in "abcdefghijkl"])
ORDER = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
SIDES = st.one_of(
    st.tuples(st.sampled_from(["key", "test", "constant_0"]), ORDER, NAMES),
    st.tuples(
        st.sampled_from(["row", "amount", "rate", "small", "column_0", "price"]), ORDER, NUMBERS
    ),
)
PARTS = st.one_of(
    SIDES.map(" ".join),
    SIDES.map(lambda sides: f"{sides[2]} {sides[1]} {sides[0]}"),
    st.sampled_from(
        ["at > '2026-11-29T00:00:00Z'", "amount IS NULL", "key = test", "amount BETWEEN 0 AND 2"]
    ),
)
TESTS = st.lists(st.lists(PARTS, min_size=1, max_size=4).map(" AND ".join), min_size=64)
VALUES = st.one_of(st.none(), st.integers(-3, 3))
ROWS = st.lists(st.tuples(NAMES, VALUES, NAMES, VALUES), max_size=20)


def index_of(texts: Sequence[str]) -> PredicateIndex:
    nodes = dict.fromkeys(resolve(Expression.parse(text), (), SCHEMA) for text in texts)
    return PredicateIndex(list(nodes), SCHEMA)


def frame_of(rows: Sequence[tuple[str, int | None, str, int | None]]) -> pl.DataFrame:
    columns = list(zip(*rows, strict=True)) or [()] * 4
    names, numbers, others, amounts = columns
    texts = [name.strip("'") for name in names]
    return pl.DataFrame(
        {
            "key": texts,
            "row": numbers,
            "test": [None if name == "'a'" else name.strip("'") for name in others],
            "amount": [float("nan") if value == 3 else value for value in amounts],
            "rate": numbers,
            "small": amounts,
            "at": [None if value is None else 1_790_000_000_000_000 + value for value in numbers],
            "column_0": amounts,
            "constant_0": texts,
            "price": numbers,
        },
        schema=SCHEMA.to_polars(),
        strict=False,
    )


def by_row(index: PredicateIndex, frame: pl.DataFrame, *, singly: bool) -> list[tuple[int, ...]]:
    rows, kinds, places = index.classify(
        frame, lambda tests: (tests,), without=() if singly else None
    )
    assert rows.to_list() == list(range(len(frame)))
    return [kinds[place][0] for place in places]


@given(texts=TESTS, rows=ROWS, pairs=st.sampled_from([1, 7, 1_000]))
@slow_property()
def test_each_test_holds_where_it_holds_by_itself(
    texts: list[str], rows: list[tuple[str, int | None, str, int | None]], pairs: int
) -> None:
    index, frame = index_of(texts), frame_of(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equality_lookups, "_PAIRS_AT_ONCE", pairs)
        together = by_row(index, frame, singly=False)
    assert together == by_row(index, frame, singly=True)


def test_rules_that_differ_in_constants_only_share_their_joins() -> None:
    texts = [
        f"test = 'shop{number % 50}' AND constant_0 = '{'xy'[number % 2]}' AND amount > {number}"
        f" AND key = 'user{number}' AND small < {number % 9}"
        for number in range(600)
    ]
    tests = [resolve(Expression.parse(text), (), SCHEMA) for text in texts]
    lookups = EqualityLookups.of(tests, SCHEMA)
    assert len(lookups.numbers) == len(tests)
    # Two kinds of events, as to `constant_0`; the key leaves the fewest rows.
    assert [lookup.columns for lookup in lookups.lookups] == [
        ("key", "test", "amount", "small")
    ] * 2
    assert [lookup.most for lookup in lookups.lookups] == [1, 1]
