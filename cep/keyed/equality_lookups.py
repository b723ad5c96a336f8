"""Tests of the form `column = constant AND rest`, all constants at once.

    tests ──EqualityLookups.of──► one join per column and rest ──hits──► rows and tests that hold

With one rule per customer, shop or device there are thousands of them, and few distinct rests.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from cep.expression import Field, Node, Schema, compile_columnar
from cep.expression.tree import And, Comparison, ComparisonOperator, Literal
from cep.expression.types import to_polars

HITS: Final = pl.Schema({"row": pl.UInt32(), "test": pl.UInt32()})
"""Rows, by number, and tests that hold for them; each pair once."""
_WORTH_A_JOIN: Final = 8
"""From this number of constants on, a join costs less than separate tests."""

_INTEGER_BITS: Final[dict[pl.DataType, int]] = {
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


@dataclass(frozen=True, slots=True)
class EqualityLookups:
    """Those of some tests that are worth a join, and their numbers."""

    lookups: Sequence[_Lookup] = ()
    numbers: Collection[int] = ()

    @classmethod
    def of(cls, tests: Sequence[Node], schema: Schema) -> "EqualityLookups":
        """Return the lookups of tests; the number of a test is its index."""
        by_column: defaultdict[str, list[_EqualityTest]] = defaultdict(list)
        for number, test in enumerate(tests):
            for found in _equality_tests(test, number, schema):
                by_column[found.column].append(found)
        lookups: list[_Lookup] = []
        covered: set[int] = set()
        for column, candidates in sorted(by_column.items(), key=lambda item: -len(item[1])):
            fresh = {test.number: test for test in candidates if test.number not in covered}
            if len({test.value for test in fresh.values()}) < _WORTH_A_JOIN:
                continue
            covered |= fresh.keys()
            lookups += _lookups_on(column, list(fresh.values()), schema)
        return cls(lookups, covered)

    def hits(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yield, as `HITS`, which of these tests hold for which rows."""
        rests = {
            str(number): lookup.rest
            for number, lookup in enumerate(self.lookups)
            if lookup.rest is not None
        }
        # Lazy, so that common parts of several rests are evaluated once.
        holds = frame.lazy().select(**rests).collect()
        for number, lookup in enumerate(self.lookups):
            values = frame.get_column(lookup.column)
            if lookup.rest is None:
                rows = pl.int_range(len(frame), dtype=pl.UInt32, eager=True)
            else:
                rows = holds.get_column(str(number)).arg_true()
                values = values[rows]
            asked = pl.DataFrame([rows.alias("row"), values])
            yield asked.join(lookup.tests, on=lookup.column).select(HITS.names())


def _lookups_on(column: str, tests: Sequence[_EqualityTest], schema: Schema) -> Iterator[_Lookup]:
    by_rest: defaultdict[Node | None, list[_EqualityTest]] = defaultdict(list)
    for test in tests:
        by_rest[test.rest].append(test)
    data_type = _data_type(column, schema)
    for rest, members in by_rest.items():
        values = pl.Series(column, [test.value for test in members], data_type)
        numbers = pl.Series("test", [test.number for test in members], pl.UInt32)
        compiled = None if rest is None else compile_columnar(rest, schema)
        yield _Lookup(column, compiled, pl.DataFrame([values, numbers]))


def _equality_tests(test: Node, number: int, schema: Schema) -> Iterator[_EqualityTest]:
    """Yield every reading of a test as `column = constant AND rest`."""
    operands = test.operands if isinstance(test, And) else (test,)
    for position, operand in enumerate(operands):
        found = _column_and_value(operand, schema)
        if found is not None:
            others = operands[:position] + operands[position + 1 :]
            rest = And(others) if len(others) > 1 else next(iter(others), None)
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
    data_type = _data_type(column, schema)
    if isinstance(value, str) and data_type == pl.String:
        return column, value
    if type(value) is int and data_type in _INTEGER_BITS:
        half = 1 << (_INTEGER_BITS[data_type] - 1)
        return (column, value) if -half <= value < half else None
    return None


def _data_type(column: str, schema: Schema) -> pl.DataType:
    # Not of the whole schema: other columns may be of types that expressions cannot read.
    return to_polars(dict(schema.columns)[column])
