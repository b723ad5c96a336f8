"""The frozen tree of an expression: what the parser makes and every later step reads.

A closed union, `Node`. Syntactic sugar is removed: `BETWEEN`, `NULLIF`, `IFNULL`, `IS NOT NULL`,
the short form of `CASE` and chains of `AND` and `OR` are written with fewer nodes. Every node keeps
its span, the place in the source text, for errors; the span is not part of equality.
"""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from cep.expression.lists import ValueList
from cep.expression.types import UNKNOWN, DataType

Span = tuple[int, int]
NOWHERE: Span = (0, 0)

Constant = bool | int | float | Decimal | str | datetime | date | timedelta | None


class ComparisonOperator(StrEnum):
    """The comparisons that give unknown when a side is NULL."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="

    @property
    def negated(self) -> "ComparisonOperator":
        """The operator that is true exactly where this one is false."""
        return _NEGATED[self]

    @property
    def mirrored(self) -> "ComparisonOperator":
        """The operator for exchanged sides."""
        return _MIRRORED.get(self, self)


PYTHON_COMPARE: Final[Mapping[ComparisonOperator, Callable[[Any, Any], Any]]] = {
    ComparisonOperator.EQUAL: operator.eq,
    ComparisonOperator.NOT_EQUAL: operator.ne,
    ComparisonOperator.LESS: operator.lt,
    ComparisonOperator.LESS_OR_EQUAL: operator.le,
    ComparisonOperator.GREATER: operator.gt,
    ComparisonOperator.GREATER_OR_EQUAL: operator.ge,
}
"""As Python compares, also columns of Polars; as SQL does, see `cep.expression.values.COMPARE`."""
_NEGATED = {
    ComparisonOperator.EQUAL: ComparisonOperator.NOT_EQUAL,
    ComparisonOperator.NOT_EQUAL: ComparisonOperator.EQUAL,
    ComparisonOperator.LESS: ComparisonOperator.GREATER_OR_EQUAL,
    ComparisonOperator.LESS_OR_EQUAL: ComparisonOperator.GREATER,
    ComparisonOperator.GREATER: ComparisonOperator.LESS_OR_EQUAL,
    ComparisonOperator.GREATER_OR_EQUAL: ComparisonOperator.LESS,
}
_MIRRORED = {
    ComparisonOperator.LESS: ComparisonOperator.GREATER,
    ComparisonOperator.LESS_OR_EQUAL: ComparisonOperator.GREATER_OR_EQUAL,
    ComparisonOperator.GREATER: ComparisonOperator.LESS,
    ComparisonOperator.GREATER_OR_EQUAL: ComparisonOperator.LESS_OR_EQUAL,
}


class HigherOrderFunction(StrEnum):
    """The functions that apply a lambda, `x -> body`, to each element of an array."""

    EXISTS = "EXISTS"
    FORALL = "FORALL"
    FILTER = "FILTER"
    TRANSFORM = "TRANSFORM"


class AggregateFunction(StrEnum):
    """The functions over the events a partial match has accepted for a step."""

    SUM = "SUM"
    COUNT = "COUNT"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    FIRST = "FIRST"
    LAST = "LAST"


class WindowFunction(StrEnum):
    """The functions over the events of a frame."""

    COUNT = "COUNT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    STDDEV_SAMP = "STDDEV_SAMP"
    STDDEV_POP = "STDDEV_POP"
    PERCENTILE_DISC = "PERCENTILE_DISC"
    PERCENTILE_CONT = "PERCENTILE_CONT"


class FrameUnit(StrEnum):
    """What a frame is measured in: time, rows, or rows that pass its filter."""

    RANGE = "RANGE"
    ROWS = "ROWS"
    FILTERED_ROWS = "FILTERED ROWS"


class Exclusion(StrEnum):
    """What is left out of a frame; peers are events of equal time."""

    NOTHING = "NO OTHERS"
    CURRENT_ROW = "CURRENT ROW"
    GROUP = "GROUP"
    TIES = "TIES"


@dataclass(frozen=True, slots=True)
class Frame:
    """Which events of a partition a window takes, as seen from the event under test.

    `begin` and `end` count back from there, milliseconds in a RANGE, else rows. A `begin` of `None`
    is the first event there ever was; an `end` of `None` is the event itself, which takes its later
    peers along only if `has_peers`. An exclusive bound is out itself.
    """

    unit: FrameUnit
    begin: int | None
    end: int | None = None
    is_begin_exclusive: bool = False
    is_end_exclusive: bool = False
    has_peers: bool = False
    exclusion: Exclusion = Exclusion.NOTHING


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant. `2.5` is a DECIMAL as in Spark, `2.5e0` a DOUBLE.

    Two are equal only if their types are: to Python `1`, `1.0` and `True` are the same.
    """

    value: Constant
    span: Span = NOWHERE

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Field:
    """A column of the event, or a field inside it: `path` is its names from the outside in."""

    path: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A value over the accepted events of `step`; `operand` reads those, `None` stands for `*`."""

    function: AggregateFunction
    step: str
    operand: "Node | None"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Window:
    """A value over the events of a frame: `function(operands) FILTER (WHERE ...) OVER (...)`.

    Without operands it is `COUNT(*)`. `share` is that of a percentile, from 0 to 1. `rule` is there
    once it is bound: windows of different rules may count from different times on.
    """

    function: WindowFunction
    operands: tuple["Node", ...]
    frame: Frame
    partition_by: tuple["Node", ...] = ()
    condition: "Node | None" = None
    is_distinct: bool = False
    share: Decimal | None = None
    rule: str = ""
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class And:
    """True when all of two or more operands are."""

    operands: tuple["Node", ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Or:
    """True when any of two or more operands is."""

    operands: tuple["Node", ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """Three-valued negation."""

    operand: "Node"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left operator right`, unknown when either side is NULL."""

    operator: ComparisonOperator
    left: "Node"
    right: "Node"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class IsDistinct:
    """`left IS DISTINCT FROM right`: compares NULL as a value, so it is never unknown."""

    left: "Node"
    right: "Node"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class IsNull:
    """`operand IS NULL`."""

    operand: "Node"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class IsTruth:
    """`operand IS TRUE` or `operand IS FALSE`."""

    operand: "Node"
    value: bool
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class In:
    """`operand IN (items)`."""

    operand: "Node"
    items: tuple["Node", ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class InList:
    """`operand IN LIST('name')`: among the values of a list of the stream.

    `values` is there once the tree has been resolved with the schema of that stream.
    """

    operand: "Node"
    name: str
    values: ValueList | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Like:
    """`operand LIKE pattern ESCAPE escape`; without ESCAPE, `escape` is empty."""

    operand: "Node"
    pattern: str
    escape: str = ""
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class RegexLike:
    """`operand RLIKE pattern`: the pattern is found anywhere in the text."""

    operand: "Node"
    pattern: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Case:
    """`CASE WHEN condition THEN value ... ELSE default END`."""

    branches: tuple[tuple["Node", "Node"], ...]
    default: "Node"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first operand that is not NULL."""

    operands: tuple["Node", ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Cast:
    """`CAST(operand AS data_type)`; NULL where the value does not fit."""

    operand: "Node"
    data_type: DataType
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function or arithmetic operator of the table in `functions`, NULL when any argument is."""

    function: str
    arguments: tuple["Node", ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class HigherOrderCall:
    """`function(array, variable -> body)`: the body is evaluated for each element of the array.

    Within the body, and nowhere else, `Variable(variable)` stands for the element. No lambda within
    the body has a variable of the same name.
    """

    function: HigherOrderFunction
    array: "Node"
    variable: str
    body: "Node"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """The variable of a lambda; `data_type` is that of the elements, once the tree is resolved."""

    name: str
    data_type: DataType = UNKNOWN
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Member:
    """A field of a struct that is computed: `items[0].price`; of a column it is a `Field`."""

    operand: "Node"
    name: str
    span: Span = field(default=NOWHERE, compare=False)


Node = (
    Literal
    | Field
    | Aggregate
    | Window
    | And
    | Or
    | Not
    | Comparison
    | IsDistinct
    | IsNull
    | IsTruth
    | In
    | InList
    | Like
    | RegexLike
    | Case
    | Coalesce
    | Cast
    | Call
    | HigherOrderCall
    | Variable
    | Member
)


def children(node: Node) -> tuple[Node, ...]:  # noqa: PLR0911 - one line per kind of node
    """Return the nodes right below, in the order of the text; an aggregate has none.

    Its operand reads other events, so a walk over the fields of *this* event does not enter it.
    """
    match node:
        case Literal() | Field() | Aggregate() | Variable():
            return ()
        case HigherOrderCall(array=array, body=body):
            return (array, body)
        case And(operands=operands) | Or(operands=operands) | Coalesce(operands=operands):
            return operands
        case Comparison(left=left, right=right) | IsDistinct(left=left, right=right):
            return (left, right)
        case In(operand=operand, items=items):
            return (operand, *items)
        case Case(branches=branches, default=default):
            return (*(part for branch in branches for part in branch), default)
        case Window(operands=operands, partition_by=partition_by, condition=condition):
            return (*operands, *partition_by, *(() if condition is None else (condition,)))
        case Call(arguments=arguments):
            return arguments
        case (
            Not(operand=operand)
            | IsNull(operand=operand)
            | IsTruth(operand=operand)
            | InList(operand=operand)
            | Like(operand=operand)
            | RegexLike(operand=operand)
            | Cast(operand=operand)
            | Member(operand=operand)
        ):
            return (operand,)


def walk(node: Node) -> Iterator[Node]:
    """Yield the node and everything below it, parents first, but no operands of aggregates."""
    yield node
    for child in children(node):
        yield from walk(child)


def aggregates_of(node: Node) -> tuple[Aggregate, ...]:
    """Return the distinct aggregates below the node, in the order they are met."""
    return tuple(dict.fromkeys(found for found in walk(node) if isinstance(found, Aggregate)))


def windows_of(node: Node) -> tuple[Window, ...]:
    """Return the distinct windows below the node, in the order they are met."""
    return tuple(dict.fromkeys(found for found in walk(node) if isinstance(found, Window)))


def lists_in(node: Node) -> Iterator[InList]:
    """Yield the tests whether something is in a list; within aggregates there are none."""
    return (found for found in walk(node) if isinstance(found, InList))


def variables_of(node: Node) -> set[str]:
    """Return the names of the variables of lambdas around a node that it reads."""
    if isinstance(node, Variable):
        return {node.name}
    found = set[str]().union(*map(variables_of, children(node)))
    return found - {node.variable} if isinstance(node, HigherOrderCall) else found


def conjuncts(node: Node) -> Iterator[Node]:
    """Yield what must all hold for a condition to hold: its operands, and theirs, joined by AND."""
    if isinstance(node, And):
        for operand in node.operands:
            yield from conjuncts(operand)
    else:
        yield node


def columns_of(node: Node) -> set[str]:
    """Return the names of the top-level columns the node reads from the event under test."""
    return {found.path[0] for found in walk(node) if isinstance(found, Field)}
