"""What the code of conditions reads, each once and by number.

    conditions, measures ──Operands──► columns · values at other rows · aggregates · constants

Whatever reads the row under test alone, or another row alone, is a column, computed by polars
before the search. Rows are those of a clause, or the events of a pattern, whose steps stand for
variables.
"""

from dataclasses import dataclass, field
from typing import Final, TypeVar

from cep.condition_code import opcodes as op
from cep.expression import Kind, Node, Schema, aggregates_of
from cep.expression.checking.inference import type_of
from cep.row_pattern.bound import Fold, RowExpression, RowOfMatch, ValueAt

_FOLDS: Final = {
    ("SUM", Kind.BIGINT): op.SUM_INT,
    ("SUM", Kind.DOUBLE): op.SUM_FLOAT,
    ("AVG", Kind.BIGINT): op.AVERAGE_INT,
    ("AVG", Kind.DOUBLE): op.AVERAGE_FLOAT,
    ("MIN", Kind.BIGINT): op.MIN_INT,
    ("MAX", Kind.BIGINT): op.MAX_INT,
    ("MIN", Kind.DOUBLE): op.MIN_FLOAT,
    ("MAX", Kind.DOUBLE): op.MAX_FLOAT,
}
_KINDS: Final = frozenset(
    {
        Kind.BIGINT,
        Kind.BOOLEAN,
        Kind.DOUBLE,
        Kind.STRING,
        Kind.DATE,
        Kind.TIMESTAMP,
        Kind.TIMESTAMP_NTZ,
        Kind.INTERVAL,
        Kind.NULL,
    }
)

Item = TypeVar("Item")


class NotCompilable(Exception):
    """A condition has something that only the interpreter knows."""


@dataclass(frozen=True, slots=True)
class KernelColumn:
    """A value per row of the frame, computed by polars; of NULL nothing but NULL."""

    node: Node
    kind: Kind

    @property
    def is_float(self) -> bool:
        """Whether it is among the columns of floats."""
        return self.kind is Kind.DOUBLE


@dataclass(frozen=True, slots=True)
class KernelValue:
    """A column at another row; `item` is `None` for the row under test."""

    item: RowOfMatch | None
    shift: int
    column: int


@dataclass(frozen=True, slots=True)
class KernelFold:
    """An aggregate of a column over the rows of some variables; `column` -1 counts rows."""

    function: int
    variables: frozenset[int] | None
    column: int


@dataclass(slots=True)
class Operands:
    """What the code of some conditions reads, in the order of the numbers.

    Columns are numbered apart for integers and floats. `texts` are the constants that are texts,
    by their place in `ints`, where their rank will stand.
    """

    schema: Schema
    int_columns: dict[KernelColumn, int] = field(default_factory=dict)
    float_columns: dict[KernelColumn, int] = field(default_factory=dict)
    values: dict[KernelValue, int] = field(default_factory=dict)
    items: dict[RowOfMatch, int] = field(default_factory=dict)
    folds: dict[KernelFold, int] = field(default_factory=dict)
    ints: list[int] = field(default_factory=list)
    floats: list[float] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)

    def column(self, node: Node) -> tuple[int, Kind]:
        """Return the number of a column, among those of its sort, and its kind."""
        kind = type_of(node, self.schema).kind
        if kind not in _KINDS:
            raise NotCompilable(f"a condition on a value of type {kind} of an earlier event")
        wanted = KernelColumn(node, kind)
        return _number(self.float_columns if wanted.is_float else self.int_columns, wanted), kind

    def value(self, reference: ValueAt) -> tuple[int, Kind]:
        """Return the number of a value at another row, and its kind."""
        column, kind = self.column(_plain(reference.value))
        if reference.start is not None:
            self.item(reference.start)
        return _number(self.values, KernelValue(reference.start, reference.shift, column)), kind

    def item(self, row: RowOfMatch) -> int:
        """Return the number of a row of the match that is remembered."""
        return _number(self.items, row)

    def int_constant(self, value: int) -> int:
        """Return the number of a constant that is a whole number."""
        self.ints.append(value)
        return len(self.ints) - 1

    def float_constant(self, value: float) -> int:
        """Return the number of a constant that is a float."""
        self.floats.append(value)
        return len(self.floats) - 1

    def text_constant(self, text: str) -> int:
        """Return where among the whole numbers the rank of a text will stand."""
        place = self.int_constant(0)
        self.texts[place] = text
        return place

    def fold(self, reference: Fold) -> tuple[int, Kind]:
        """Return the number of an aggregate, and the kind of its value."""
        if reference.is_distinct:
            raise NotCompilable("an aggregate of DISTINCT values")
        if reference.value is None:
            function, column, kind = op.COUNT, -1, Kind.BIGINT
        else:
            column, kind = self.column(_plain(reference.value))
            if reference.function == "COUNT":
                function = op.COUNT_FLOAT if kind is Kind.DOUBLE else op.COUNT
                kind = Kind.BIGINT
            else:
                found = _FOLDS.get((reference.function, kind))
                if found is None:
                    raise NotCompilable(f"{reference.function} of values of type {kind}")
                function = found
                kind = Kind.DOUBLE if function in op.FLOAT_RESULTS else Kind.BIGINT
        return _number(self.folds, KernelFold(function, reference.variables, column)), kind


def _number(known: dict[Item, int], wanted: Item) -> int:
    return known.setdefault(wanted, len(known))


def _plain(value: RowExpression) -> Node:
    if aggregates_of(value.node):
        raise NotCompilable("CLASSIFIER() or MATCH_NUMBER() of another row")
    return value.node
