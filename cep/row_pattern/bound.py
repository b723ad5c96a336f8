"""A clause whose names are resolved and whose types are checked: what the search and output run.

    Clause ──analysis──► BoundClause ──► automaton, search, output

Primary variables are numbers, in order of their first place in the pattern. A set of variables is a
frozenset of numbers; `None` in its place stands for all rows of the match.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from cep.expression import DataType, Node, aggregates_of
from cep.row_pattern.clause import Clause, RowPattern, RowsPerMatch, SkipTo

Variables = frozenset[int] | None
"""The rows of which variables an expression looks at; `None` = all rows of the match."""


@dataclass(frozen=True, slots=True)
class RowExpression:
    """An expression over one row of the partition.

    Its fields are columns of the row; the aggregates in it stand for what a row alone does not
    know: its variable (slot `CLASSIFIER_SLOT`) and the number of the match.
    """

    node: Node
    reads_classifier: bool
    data_type: DataType

    @property
    def reads_match_number(self) -> bool:
        """Whether `MATCH_NUMBER()` is in it."""
        return any(found.step == "MATCH_NUMBER()" for found in aggregates_of(self.node))


CLASSIFIER_SLOT = 0
MATCH_NUMBER_SLOT = 1


@dataclass(frozen=True, slots=True)
class RowOfMatch:
    """A row by its place among the rows of some variables.

    `is_first`: counted from the first one on, else from the last one back. `is_final`: among all
    rows of the match, else only up to the current one.
    """

    is_first: bool
    variables: Variables
    offset: int
    is_final: bool


@dataclass(frozen=True, slots=True)
class ValueAt:
    """An expression on the row that is `shift` rows after (below 0: before) another one.

    `start` is `None` for the row under test in DEFINE. A shift counts rows of the partition,
    whatever the match; without one the row is in the match.
    """

    start: RowOfMatch | None
    shift: int
    value: RowExpression


@dataclass(frozen=True, slots=True)
class Fold:
    """An aggregate over the rows of some variables; without `value` it counts rows."""

    function: str
    is_distinct: bool
    variables: Variables
    value: RowExpression | None
    is_final: bool


@dataclass(frozen=True, slots=True)
class NumberOfMatch:
    """`MATCH_NUMBER()`."""


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """An array of expressions over the same rows."""

    items: tuple["BoundExpression", ...]


ValueReference = ValueAt | Fold | NumberOfMatch
"""What is read from the rows of a match as one value."""

BoundReference = ValueReference | ArrayValue


@dataclass(frozen=True, slots=True)
class BoundExpression:
    """An expression over the rows of a match.

    Its fields are columns of the row under test (in DEFINE only); the aggregate with the operand
    `placeholder(i)` stands for `references[i]`.
    """

    text: str = field(compare=False)
    node: Node
    references: tuple[BoundReference, ...]
    data_type: DataType


def references_of(expression: BoundExpression) -> Iterator[ValueReference]:
    """Yield what an expression reads, those in its arrays included."""
    for reference in expression.references:
        if isinstance(reference, ArrayValue):
            for item in reference.items:
                yield from references_of(item)
        else:
            yield reference


@dataclass(frozen=True, slots=True)
class BoundClause:
    """A clause as it runs.

    `variables` are the names of the primary variables by number; `conditions` goes with them,
    `None` for one that is always true. `columns` are the names and types of the output.
    """

    clause: Clause
    pattern: RowPattern
    variables: tuple[str, ...]
    conditions: tuple[BoundExpression | None, ...]
    measures: tuple[tuple[str, BoundExpression], ...]
    partition_by: tuple[str, ...]
    order_by: tuple[tuple[str, bool], ...]
    rows_per_match: RowsPerMatch
    skip_to: SkipTo
    skip_variables: Variables
    within_ms: int | None
    row_columns: tuple[str, ...]
    columns: tuple[tuple[str, DataType], ...]

    def expressions(self) -> Iterator[BoundExpression]:
        """Yield all conditions and measures."""
        yield from (condition for condition in self.conditions if condition is not None)
        yield from (measure for _, measure in self.measures)

    def references(self) -> Iterator[ValueReference]:
        """Yield what all conditions and measures read."""
        for expression in self.expressions():
            yield from references_of(expression)

    @property
    def reads_match_number(self) -> bool:
        """Whether anything asks for the number of the match."""
        return any(
            isinstance(reference, NumberOfMatch)
            or (reference.value is not None and reference.value.reads_match_number)
            for reference in self.references()
        )

    @property
    def rows_before(self) -> int:
        """How many rows before another one PREV reaches at most; 0 without PREV."""
        shifts = (each.shift for each in self.references() if isinstance(each, ValueAt))
        return max(0, -min(shifts, default=0))
