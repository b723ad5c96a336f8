"""Tests of the form `column = constant AND bounds AND rest`, all constants at once.

    tests ──EqualityLookups.of──► one join per column and form ──hits──► rows and tests that hold

With one rule per customer, shop or device there are thousands of them, and few distinct rests.
What a column is compared with in a bound (`amount > 137`) may differ from rule to rule: it is
joined to the rows with the test, and all tests of one form are compared at once.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

import polars as pl

from cep.expression import Field, Node, Schema, compile_columnar
from cep.expression.tree import And, Comparison, ComparisonOperator, Literal, conjuncts
from cep.expression.types import BIGINT, DOUBLE, STRING, DataType, Kind, to_polars

HITS: Final = pl.Schema({"row": pl.UInt32(), "test": pl.UInt32()})
"""Rows, by number, and tests that hold for them; each pair once."""
_WORTH_A_JOIN: Final = 8
"""From this number of constants on, a join costs less than separate tests."""
_PAIRS_AT_ONCE: Final = 1_000_000
"""So many pairs of a row and a test are joined at once: some tens of megabytes."""
_KEY: Final = "key"
_INTEGER_BITS: Final = {Kind.TINYINT: 8, Kind.SMALLINT: 16, Kind.INT: 32, Kind.BIGINT: 64}


class _Bound(NamedTuple):
    """What a column is compared with, but for the constant, which has `data_type`."""

    column: str
    operator: ComparisonOperator
    data_type: DataType

    @property
    def is_equality(self) -> bool:
        """Whether the column is to be equal to the constant."""
        return self.operator is ComparisonOperator.EQUAL

    @property
    def can_be_joined(self) -> bool:
        """Whether a join compares in the same way."""
        return self.is_equality and self.data_type != DOUBLE


class _Form(NamedTuple):
    """What many tests have in common; `rest` is `None` if there is none."""

    column: str
    bounds: tuple[_Bound, ...]
    rest: Node | None


class _Test(NamedTuple):
    """The number of a test, and its constants: that of the equality, then those of the bounds."""

    number: int
    constants: tuple[str | float, ...]


@dataclass(frozen=True, slots=True)
class _Lookup:
    """All tests of one form.

    `tests` maps values of the first of `columns` to numbers of tests and the constants of their
    bounds; `bounds` compares these with the other columns. `most` is how many tests have one value.
    """

    columns: tuple[str, ...]
    rest: pl.Expr | None
    bounds: pl.Expr | None
    tests: pl.DataFrame
    most: int

    @classmethod
    def of(cls, form: _Form, tests: Sequence[_Test], schema: Schema) -> "_Lookup":
        """Return the lookup of the tests of a form."""
        types = dict(schema.columns)
        keys, *constants = zip(*(test.constants for test in tests), strict=True)
        columns = [
            pl.Series(_KEY, keys, to_polars(types[form.column])),
            pl.Series("test", [test.number for test in tests], pl.UInt32),
        ]
        joined: list[tuple[str, DataType]] = []
        compared: list[Node] = []
        for place, (bound, values) in enumerate(zip(form.bounds, constants, strict=True)):
            read, constant = _column(place), f"constant_{place}"
            columns.append(pl.Series(constant, values, to_polars(bound.data_type)))
            joined += (read, types[bound.column]), (constant, bound.data_type)
            compared.append(Comparison(bound.operator, Field((read,)), Field((constant,))))
        return cls(
            (form.column, *(bound.column for bound in form.bounds)),
            None if form.rest is None else compile_columnar(form.rest, schema),
            compile_columnar(_all(compared), Schema(tuple(joined))) if compared else None,
            pl.DataFrame(columns),
            max(Counter(keys).values()),
        )

    def hits(self, frame: pl.DataFrame, rows: pl.Series) -> Iterator[pl.DataFrame]:
        """Yield which of the tests hold for which rows, given those for which the rest holds."""
        names = _KEY, *map(_column, range(len(self.columns) - 1))
        columns = (
            frame.get_column(column)[rows].alias(name)
            for column, name in zip(self.columns, names, strict=True)
        )
        asked = pl.DataFrame([rows.alias("row"), *columns])
        for part in asked.iter_slices(max(1, _PAIRS_AT_ONCE // self.most)):
            found = part.join(self.tests, on=_KEY)
            if self.bounds is not None:
                found = found.filter(self.bounds)
            yield found.select(HITS.names())


@dataclass(frozen=True, slots=True)
class EqualityLookups:
    """Those of some tests that are worth a join.

    Args:
        lookups: the joins.
        numbers: the numbers of these tests.
    """

    lookups: Sequence[_Lookup] = ()
    numbers: Collection[int] = ()

    @classmethod
    def of(cls, tests: Sequence[Node], schema: Schema) -> "EqualityLookups":
        """Return the lookups of tests; the number of a test is its index."""
        types = dict(schema.columns)
        operands = [tuple(conjuncts(test)) for test in tests]
        many = _constants(operands, types)
        by_form: defaultdict[_Form, list[_Test]] = defaultdict(list)
        values: defaultdict[str, set[str | float]] = defaultdict(set)
        for number, of_test in enumerate(operands):
            found = _read(of_test, types, many)
            if found is not None:
                form, constants = found
                by_form[form].append(_Test(number, constants))
                values[form.column].add(constants[0])
        worth = {
            form: members
            for form, members in by_form.items()
            if len(values[form.column]) >= _WORTH_A_JOIN
        }
        return cls(
            [_Lookup.of(form, members, schema) for form, members in worth.items()],
            {test.number for members in worth.values() for test in members},
        )

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
            if lookup.rest is None:
                rows = pl.int_range(len(frame), dtype=pl.UInt32, eager=True)
            else:
                rows = holds.get_column(str(number)).arg_true()
            yield from lookup.hits(frame, rows)


def _constants(tests: Iterable[Iterable[Node]], types: Mapping[str, DataType]) -> Mapping[str, int]:
    """Return to how many constants a column is equal in all tests, if a join is worth it."""
    constants: defaultdict[str, set[str | float]] = defaultdict(set)
    for operands in tests:
        for found in (_bound(operand, types) for operand in operands):
            if found is not None and found[0].can_be_joined:
                constants[found[0].column].add(found[1])
    return {name: len(some) for name, some in constants.items() if len(some) >= _WORTH_A_JOIN}


def _read(
    operands: Sequence[Node], types: Mapping[str, DataType], many: Mapping[str, int]
) -> tuple[_Form, tuple[str | float, ...]] | None:
    """Return the form of a test and its constants; `None` if there is nothing to look up.

    Looked up is the column that has the most constants, which leaves the fewest rows. An equality
    of a column with few constants is no bound: it is tested once for all rules, before the join.
    """
    rest: list[Node] = []
    bounds: list[tuple[_Bound, str | float]] = []
    for operand in operands:
        found = _bound(operand, types)
        is_of_few = found is not None and found[0].is_equality and found[0].column not in many
        if found is None or is_of_few:
            rest.append(operand)
        else:
            bounds.append(found)
    joined = [found for found in bounds if found[0].can_be_joined]
    if not joined:
        return None
    first = max(joined, key=lambda found: many[found[0].column])
    bounds.remove(first)
    form = _Form(first[0].column, tuple(bound for bound, _ in bounds), _all(rest) if rest else None)
    return form, (first[1], *(constant for _, constant in bounds))


def _bound(node: Node, types: Mapping[str, DataType]) -> tuple[_Bound, str | float] | None:
    """Read `column operator constant`, only if two columns are compared in the same way."""
    match node:
        case Comparison(operator, Field(path=(column,)), Literal(value=value)):
            pass
        case Comparison(operator, Literal(value=value), Field(path=(column,))):
            operator = operator.mirrored
        case _:
            return None
    kind = types[column].kind
    # Nearly all events are unequal to one of many constants: to compare them is all there is to do.
    if operator is ComparisonOperator.NOT_EQUAL or isinstance(value, bool):
        return None
    if isinstance(value, str) and kind is Kind.STRING:
        return _Bound(column, operator, STRING), value
    if isinstance(value, int) and kind in _INTEGER_BITS:
        half = 1 << (_INTEGER_BITS[kind] - 1)
        return (_Bound(column, operator, BIGINT), value) if -half <= value < half else None
    if isinstance(value, int | float | Decimal) and kind in {Kind.FLOAT, Kind.DOUBLE}:
        return _Bound(column, operator, DOUBLE), float(value)
    return None


def _all(nodes: Sequence[Node]) -> Node:
    return And(tuple(nodes)) if len(nodes) > 1 else nodes[0]


def _column(place: int) -> str:
    return f"column_{place}"
