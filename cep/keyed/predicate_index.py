"""Finds the tests that hold for each row of a frame, for any number of tests.

    tests on the event alone ──► PredicateIndex.classify(frame) ──► rows and their kind

Up to 63 tests are evaluated one by one and become the bits of one integer per row. With more, the
usual case is one rule per customer, shop or device: tests that `equality_lookups` evaluates by one
join for all constants; the remaining ones are evaluated one by one. A test at which polars raises
is found and left out, so that the others are exact.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_

import polars as pl

from cep.expression import (
    BOOLEAN,
    EvaluationError,
    Field,
    Node,
    Schema,
    compile_columnar,
    evaluating,
    first_failure,
)
from cep.expression.rewrite import rebuilt
from cep.expression.tree import InList, lists_in, variables_of
from cep.keyed.equality_lookups import HITS, EqualityLookups
from cep.keyed.row_kinds import WORDS, Concerned, Kind, KindOf, kinds_of_hits, kinds_of_words

_TESTS_IN_ONE_WORD = 63


class PredicateIndex:
    """Tests on the event alone, numbered by index, ready to be evaluated on frames."""

    def __init__(self, tests: Sequence[Node], schema: Schema) -> None:
        self.tests = tuple(tests)
        self._schema = schema
        self._lists = _ListTests.of(tests)
        tests, schema = self._lists.replaced(tests), self._lists.widened(schema)
        self._in_words = len(tests) <= _TESTS_IN_ONE_WORD
        self._lookups = EqualityLookups()
        if not self._in_words:
            self._lookups = EqualityLookups.of(tests, schema)
        self._singly = [
            (number, compile_columnar(test, schema).fill_null(value=False))
            for number, test in enumerate(tests)
            if number not in self._lookups.numbers
        ]

    def classify(
        self, frame: pl.DataFrame, kind_of: KindOf[Kind], without: Collection[int] | None = None
    ) -> Concerned[Kind]:
        """Return the rows whose kind is truthy, with their kinds.

        `kind_of` takes the numbers of the tests that hold for a row, ascending. Tests in `without`
        do not count; unless it is `None` the others are evaluated one by one, which is slow.

        Raises:
            EvaluationError: a test fails on one of the rows; see `first_failure`.
        """
        if without is not None:
            return kinds_of_hits(self._tested_one_by_one(frame, without), len(frame), kind_of)
        with evaluating():
            frame = self._lists.tested(frame, self._schema)
        if self._in_words:
            return kinds_of_words(self._words(frame), len(self._singly), kind_of)
        with evaluating():
            hits = pl.concat([*self._lookups.hits(frame), self._tested_singly(frame)])
        return kinds_of_hits(hits, len(frame), kind_of)

    def first_failure(
        self, frame: pl.DataFrame, without: Collection[int]
    ) -> tuple[int, dict[int, EvaluationError]] | None:
        """Return the first row at which tests fail, and these with how; `None` if none does."""
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

    def _words(self, frame: pl.DataFrame) -> pl.Series:
        """Return the word of each row."""
        data_type = next(word for bits, word in WORDS.items() if len(self._singly) <= bits)
        bits = (
            pl.when(test).then(pl.lit(1 << number, data_type)).otherwise(pl.lit(0, data_type))
            for number, test in self._singly
        )
        word = reduce(or_, bits, pl.repeat(0, pl.len(), dtype=data_type))
        with evaluating():
            # Lazy, so that common parts of several tests are evaluated once.
            return frame.lazy().select(word).collect().to_series()

    def _tested_one_by_one(self, frame: pl.DataFrame, without: Collection[int]) -> pl.DataFrame:
        hits = [pl.DataFrame(schema=HITS)]
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
            return pl.DataFrame(schema=HITS)
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


@dataclass(frozen=True, slots=True)
class _ListTests:
    """The tests whether something is in a list, each made once for all tests that hold it."""

    columns: Mapping[InList, str]

    @classmethod
    def of(cls, tests: Sequence[Node]) -> "_ListTests":
        """Return those that are within some tests, but for those of the elements of an array."""
        found = dict.fromkeys(
            each for test in tests for each in lists_in(test) if not variables_of(each)
        )
        return cls({each: f"_in_list_{number}" for number, each in enumerate(found)})

    def replaced(self, tests: Sequence[Node]) -> Sequence[Node]:
        """Return the tests with columns in the place of these."""
        return [self._replaced(test) for test in tests] if self.columns else tests

    def _replaced(self, node: Node) -> Node:
        if isinstance(node, InList) and node in self.columns:
            return Field((self.columns[node],), node.span)
        return rebuilt(node, self._replaced)

    def widened(self, schema: Schema) -> Schema:
        """Return the schema of a frame that has been tested."""
        more = tuple((name, BOOLEAN) for name in self.columns.values())
        return Schema((*schema.columns, *more), schema.lists)

    def tested(self, frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
        """Return a frame with the outcomes as further columns."""
        outcomes = (compile_columnar(n, schema).alias(name) for n, name in self.columns.items())
        return frame.with_columns(*outcomes) if self.columns else frame
