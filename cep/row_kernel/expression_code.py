"""Conditions over candidates as code for the stack machine.

    residual of a condition ──CodeWriter──► (operation, argument) …, columns, values, aggregates

Whatever reads the row under test alone, or another row alone, is a column, worked out by polars
before the search; code is only what puts them together.

Source: `cep.expression.evaluation.scalar`, whose meaning the code has.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Final, TypeVar

from cep.expression import Kind, Node, Schema, aggregates_of, tree
from cep.expression.checking.inference import type_of
from cep.expression.tree import ComparisonOperator
from cep.expression.values import to_double
from cep.row_kernel import opcodes as op
from cep.row_pattern.bound import (
    BoundReference,
    Fold,
    NumberOfMatch,
    RowExpression,
    RowOfMatch,
    ValueAt,
)
from cep.row_search.row_values import slot_of_reference

_RELATIONS: Final = {
    ComparisonOperator.EQUAL: op.EQUAL,
    ComparisonOperator.NOT_EQUAL: op.NOT_EQUAL,
    ComparisonOperator.LESS: op.LESS,
    ComparisonOperator.LESS_OR_EQUAL: op.LESS_OR_EQUAL,
    ComparisonOperator.GREATER: op.GREATER,
    ComparisonOperator.GREATER_OR_EQUAL: op.GREATER_OR_EQUAL,
}
_ARITHMETIC: Final = {
    "+": (op.ADD_INT, op.ADD_FLOAT),
    "-": (op.SUBTRACT_INT, op.SUBTRACT_FLOAT),
    "*": (op.MULTIPLY_INT, op.MULTIPLY_FLOAT),
    "ISO_DIVIDE": (op.DIVIDE_INT, op.DIVIDE_FLOAT),
    "ISO_MODULO": (op.MODULO_INT, None),
}
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
_INSTANTS: Final = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
_NUMBERS: Final = frozenset({Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL})
_LARGEST: Final = 2**63 - 1
_MICROSECOND: Final = timedelta(microseconds=1)

Item = TypeVar("Item")


class NotCompilable(Exception):
    """A clause has something that only the interpreting search knows."""


@dataclass(frozen=True, slots=True)
class KernelColumn:
    """A value per row of the frame, worked out by polars; of NULL nothing but NULL."""

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
    """What the code of a clause reads, each once, by number.

    Columns are numbered apart for integers and floats. `texts` are the constants that are texts,
    by their place in `ints`, where their rank will stand.
    """

    schema: Schema
    int_columns: list[KernelColumn] = field(default_factory=list)
    float_columns: list[KernelColumn] = field(default_factory=list)
    values: list[KernelValue] = field(default_factory=list)
    items: list[RowOfMatch] = field(default_factory=list)
    folds: list[KernelFold] = field(default_factory=list)
    ints: list[int] = field(default_factory=list)
    floats: list[float] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)

    def column(self, node: Node) -> tuple[int, Kind]:
        """Return the number of a column, among those of its sort, and its kind."""
        kind = type_of(node, self.schema).kind
        if kind not in _KINDS:
            raise NotCompilable(kind)
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

    def fold(self, reference: Fold) -> tuple[int, Kind]:
        """Return the number of an aggregate, and the kind of its value."""
        if reference.is_distinct:
            raise NotCompilable("DISTINCT")
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
                    raise NotCompilable(reference.function)
                function = found
                kind = Kind.DOUBLE if function in op.FLOAT_RESULTS else Kind.BIGINT
        return _number(self.folds, KernelFold(function, reference.variables, column)), kind


def _number(known: list[Item], wanted: Item) -> int:
    if wanted not in known:
        known.append(wanted)
    return known.index(wanted)


def _plain(value: RowExpression) -> Node:
    if aggregates_of(value.node):
        raise NotCompilable("CLASSIFIER() or MATCH_NUMBER() of another row")
    return value.node


class CodeWriter:
    """Writes the code of one condition.

    Args:
        references: what the placeholders of the condition stand for.
        operands: where what it reads is numbered.

    Raises:
        NotCompilable: it reads what code cannot.
    """

    def __init__(self, references: tuple[BoundReference, ...], operands: Operands) -> None:
        self.code: list[tuple[int, int]] = []
        self._references = references
        self._operands = operands

    def write(self, node: Node) -> Kind:  # noqa: C901, PLR0911, PLR0912 - one line per kind of node
        """Write code that leaves the value of a node; return its kind."""
        if not aggregates_of(node) and not isinstance(node, tree.Literal):
            return self._column(node)
        match node:
            case tree.Literal(value=value):
                return self._constant(value)
            case tree.Aggregate():
                return self._reference(self._references[slot_of_reference(node)])
            case tree.And(operands=operands):
                return self._connective(operands, op.AND, op.JUMP_IF_FALSE)
            case tree.Or(operands=operands):
                return self._connective(operands, op.OR, op.JUMP_IF_TRUE)
            case tree.Not(operand=operand):
                self._condition(operand)
                return self._add(op.NOT)
            case tree.Comparison(operator=operator, left=left, right=right):
                is_float = self._pair(left, right)
                code = op.COMPARE_FLOAT if is_float else op.COMPARE_INT
                return self._add(code, _RELATIONS[operator])
            case tree.IsDistinct(left=left, right=right):
                is_float = self._pair(left, right)
                return self._add(op.DISTINCT_FLOAT if is_float else op.DISTINCT_INT)
            case tree.IsNull(operand=operand):
                self.write(operand)
                return self._add(op.IS_NULL)
            case tree.IsTruth(operand=operand, value=wanted):
                self._condition(operand)
                return self._add(op.IS_TRUTH, int(wanted))
            case tree.In(operand=operand, items=items):
                equal = ComparisonOperator.EQUAL
                tests = tuple(tree.Comparison(equal, operand, item) for item in items)
                return self.write(tests[0] if len(tests) == 1 else tree.Or(tests))
            case tree.Case(branches=branches, default=default):
                return self._case(branches, default)
            case tree.Coalesce(operands=operands):
                return self._coalesce(operands)
            case tree.Call(function=function, arguments=arguments):
                return self._call(function, arguments)
            case _:
                raise NotCompilable(type(node).__name__)

    def _add(self, operation: int, argument: int = 0, kind: Kind = Kind.BOOLEAN) -> Kind:
        self.code.append((operation, argument))
        return kind

    def _column(self, node: Node) -> Kind:
        number, kind = self._operands.column(node)
        return self._add(op.COLUMN_FLOAT if kind is Kind.DOUBLE else op.COLUMN_INT, number, kind)

    def _constant(self, value: object) -> Kind:
        ints, floats = self._operands.ints, self._operands.floats
        match value:
            case None:
                return self._add(op.PUSH_NULL, kind=Kind.NULL)
            case bool():
                return self._add(op.PUSH_INT, _appended(ints, int(value)))
            case int() if abs(value) <= _LARGEST:
                return self._add(op.PUSH_INT, _appended(ints, value), Kind.BIGINT)
            case float():
                return self._add(op.PUSH_FLOAT, _appended(floats, value), Kind.DOUBLE)
            case timedelta():
                microseconds = value // _MICROSECOND
                return self._add(op.PUSH_INT, _appended(ints, microseconds), Kind.INTERVAL)
            case str():
                place = _appended(ints, 0)
                self._operands.texts[place] = value
                return self._add(op.PUSH_INT, place, Kind.STRING)
            case _:
                raise NotCompilable(type(value).__name__)

    def _reference(self, reference: BoundReference) -> Kind:
        match reference:
            case ValueAt():
                number, kind = self._operands.value(reference)
                code = op.VALUE_FLOAT if kind is Kind.DOUBLE else op.VALUE_INT
                return self._add(code, number, kind)
            case Fold():
                number, kind = self._operands.fold(reference)
                return self._add(op.FOLD, number, kind)
            case NumberOfMatch():
                return self._add(op.MATCH_NUMBER, kind=Kind.BIGINT)
            case _:
                raise NotCompilable("an array")

    def _condition(self, node: Node) -> None:
        if self.write(node) not in {Kind.BOOLEAN, Kind.NULL}:
            raise NotCompilable("a value as a condition")

    def _connective(self, operands: tuple[Node, ...], code: int, leaves: int) -> Kind:
        jumps = []
        self._condition(operands[0])
        for operand in operands[1:]:
            jumps.append(len(self.code))
            self._add(leaves)
            self._condition(operand)
            self._add(code)
        self._land(jumps)
        return Kind.BOOLEAN

    def _land(self, jumps: Iterable[int]) -> None:
        """Let jumps lead to the next operation."""
        for place in jumps:
            self.code[place] = (self.code[place][0], len(self.code))

    def _pair(self, left: Node, right: Node) -> bool:
        """Write two operands in one common form; return whether that is of floats."""
        known = {self._trial(left), self._trial(right)} - {Kind.NULL}
        is_float = Kind.DOUBLE in known
        if len(known) > 1 and not (is_float and known <= _NUMBERS):
            raise NotCompilable("values of two types")
        self._number(left, is_float=is_float)
        self._number(right, is_float=is_float)
        return is_float

    def _trial(self, node: Node) -> Kind:
        """Return the kind of a node; a decimal constant counts as a float beside one."""
        if isinstance(node, tree.Literal) and isinstance(node.value, Decimal):
            return Kind.DECIMAL
        writer = CodeWriter(self._references, self._operands)
        return writer.write(node)

    def _number(self, node: Node, *, is_float: bool) -> None:
        if is_float and isinstance(node, tree.Literal) and isinstance(node.value, Decimal):
            self._constant(to_double(node.value))
        elif self.write(node) is Kind.BIGINT and is_float:
            self._add(op.TO_FLOAT)

    def _call(self, function: str, arguments: tuple[Node, ...]) -> Kind:
        if function == "NEGATE":
            kind = self.write(arguments[0])
            if kind not in {Kind.BIGINT, Kind.DOUBLE}:
                raise NotCompilable(function)
            return self._add(op.NEGATE_FLOAT if kind is Kind.DOUBLE else op.NEGATE_INT, kind=kind)
        codes = _ARITHMETIC.get(function)
        if codes is None:
            raise NotCompilable(function)
        kinds = {self._trial(argument) for argument in arguments} - {Kind.NULL}
        is_span = function == "-" and len(kinds) == 1 and kinds <= _INSTANTS
        if not (kinds <= _NUMBERS or is_span):
            raise NotCompilable(function)
        left, right = arguments
        is_float = self._pair(left, right)
        result = Kind.DOUBLE if is_float else Kind.INTERVAL if is_span else Kind.BIGINT
        code = codes[is_float]
        if code is None:
            raise NotCompilable(function)
        return self._add(code, kind=result)

    def _common(self, values: tuple[Node, ...]) -> Kind:
        known = {self._trial(value) for value in values} - {Kind.NULL}
        if len(known) != 1 or Kind.DECIMAL in known:
            raise NotCompilable("values of several types")
        (kind,) = known
        return kind

    def _case(self, branches: tuple[tuple[Node, Node], ...], default: Node) -> Kind:
        kind = self._common((*(value for _, value in branches), default))
        ends = []
        for condition, value in branches:
            self._condition(condition)
            jump = len(self.code)
            self._add(op.JUMP_UNLESS_TRUE)
            self.write(value)
            ends.append(len(self.code))
            self._add(op.JUMP)
            self._land([jump])
        self.write(default)
        self._land(ends)
        return kind

    def _coalesce(self, operands: tuple[Node, ...]) -> Kind:
        kind = self._common(operands)
        ends = []
        for operand in operands[:-1]:
            self.write(operand)
            ends.append(len(self.code))
            self._add(op.JUMP_UNLESS_NULL)
        self.write(operands[-1])
        self._land(ends)
        return kind


def _appended(items: list[Item], item: Item) -> int:
    items.append(item)
    return len(items) - 1
