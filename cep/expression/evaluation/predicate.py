"""Conditions as fast as closures get: true or not, with unknown counted as not.

Where only TRUE matters, NOT needs no third value: `NOT (a AND b)` is true where a or b is *false*,
so every condition is compiled for the truth value that is asked of it. A column compared with a
constant is the usual case and has closures of its own; everything else goes through `scalar`.
"""

import operator as operators
from collections.abc import Callable
from decimal import Decimal

from cep.expression import tree
from cep.expression.evaluation.fold import folded
from cep.expression.evaluation.scalar import (
    AggregateValues,
    Evaluator,
    ScalarCompiler,
    SlotOf,
    mismatch,
    no_slots,
)
from cep.expression.fields import Event, FieldReader, mapping_reader
from cep.expression.tree import ComparisonOperator, Constant, Node
from cep.expression.values import COMPARE, Mismatch, Value

Predicate = Callable[[Event, AggregateValues], bool]

_EXACT_DOUBLE = 2**53


def compile_scalar(
    node: Node, field_reader: FieldReader = mapping_reader, slot_of: SlotOf = no_slots
) -> Evaluator:
    """Return the closure `(event, aggregate_values) -> value` of a resolved tree; `None` is NULL.

    It raises `EvaluationError` where values of types that do not go together meet. `slot_of` is the
    place of an aggregate's value in `aggregate_values`.
    """
    return ScalarCompiler(field_reader, slot_of).value(folded(node))


def compile_predicate(
    node: Node, field_reader: FieldReader = mapping_reader, slot_of: SlotOf = no_slots
) -> Predicate:
    """Return the closure `(event, aggregate_values) -> bool`, True only where the condition is.

    It raises `EvaluationError` where values of types that do not go together meet, or where the
    condition turns out to be no truth value. For the rest see `compile_scalar`.
    """
    return _PredicateCompiler(field_reader, slot_of).truth(folded(node), wanted=True)


class _PredicateCompiler(ScalarCompiler):
    """Adds to values the tests whether a condition is TRUE, or FALSE."""

    def truth(self, node: Node, *, wanted: bool) -> Predicate:  # noqa: PLR0911 - one line per node
        """Return the closure that tells whether the condition is exactly `wanted`, not unknown."""
        match node:
            case tree.Not(operand=operand):
                return self.truth(operand, wanted=not wanted)
            case tree.And(operands=operands) | tree.Or(operands=operands):
                tests = [self.truth(operand, wanted=wanted) for operand in operands]
                return _every(tests) if isinstance(node, tree.And) == wanted else _some(tests)
            case tree.Comparison(operator=operator, left=left, right=right):
                operator = operator if wanted else operator.negated
                if isinstance(left, tree.Literal):
                    left, right, operator = right, left, operator.mirrored
                if isinstance(left, tree.Field) and isinstance(right, tree.Literal):
                    return self._column_test(node, operator, left, right)
                return self._comparison(node, operator, left, right)
            case tree.IsNull(operand=tree.Field(path=path)):
                read = self.field_reader(path)
                return lambda event, _aggregates: (read(event) is None) is wanted
            case tree.IsTruth(operand=operand, value=value):
                is_so = self.truth(operand, wanted=value)
                return is_so if wanted else lambda event, values: not is_so(event, values)
            case tree.In(operand=tree.Field(path=path), items=items) if _are_texts(items):
                return self._among_texts(node, path, items, wanted=wanted)
            case _:
                condition = self.condition(node)
                return lambda event, aggregates: condition(event, aggregates) is wanted

    def _comparison(
        self, node: Node, operator: ComparisonOperator, left: Node, right: Node
    ) -> Predicate:
        first, second, compare = self.value(left), self.value(right), COMPARE[operator]

        def is_true(event: Event, aggregates: AggregateValues) -> bool:
            one = first(event, aggregates)
            if one is None:
                return False
            other = second(event, aggregates)
            if other is None:
                return False
            try:
                return compare(one, other) is True
            except Mismatch:
                raise mismatch(node, (left, right), (one, other)) from None

        return is_true

    def _column_test(
        self, node: Node, operator: ComparisonOperator, column: tree.Field, literal: tree.Literal
    ) -> Predicate:
        constant = literal.value
        if constant is None:
            return lambda _event, _aggregates: False
        compare = COMPARE[operator]

        def general(value: Value) -> bool:
            if value is None:
                return False
            try:
                return compare(value, constant) is True
            except Mismatch:
                raise mismatch(node, (column, literal), (value, constant)) from None

        plain, types = _plain(constant)
        is_key = self.field_reader is mapping_reader and len(column.path) == 1
        key = column.path[0] if is_key else None
        return _column_test(self.field_reader(column.path), key, operator, plain, types, general)

    def _among_texts(
        self, node: Node, path: tuple[str, ...], items: tuple[Node, ...], *, wanted: bool
    ) -> Predicate:
        read = self.field_reader(path)
        texts = frozenset(item.value for item in items if isinstance(item, tree.Literal))
        condition = self.condition(node)

        def is_true(event: Event, aggregates: AggregateValues) -> bool:
            value = read(event)
            if type(value) is str:
                return (value in texts) is wanted
            return condition(event, aggregates) is wanted

        return is_true


