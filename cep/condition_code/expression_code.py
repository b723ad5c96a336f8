"""Conditions over candidates as code for the stack machine.

    rest of a condition ──CodeWriter──► (operation, argument) …, columns, values, aggregates

Source: `cep.expression.evaluation.scalar`, whose meaning the code has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final

from cep.condition_code import opcodes as op
from cep.condition_code.operands import NotCompilable, Operands
from cep.expression import Kind, Node, aggregates_of, columns_of, tree
from cep.expression.evaluation.fold import folded
from cep.expression.temporal import naive_utc
from cep.expression.tree import ComparisonOperator
from cep.expression.values import to_double
from cep.row_pattern.bound import BoundReference, Fold, NumberOfMatch, ValueAt

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
_INSTANTS: Final = frozenset({Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
_NUMBERS: Final = frozenset({Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL})
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - points in time are compared without zone
_LARGEST: Final = 2**63 - 1
_MICROSECOND: Final = timedelta(microseconds=1)
_MOST_OPERATIONS: Final = 10_000
"""A list of values repeats the code of what is looked for in it, and lists may be nested."""

Code = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Fragment:
    """Code that leaves one value; its jumps are relative, so it stands anywhere.

    Of kind `DECIMAL` is a constant only, written as the float it is beside floats.
    """

    code: Code
    kind: Kind

    def as_float(self) -> Code:
        """Return the code of the number as a float."""
        return (*self.code, (op.TO_FLOAT, 0)) if self.kind is Kind.BIGINT else self.code


class CodeWriter:
    """Writes the code of one condition.

    Args:
        reference_of: what an aggregate of the condition stands for.
        operands: where what it reads is numbered.
    """

    def __init__(
        self, reference_of: Callable[[tree.Aggregate], BoundReference], operands: Operands
    ) -> None:
        self._reference_of = reference_of
        self._operands = operands

    def condition(self, node: Node) -> Fragment:
        """Return the code of a truth value.

        Raises:
            NotCompilable: it reads what code cannot.
        """
        return self._condition(folded(node))

    def _condition(self, node: Node) -> Fragment:
        fragment = self._value(node)
        if fragment.kind not in {Kind.BOOLEAN, Kind.NULL}:
            raise NotCompilable("a value as a condition")
        return Fragment(fragment.code, Kind.BOOLEAN)

    def _value(  # noqa: C901, PLR0911, PLR0912 - one line per kind of node
        self, node: Node
    ) -> Fragment:
        if not aggregates_of(node) and not isinstance(node, tree.Literal):
            if not columns_of(node):
                raise NotCompilable("a constant that cannot be computed ahead")
            number, kind = self._operands.column(node)
            return _one(op.COLUMN_FLOAT if kind is Kind.DOUBLE else op.COLUMN_INT, number, kind)
        match node:
            case tree.Literal(value=value):
                return self._constant(value)
            case tree.Aggregate():
                return self._reference(self._reference_of(node))
            case tree.And(operands=operands):
                return _connective(self._conditions(operands), op.AND, op.JUMP_IF_FALSE)
            case tree.Or(operands=operands):
                return _connective(self._conditions(operands), op.OR, op.JUMP_IF_TRUE)
            case tree.Not(operand=operand):
                return _then(self._condition(operand).code, op.NOT)
            case tree.Comparison(operator=operator, left=left, right=right):
                return _compared(operator, self._value(left), self._value(right))
            case tree.IsDistinct(left=left, right=right):
                code, is_float = _pair(self._value(left), self._value(right))
                return _then(code, op.DISTINCT_FLOAT if is_float else op.DISTINCT_INT)
            case tree.IsNull(operand=operand):
                return _then(self._value(operand).code, op.IS_NULL)
            case tree.IsTruth(operand=operand, value=wanted):
                return _then(self._condition(operand).code, op.IS_TRUTH, int(wanted))
            case tree.In(operand=operand, items=items):
                return _in(self._value(operand), [self._value(item) for item in items])
            case tree.Case(branches=branches, default=default):
                conditions = [self._condition(condition) for condition, _ in branches]
                values = [self._value(value) for _, value in branches]
                return _case(conditions, values, self._value(default))
            case tree.Coalesce(operands=operands):
                return _coalesce([self._value(operand) for operand in operands])
            case tree.Call(function="NEGATE", arguments=(operand,)):
                return _negated(self._value(operand))
            case tree.Call(function="ABS", arguments=(operand,)):
                return _absolute(self._value(operand))
            case tree.Call(function="GREATEST", arguments=(left, right)):
                return self._value(_better(ComparisonOperator.GREATER_OR_EQUAL, left, right))
            case tree.Call(function="LEAST", arguments=(left, right)):
                return self._value(_better(ComparisonOperator.LESS_OR_EQUAL, left, right))
            case tree.Call(function=function, arguments=(left, right)):
                return _computed(function, self._value(left), self._value(right))
            case tree.Call(function=function) | tree.HigherOrderCall(function=function):
                raise NotCompilable(f"{function} of values of earlier events")
            case _:
                raise NotCompilable(f"{type(node).__name__.upper()} of an earlier event")

    def _conditions(self, nodes: tuple[Node, ...]) -> list[Fragment]:
        return [self._condition(node) for node in nodes]

    def _constant(self, value: object) -> Fragment:  # noqa: PLR0911 - one line per type
        operands = self._operands
        match value:
            case None:
                return _one(op.PUSH_NULL, 0, Kind.NULL)
            case bool():
                return _one(op.PUSH_INT, operands.int_constant(int(value)), Kind.BOOLEAN)
            case int() if abs(value) <= _LARGEST:
                return _one(op.PUSH_INT, operands.int_constant(value), Kind.BIGINT)
            case float():
                return _one(op.PUSH_FLOAT, operands.float_constant(value), Kind.DOUBLE)
            case Decimal():
                number = operands.float_constant(to_double(value))
                return _one(op.PUSH_FLOAT, number, Kind.DECIMAL)
            case timedelta():
                number = operands.int_constant(value // _MICROSECOND)
                return _one(op.PUSH_INT, number, Kind.INTERVAL)
            case datetime():
                number = operands.int_constant((naive_utc(value) - _EPOCH) // _MICROSECOND)
                kind = Kind.TIMESTAMP_NTZ if value.tzinfo is None else Kind.TIMESTAMP
                return _one(op.PUSH_INT, number, kind)
            case date():
                number = operands.int_constant((value - _EPOCH.date()).days)
                return _one(op.PUSH_INT, number, Kind.DATE)
            case str():
                return _one(op.PUSH_INT, operands.text_constant(value), Kind.STRING)
            case _:
                raise NotCompilable(f"a constant of type {type(value).__name__}")

    def _reference(self, reference: BoundReference) -> Fragment:
        match reference:
            case ValueAt():
                number, kind = self._operands.value(reference)
                return _one(op.VALUE_FLOAT if kind is Kind.DOUBLE else op.VALUE_INT, number, kind)
            case Fold():
                number, kind = self._operands.fold(reference)
                return _one(op.FOLD, number, kind)
            case NumberOfMatch():
                return _one(op.MATCH_NUMBER, 0, Kind.BIGINT)
            case _:
                raise NotCompilable("an array of the values of a step")


def _one(operation: int, argument: int, kind: Kind) -> Fragment:
    return Fragment(((operation, argument),), kind)


def _then(code: Code, operation: int, argument: int = 0, kind: Kind = Kind.BOOLEAN) -> Fragment:
    return Fragment((*code, (operation, argument)), kind)


def _pair(left: Fragment, right: Fragment) -> tuple[Code, bool]:
    """Return the code of two operands in one common form, and whether that is of floats."""
    kinds = {left.kind, right.kind} - {Kind.NULL}
    is_float = Kind.DOUBLE in kinds
    if is_float and kinds <= _NUMBERS:
        return left.as_float() + right.as_float(), True
    if len(kinds) > 1 or Kind.DECIMAL in kinds:
        raise NotCompilable("a comparison of values of two types")
    return left.code + right.code, is_float


def _compared(operator: ComparisonOperator, left: Fragment, right: Fragment) -> Fragment:
    code, is_float = _pair(left, right)
    return _then(code, op.COMPARE_FLOAT if is_float else op.COMPARE_INT, _RELATIONS[operator])


def _in(operand: Fragment, items: Sequence[Fragment]) -> Fragment:
    if len(operand.code) * len(items) > _MOST_OPERATIONS:
        raise NotCompilable("a long IN list of values that are computed")
    tests = [_compared(ComparisonOperator.EQUAL, operand, item) for item in items]
    return _connective(tests, op.OR, op.JUMP_IF_TRUE)


def _better(operator: ComparisonOperator, left: Node, right: Node) -> Node:
    """Return the choice between two values, of which one may be NULL."""
    is_left = tree.Or((tree.IsNull(right), tree.Comparison(operator, left, right)))
    return tree.Case(((is_left, left),), right)


def _connective(operands: Sequence[Fragment], join: int, leave: int) -> Fragment:
    """Join truth values; `leave` jumps behind all of them once one decides."""
    size = sum(len(operand.code) + 2 for operand in operands) - 2
    code = [*operands[0].code]
    for operand in operands[1:]:
        code.append((leave, size - len(code) - 1))
        code.extend(operand.code)
        code.append((join, 0))
    return Fragment(tuple(code), Kind.BOOLEAN)


def _negated(operand: Fragment) -> Fragment:
    if operand.kind not in {Kind.BIGINT, Kind.DOUBLE}:
        raise NotCompilable(f"the negative of a {operand.kind}")
    operation = op.NEGATE_FLOAT if operand.kind is Kind.DOUBLE else op.NEGATE_INT
    return _then(operand.code, operation, kind=operand.kind)


def _absolute(operand: Fragment) -> Fragment:
    if operand.kind not in {Kind.BIGINT, Kind.DOUBLE}:
        raise NotCompilable(f"ABS of a {operand.kind}")
    operation = op.ABSOLUTE_FLOAT if operand.kind is Kind.DOUBLE else op.ABSOLUTE_INT
    return _then(operand.code, operation, kind=operand.kind)


def _computed(function: str, left: Fragment, right: Fragment) -> Fragment:
    if function == "/":
        return _quotient(left, right)
    codes = _ARITHMETIC.get(function)
    if codes is None:
        raise NotCompilable(f"{function} of values of earlier events")
    kinds = {left.kind, right.kind} - {Kind.NULL}
    is_span = function == "-" and len(kinds) == 1 and kinds <= _INSTANTS
    if not (kinds <= _NUMBERS or is_span):
        raise NotCompilable(f"{function} of values of earlier events")
    code, is_float = _pair(left, right)
    operation = codes[is_float]
    if operation is None:
        raise NotCompilable(f"{function} of values of earlier events")
    kind = Kind.DOUBLE if is_float else Kind.INTERVAL if is_span else Kind.BIGINT
    return _then(code, operation, kind=kind)


def _quotient(left: Fragment, right: Fragment) -> Fragment:
    kinds = {left.kind, right.kind} - {Kind.NULL}
    if not kinds <= _NUMBERS or (Kind.DECIMAL in kinds and Kind.DOUBLE not in kinds):
        raise NotCompilable("a quotient of DECIMAL values")
    return _then(left.as_float() + right.as_float(), op.QUOTIENT, kind=Kind.DOUBLE)


def _common(values: Sequence[Fragment]) -> Kind:
    known = {value.kind for value in values} - {Kind.NULL}
    if len(known) != 1 or Kind.DECIMAL in known:
        raise NotCompilable("a CASE or COALESCE of values of several types")
    (kind,) = known
    return kind


def _case(
    conditions: Sequence[Fragment], values: Sequence[Fragment], default: Fragment
) -> Fragment:
    kind = _common((*values, default))
    branches = list(zip(conditions, values, strict=True))
    size = sum(len(test.code) + len(value.code) + 2 for test, value in branches)
    size += len(default.code)
    code: list[tuple[int, int]] = []
    for test, value in branches:
        code += [*test.code, (op.JUMP_UNLESS_TRUE, len(value.code) + 1), *value.code]
        code.append((op.JUMP, size - len(code) - 1))
    return Fragment((*code, *default.code), kind)


def _coalesce(operands: Sequence[Fragment]) -> Fragment:
    kind = _common(operands)
    size = sum(len(operand.code) + 1 for operand in operands) - 1
    code: list[tuple[int, int]] = []
    for operand in operands[:-1]:
        code += operand.code
        code.append((op.JUMP_UNLESS_NULL, size - len(code) - 1))
    return Fragment((*code, *operands[-1].code), kind)
