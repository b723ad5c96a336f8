"""Finds the tests that hold for each row of a frame, for any number of tests.

    tests on the event alone ──► PredicateIndex.classify(frame) ──► rows and their kind

Up to 63 tests are evaluated one by one and become the bits of one integer per row. With more, the
usual case is one rule per customer, shop or device: tests of the form `column = constant AND rest`
with few distinct rests. Those are evaluated by one join per rest, independent of the number of
constants; the remaining tests are evaluated one by one. A test at which polars raises is found and
left out, so that the others are exact.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import polars as pl

from cep.compiling import Ints
from cep.expression import (
    EvaluationError,
    Field,
    Node,
    Schema,
    compile_columnar,
    evaluating,
    first_failure,
)
from cep.expression.tree import And, Comparison, ComparisonOperator, Literal
from cep.expression.types import to_polars
from cep.matching.list_tests import ListTests

Kind = TypeVar("Kind")
Concerned = tuple[pl.Series, list[Kind], Ints]
"""Some rows, in order; the kinds there are among them; and of each row the place of its kind."""

_TESTS_IN_ONE_WORD = 63
_HITS = pl.Schema({"row": pl.UInt32(), "test": pl.UInt32()})
_WORTH_A_JOIN = 8
"""From this number of constants on, a join costs less than separate tests."""

_INTEGER_BITS: dict[pl.DataType, int] = {
    pl.Int8(): 8,
    pl.Int16(): 16,
    pl.Int32(): 32,
    pl.Int64(): 64,
}


@dataclass(frozen=True, slots=True)
class _EqualityTest:
    """A test `column = value AND rest`; `rest` is `None` if there is none."""

    column: str
    value: str | int
    rest: Node | None
    number: int


@dataclass(frozen=True, slots=True)
class _Lookup:
    """All equality tests on one column with one rest; `tests` maps values to test numbers."""

    column: str
    rest: pl.Expr | None
    tests: pl.DataFrame


class PredicateIndex:
    """The tests of a set of rules, ready to be evaluated on frames.

    Args:
        tests: conditions on the event alone; a test's number is its index.
        schema: the columns of the frames.
    """

    def __init__(self, tests: Sequence[Node], schema: Schema) -> None:
        self.tests = tuple(tests)
        self._schema = schema
        self._lists = ListTests.of(tests)
        tests, schema = self._lists.replaced(tests), self._lists.widened(schema)
        self._tested_schema = schema
        self._in_words = len(tests) <= _TESTS_IN_ONE_WORD
        self._lookups = [] if self._in_words else self._find_lookups(tests)
        looked_up = {number for lookup in self._lookups for number in lookup.tests["test"]}
        self._singly = [
            (number, compile_columnar(test, schema).fill_null(value=False))
            for number, test in enumerate(tests)
            if number not in looked_up
        ]

    def _find_lookups(self, tests: Sequence[Node]) -> list[_Lookup]:
        by_column: defaultdict[str, list[_EqualityTest]] = defaultdict(list)
        for number, test in enumerate(tests):
            for found in _equality_tests(test, number, self._tested_schema):
                by_column[found.column].append(found)
        lookups = []
        covered: set[int] = set()
        for column, candidates in sorted(by_column.items(), key=lambda item: -len(item[1])):
            fresh = {test.number: test for test in candidates if test.number not in covered}
            if len({test.value for test in fresh.values()}) < _WORTH_A_JOIN:
                continue
            covered |= fresh.keys()
            lookups += self._lookups_on(column, list(fresh.values()))
        return lookups

    def _lookups_on(self, column: str, tests: list[_EqualityTest]) -> list[_Lookup]:
        by_rest: defaultdict[Node | None, list[_EqualityTest]] = defaultdict(list)
        for test in tests:
            by_rest[test.rest].append(test)
        dtype = _dtype(column, self._tested_schema)
        return [
            _Lookup(
                column,
                None if rest is None else compile_columnar(rest, self._tested_schema),
                pl.DataFrame(
                    {
                        column: pl.Series([test.value for test in members], dtype=dtype),
                        "test": pl.Series([test.number for test in members], dtype=pl.UInt32),
                    }
                ),
            )
            for rest, members in by_rest.items()
        ]

    def classify(
        self,
        frame: pl.DataFrame,
        kind_of: Callable[[tuple[int, ...]], Kind],
        without: Collection[int] | None = None,
    ) -> Concerned[Kind]:
        """Return the rows whose kind is truthy, with their kinds.

        Args:
            frame: the rows.
            kind_of: from the numbers of the tests that hold for a row, ascending, to its kind.
            without: tests that are taken not to hold; the others are evaluated one by one, which
                is slow. `None` = all at once.

        Raises:
            EvaluationError: a test fails on one of the rows; see `first_failure`.
        """
        if without is not None:
            return self._classify_by_hits(self._tested_one_by_one(frame, without), frame, kind_of)
        with evaluating():
            frame = self._lists.tested(frame, self._schema)
        if self._in_words:
            return self._classify_by_word(frame, kind_of)
        with evaluating():
            hits = pl.concat([*self._looked_up(frame), self._tested_singly(frame)])
        return self._classify_by_hits(hits, frame, kind_of)

    def first_failure(
        self, frame: pl.DataFrame, without: Collection[int]
    ) -> tuple[int, dict[int, EvaluationError]] | None:
        """Return the first row at which tests fail, and these with how; `None` if none does.

        Args:
            frame: the rows.
            without: tests that are not looked at.
        """
        first, failures = len(frame), dict[int, EvaluationError]()
        for number in range(len(self.tests)):
            if number in without:
                continue
            # Of a test that fails later than others do nobody needs to know yet.
            found = first_failure(frame[: first + 1], partial(self._rows_of, number))
            if found is None:
                continue
            row, error = found
            failures = {number: error} if row < first else failures | {number: error}
            first = row
        return (first, failures) if failures else None

    def _classify_by_word(
        self, frame: pl.DataFrame, kind_of: Callable[[tuple[int, ...]], Kind]
    ) -> Concerned[Kind]:
        bits = (
            test.cast(pl.UInt64) * pl.lit(1 << number, pl.UInt64) for number, test in self._singly
        )
        nothing = pl.repeat(0, pl.len(), dtype=pl.UInt64)
        with evaluating():
            words = frame.select(pl.sum_horizontal(nothing, *bits)).to_series()
        kinds = {
            word: kind_of(tuple(number for number, _ in self._singly if word >> number & 1))
            for word in words.unique().to_list()
        }
        concerned = pl.Series(sorted(word for word in kinds if kinds[word]), dtype=pl.UInt64)
        if len(concerned) == len(kinds):
            rows = pl.int_range(len(words), dtype=pl.UInt32, eager=True)
        else:
            rows = words.is_in(concerned.implode()).arg_true()
            words = words[rows]
        numbers = np.searchsorted(concerned.to_numpy(), words.to_numpy())
        return rows, [kinds[word] for word in concerned.to_list()], numbers.astype(np.int64)

    def _classify_by_hits(
        self, hits: pl.DataFrame, frame: pl.DataFrame, kind_of: Callable[[tuple[int, ...]], Kind]
    ) -> Concerned[Kind]:
        by_row = hits.group_by("row").agg(pl.col("test").sort())
        if kind_of(()):  # rows for which no test holds may matter, too, for strict contiguity
            every_row = pl.select(row=pl.int_range(len(frame), dtype=pl.UInt32))
            by_row = every_row.join(by_row, on="row", how="left")
        alike = by_row.group_by("test", maintain_order=True).agg("row")
        kinds = [kind_of(tuple(tests or ())) for tests in alike.get_column("test").to_list()]
        is_concerned = pl.Series([bool(kind) for kind in kinds], dtype=pl.Boolean)
        found = (
            alike.select("row")
            .filter(is_concerned)
            .with_row_index("kind")
            .explode("row")
            .sort("row")
        )
        numbers = found.get_column("kind").cast(pl.Int64).to_numpy()
        return found.get_column("row"), [kind for kind in kinds if kind], numbers

    def _looked_up(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        numbered = frame.with_row_index("row")
        for lookup in self._lookups:
            rows = numbered if lookup.rest is None else numbered.filter(lookup.rest)
            found = rows.select("row", lookup.column).join(lookup.tests, on=lookup.column)
            yield found.select("row", "test")

    def _tested_one_by_one(self, frame: pl.DataFrame, without: Collection[int]) -> pl.DataFrame:
        hits = [pl.DataFrame(schema=_HITS)]
        for number in range(len(self.tests)):
            if number not in without:
                rows = self._rows_of(number, frame).to_frame("row")
                hits.append(rows.with_columns(test=pl.lit(number, pl.UInt32)))
        return pl.concat(hits)

    def _rows_of(self, number: int, frame: pl.DataFrame) -> pl.Series:
        """Return the rows for which one test holds."""
        with evaluating():
            test = compile_columnar(self.tests[number], self._schema)
            return frame.select(test.fill_null(value=False)).to_series().arg_true()

    def _tested_singly(self, frame: pl.DataFrame) -> pl.DataFrame:
        if not self._singly:
            return pl.DataFrame(schema=_HITS)
        # Lazy, so that common parts of several tests are evaluated once.
        outcomes = frame.lazy().select(test.alias(str(number)) for number, test in self._singly)
        return (
            outcomes.collect()
            .select(pl.all().arg_true().implode())
            .unpivot(variable_name="test", value_name="row")
            .explode("row")
            .drop_nulls("row")
            .select("row", pl.col("test").cast(pl.UInt32))
        )


def _equality_tests(test: Node, number: int, schema: Schema) -> Iterator[_EqualityTest]:
    """Yield every reading of a test as `column = constant AND rest`."""
    operands = test.operands if isinstance(test, And) else (test,)
    for position, operand in enumerate(operands):
        found = _column_and_value(operand, schema)
        if found is not None:
            others = operands[:position] + operands[position + 1 :]
            rest = None if not others else others[0]
            if len(others) > 1:
                rest = And(others)
            yield _EqualityTest(*found, rest, number)


def _column_and_value(node: Node, schema: Schema) -> tuple[str, str | int] | None:
    """Read `column = constant`, only if a join compares in the same way as the expression."""
    match node:
        case Comparison(
            ComparisonOperator.EQUAL, Field(path=(column,)), Literal(value=value)
        ) | Comparison(ComparisonOperator.EQUAL, Literal(value=value), Field(path=(column,))):
            pass
        case _:
            return None
    dtype = _dtype(column, schema)
    if isinstance(value, str) and dtype == pl.String:
        return column, value
    if type(value) is int and dtype in _INTEGER_BITS:
        half = 1 << (_INTEGER_BITS[dtype] - 1)
        return (column, value) if -half <= value < half else None
    return None


def _dtype(column: str, schema: Schema) -> pl.DataType:
    # Not of the whole schema: other columns may be of types that expressions cannot read.
    return to_polars(dict(schema.columns)[column])