def _every(tests: list[Predicate]) -> Predicate:
    if len(tests) == 2:  # noqa: PLR2004 - by far the most frequent, and twice as fast as the loop
        first, second = tests
        return lambda event, aggregates: first(event, aggregates) and second(event, aggregates)

    def is_true(event: Event, aggregates: AggregateValues) -> bool:
        for inner in tests:  # noqa: SIM110 - all() needs a generator, which costs more than the tests
            if not inner(event, aggregates):
                return False
        return True

    return is_true


def _some(tests: list[Predicate]) -> Predicate:
    if len(tests) == 2:  # noqa: PLR2004 - see `_every`
        first, second = tests
        return lambda event, aggregates: first(event, aggregates) or second(event, aggregates)

    def is_true(event: Event, aggregates: AggregateValues) -> bool:
        for inner in tests:  # noqa: SIM110 - see `_every`
            if inner(event, aggregates):
                return True
        return False

    return is_true


def _are_texts(items: tuple[Node, ...]) -> bool:
    return all(isinstance(item, tree.Literal) and isinstance(item.value, str) for item in items)


def _plain(constant: Constant) -> tuple[Value, frozenset[type]]:
    """Return a constant for Python's own comparison, and the types for which that is the right one.

    A number that is a double exactly compares with integers and doubles at once.
    """
    match constant:
        case str():
            return constant, frozenset({str})
        case bool():
            return constant, frozenset({bool})
        case int() if abs(constant) <= _EXACT_DOUBLE:
            return constant, frozenset({int, float})
        case float() if constant == constant:  # noqa: PLR0124 - only NaN differs from itself
            return constant, frozenset({float})
        case Decimal():
            double = float(constant)
            return double, frozenset({int, float} if double == constant else {float})
        case _:
            return constant, frozenset()


# Python's operator, and its result where SQL's is true. NaN, which is less than nothing in Python
# and greater than every constant in SQL, comes out right: "greater" is "not less or equal".
_PYTHON: dict[ComparisonOperator, tuple[Callable[[Value, Value], object], bool]] = {
    ComparisonOperator.EQUAL: (operators.eq, True),
    ComparisonOperator.NOT_EQUAL: (operators.eq, False),
    ComparisonOperator.LESS: (operators.lt, True),
    ComparisonOperator.LESS_OR_EQUAL: (operators.le, True),
    ComparisonOperator.GREATER: (operators.le, False),
    ComparisonOperator.GREATER_OR_EQUAL: (operators.lt, False),
}


def _column_test(  # noqa: PLR0913, PLR0917 - everything the closure needs, computed before
    read: Callable[[Event], Value],
    key: str | None,
    operator: ComparisonOperator,
    constant: Value,
    types: frozenset[type],
    general: Callable[[Value], bool],
) -> Predicate:
    """Return the test of a column against a constant, by Python's own comparison for `types`.

    All other values are for `general`. `key` is the name of the column where a dict can be asked
    directly, which saves a call.
    """
    compare, expected = _PYTHON[operator]

    def is_true(event: Event, _aggregates: AggregateValues) -> bool:
        value = read(event)
        if type(value) in types:
            return compare(value, constant) is expected
        return general(value)

    def is_true_for_dict(event: Event, _aggregates: AggregateValues) -> bool:
        value = event.get(key) if type(event) is dict else read(event)
        if type(value) in types:
            return compare(value, constant) is expected
        return general(value)

    return is_true if key is None else is_true_for_dict
