"""The tree of a MATCH_RECOGNIZE clause as it is written, before any name in it is resolved.

    text ──parsing──► Clause ──analysis──► BoundClause

Every node keeps its span, the place in the text, for errors; the span is not part of equality.

Source: ISO/IEC 9075-2 feature R010 (technical report 19075-5), and `WITHIN` of Flink SQL.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from cep.expression import Node
from cep.expression.parameters import Parameter
from cep.expression.tree import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier. Unquoted, it is `text` in any case; in double quotes exactly `text`."""

    text: str
    is_quoted: bool = False
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def folded(self) -> str:
        """The name as a variable is known by: unquoted ones in upper case."""
        return self.text if self.is_quoted else self.text.upper()


# Row patterns


@dataclass(frozen=True, slots=True)
class Variable:
    """One row that is mapped to this primary variable."""

    name: Name


@dataclass(frozen=True, slots=True)
class Concatenation:
    """Two or more parts, one after the other; none is the empty pattern `()`."""

    parts: tuple["RowPattern", ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Two or more alternatives, the first preferred."""

    alternatives: tuple["RowPattern", ...]


@dataclass(frozen=True, slots=True)
class Permutation:
    """`PERMUTE(p, ...)`: the parts in any order, preferred in lexicographic order."""

    parts: tuple["RowPattern", ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """`{- p -}`: matched like `p`, but its rows are left out of the output of ALL ROWS."""

    inner: "RowPattern"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class PartitionStart:
    """`^`: before the first row of the partition."""


@dataclass(frozen=True, slots=True)
class PartitionEnd:
    """`$`: after the last row of the partition."""

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Repetition:
    """A quantified pattern: `minimum` to `maximum` times, `None` = without bound."""

    inner: "RowPattern"
    minimum: int
    maximum: int | None
    is_reluctant: bool = False
    span: Span = field(default=NOWHERE, compare=False)


RowPattern = (
    Variable
    | Concatenation
    | Alternation
    | Permutation
    | Exclusion
    | PartitionStart
    | PartitionEnd
    | Repetition
)


def parts_of(pattern: RowPattern) -> tuple[RowPattern, ...]:
    """Return the patterns right below, in the order of the text."""
    match pattern:
        case Concatenation(parts=parts) | Permutation(parts=parts):
            return parts
        case Alternation(alternatives=alternatives):
            return alternatives
        case Exclusion(inner=inner) | Repetition(inner=inner):
            return (inner,)
        case _:
            return ()


def walk(pattern: RowPattern) -> Iterator[RowPattern]:
    """Yield the pattern and everything below it, in the order of the text."""
    yield pattern
    for part in parts_of(pattern):
        yield from walk(part)


# Expressions


class Mode(StrEnum):
    """Which rows of the match an expression sees: up to the current one, or all."""

    RUNNING = "RUNNING"
    FINAL = "FINAL"


class Direction(StrEnum):
    """The four navigations."""

    FIRST = "FIRST"
    LAST = "LAST"
    PREV = "PREV"
    NEXT = "NEXT"


@dataclass(frozen=True, slots=True)
class Navigation:
    """`FIRST(e, n)`, `LAST(e, n)`, `PREV(e, n)`, `NEXT(e, n)`; `e` may be FIRST or LAST in PREV."""

    direction: Direction
    operand: "Scalar"
    offset: int
    mode: Mode | None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """`COUNT(*)`, `COUNT(V.*)`, `SUM(e)`, `COUNT(DISTINCT e)` and so on.

    Without an operand it counts rows: those of the variable `rows_of`, or all of the match.
    """

    function: str
    operand: "Scalar | None"
    rows_of: Name | None
    is_distinct: bool
    mode: Mode | None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Classifier:
    """`CLASSIFIER()` or `CLASSIFIER(V)`."""

    variable: Name | None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class MatchNumber:
    """`MATCH_NUMBER()`."""

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Column:
    """A column, with what stands before it: `price`, `A.price`, `A.payload.price`."""

    path: tuple[Name, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """`ARRAY[e, ...]`."""

    items: tuple["Scalar", ...]
    span: Span = field(default=NOWHERE, compare=False)


Reference = Navigation | Aggregation | Classifier | MatchNumber | Column | ArrayOf
"""What an expression reads from the rows of a match."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """An expression whose references have been taken out.

    In `root` the field with the path `(placeholder(i),)` stands for `references[i]`. `text` is how
    it is written; two that mean the same are equal however they are spaced.
    """

    text: str = field(compare=False)
    root: Node
    references: tuple[Reference, ...]
    span: Span = field(default=NOWHERE, compare=False)


def placeholder(number: int) -> str:
    """Return the name that stands for a reference in the tree of an expression."""
    return f"#{number}"


# The clause


class RowsPerMatch(StrEnum):
    """What is output for a match."""

    ONE_ROW = "ONE ROW PER MATCH"
    SHOW_EMPTY = "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


class SkipTo(StrEnum):
    """Where the search goes on after a match."""

    PAST_LAST_ROW = "PAST LAST ROW"
    NEXT_ROW = "TO NEXT ROW"
    FIRST = "TO FIRST"
    LAST = "TO LAST"


@dataclass(frozen=True, slots=True)
class Skip:
    """`AFTER MATCH SKIP`; `variable` is there with FIRST and LAST only."""

    to: SkipTo = SkipTo.PAST_LAST_ROW
    variable: Name | None = None


@dataclass(frozen=True, slots=True)
class Ordering:
    """One column of ORDER BY."""

    column: Name
    is_descending: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """`expression AS name`."""

    expression: Scalar
    name: Name


@dataclass(frozen=True, slots=True)
class Subset:
    """`name = (variable, ...)`: a union variable."""

    name: Name
    members: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """`variable AS condition`."""

    variable: Name
    condition: Scalar


@dataclass(frozen=True, slots=True)
class Clause:
    """A whole clause. `within_ms` limits the time from the first row of a match; exclusive."""

    text: str = field(compare=False)
    partition_by: tuple[Name, ...]
    order_by: tuple[Ordering, ...]
    measures: tuple[Measure, ...]
    rows_per_match: RowsPerMatch
    skip: Skip
    pattern: RowPattern
    within_ms: int | None
    subsets: tuple[Subset, ...]
    definitions: tuple[Definition, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """`SELECT columns FROM source MATCH_RECOGNIZE (...)`, or the clause alone.

    `columns` are `(column, name in the output)`, `None` for `*`; `source` is `None` without FROM.
    `parameters` are declared beside it, for its expressions.
    """

    columns: tuple[tuple[Name, Name], ...] | None
    source: Name | None
    clause: Clause
    parameters: tuple[Parameter, ...] = ()
