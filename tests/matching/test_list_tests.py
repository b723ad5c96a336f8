"""Many tests at once: each holds as by itself, and each value is looked up once in few lists."""

from collections.abc import Sequence
from random import Random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.expression import EvaluationError, Expression, Schema, resolve
from cep.expression.lists import ListContent, ValueList
from cep.expression.types import STRING
from cep.keyed.predicate_index import PredicateIndex
from cep.keyed.row_kinds import Concerned, Kind

NAMES = "abcdef"
ASKED: list[str] = []


class Asked(ListContent):
    def among(self, column: pl.Series) -> pl.Series:
        ASKED.append(self.digest)
        return super().among(column)


def schema() -> Schema:
    early = Asked("early", STRING, lambda: ["a", "b"])
    late = Asked("late", STRING, lambda: ["b", "c"])
    lists = (
        ValueList("good", STRING, ((0, early), (50, late)), "_time_ms"),
        ValueList("one", STRING, ((0, late),)),
    )
    return Schema.from_ddl("_time_ms BIGINT, name STRING, n BIGINT", lists)


def by_row(concerned: Concerned[Kind]) -> dict[int, Kind]:
    """Return the kind of each row that has one; rows are in order, and kinds different."""
    rows, kinds, numbers = concerned
    assert rows.is_sorted()
    assert len(set(kinds)) == len(kinds)
    return dict(zip(rows.to_list(), (kinds[number] for number in numbers), strict=True))


@pytest.mark.parametrize("count", [3, 200])
def test_many_tests_of_few_lists_look_each_value_up_once(count: int) -> None:
    random, known = Random(count), schema()  # noqa: S311 - a test
    texts = [
        random.choice(
            [
                f"name IN LIST('good') AND n = {n}",
                f"n = {n} AND (name NOT IN LIST('good') OR name IN LIST('one'))",
                f"n > {n} OR UPPER(name) IN LIST('one')",
                f"name = 'a' AND n <> {n}",
            ]
        )
        for n in range(count)
    ]
    index = PredicateIndex([resolve(Expression.parse(t), (), known) for t in texts], known)
    frame = pl.DataFrame(
        {
            "_time_ms": range(100),
            "name": [random.choice([*NAMES, None]) for _ in range(100)],
            "n": [random.randrange(count) for _ in range(100)],
        },
        schema=known.to_polars(),
    )
    ASKED.clear()
    together = by_row(index.classify(frame, lambda tests: tests))
    assert len(ASKED) <= 4  # two versions of one list; one of the other, of two operands
    assert together == by_row(index.classify(frame, lambda tests: tests, without=()))
    assert together


def test_elements_of_an_array_are_looked_up_as_of_the_time_of_the_event() -> None:
    columns = Schema.from_ddl("_time_ms BIGINT, names ARRAY<STRING>").columns
    known = Schema(columns, schema().lists)
    text = "EXISTS(names, each -> each IN LIST('good')) AND NOT EXISTS(names, each -> each = 'd')"
    index = PredicateIndex([resolve(Expression.parse(text), (), known)], known)
    names = [["a"], ["c"], ["c", "d"], ["c", None], [None], [], None, ["a", "b"]]
    times = [10, 10, 60, 60, 60, 60, 60, 60]
    frame = pl.DataFrame({"_time_ms": times, "names": names}, schema=known.to_polars())
    assert list(by_row(index.classify(frame, lambda tests: tests))) == [0, 7]
    assert by_row(index.classify(frame, lambda tests: tests, without=())).keys() == {0, 7}


def test_an_operand_that_fails_is_found_and_left_out() -> None:
    known = schema()
    texts = ["CAST(n AS STRING) IN LIST('one')", "name IN LIST('one')"]
    index = PredicateIndex([resolve(Expression.parse(t), (), known) for t in texts], known)

    class Broken(ListContent):
        def among(self, column: pl.Series) -> pl.Series:
            raise pl.exceptions.ComputeError(f"broken at {column.name}")

    broken = ValueList("one", STRING, ((0, Broken("broken", STRING, list)),))
    failing = PredicateIndex(
        [
            resolve(Expression.parse(texts[0]), (), Schema(known.columns, (broken,))),
            *index.tests[1:],
        ],
        known,
    )
    frame = pl.DataFrame({"_time_ms": [1], "name": ["b"], "n": [1]}, schema=known.to_polars())
    with pytest.raises(EvaluationError):
        failing.classify(frame, lambda tests: tests)
    found = failing.first_failure(frame, ())
    assert found is not None
    assert list(found[1]) == [0]
    assert by_row(failing.classify(frame, lambda tests: tests, without=[0])) == {0: (1,)}


Tests = tuple[int, ...]
SHOPS = Schema.from_ddl("shop BIGINT, action STRING, amount BIGINT")
PAYMENT_TESTS = [
    *(f"shop = {shop} AND action = 'pay'" for shop in range(30)),
    *(f"action = 'pay' AND shop = {shop}" for shop in range(5)),
    *(f"shop = {shop} AND action = 'pay' AND amount > 3" for shop in range(20)),
    *(f"shop = {shop}" for shop in range(10, 25)),
    "amount > 3",
    "amount < 0 OR action = 'fail'",
    "shop IS NULL",
]
PAYMENTS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-1, 31)),
        st.sampled_from([None, "pay", "fail", ""]),
        st.one_of(st.none(), st.integers(-2, 5)),
    ),
    max_size=40,
)


def itself(tests: Tests) -> tuple[object, ...]:
    """Return a kind for any tests, none as well."""
    return ("kind", *tests)


@given(PAYMENTS, st.sampled_from([len(PAYMENT_TESTS), 63, 40, 16, 8, 1, 0]))
def test_all_tests_at_once_hold_as_each_by_itself(
    events: Sequence[tuple[int | None, str | None, int | None]], count: int
) -> None:
    nodes = [resolve(Expression.parse(text), (), SHOPS) for text in PAYMENT_TESTS[-count:][:count]]
    index = PredicateIndex(nodes, SHOPS)
    schema = {"shop": pl.Int64, "action": pl.String, "amount": pl.Int64}
    frame = pl.DataFrame(events, schema=schema, orient="row")
    together = index.classify(frame, itself)
    singly = index.classify(frame, itself, without=())
    assert by_row(together) == by_row(singly)
    assert len(together[0]) == len(frame)
