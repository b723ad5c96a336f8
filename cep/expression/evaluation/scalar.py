"""The scalar evaluator: a tree becomes closures over an event and the aggregates of a match.

Comes last in the pipeline, beside `columnar`, with which it agrees on every value. It works without
a schema: types are those of the values met, and values that do not go together raise
`EvaluationError`.
"""

from collections.abc import Callable, Mapping
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from cep.expression import tree
from cep.expression.errors import EvaluationError, ExpressionError, problem_at
from cep.expression.fields import Event, FieldReader, mapping_reader
from cep.expression.functions.array import APPLY
from cep.expression.functions.casting import caster
from cep.expression.functions.table import FUNCTIONS
from cep.expression.functions.text_pattern import like_pattern, regex
from cep.expression.lists import ValueList, fits
from cep.expression.sql import short_sql
from cep.expression.tree import HigherOrderFunction, Node
from cep.expression.values import (
    COMPARE,
    Group,
    Mismatch,
    Value,
    distinct,
    equal,
    group_of,
    type_name,
)

AggregateValues = Any
"""Anything with `__getitem__`: slot -> value of the aggregate."""

Evaluator = Callable[[Event, AggregateValues], Value]
SlotOf = Callable[[tree.Aggregate], int]


_ALWAYS_BOOLEAN = (
    tree.And,
    tree.Or,
    tree.Not,
    tree.Comparison,
    tree.IsDistinct,
    tree.IsNull,
    tree.IsTruth,
    tree.In,
    tree.InList,
    tree.Like,
    tree.RegexLike,
)


def window_refusal(window: tree.Window) -> ExpressionError:
    """Return the error for a window in what is evaluated on single events."""
    message = "a window needs the events before; find_matches and jobs have them"
    return ExpressionError(problem_at(short_sql(window), (0, 0), message))


def no_slots(aggregate: tree.Aggregate) -> int:
    """Refuse every aggregate: the `slot_of` of expressions over one event.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{short_sql(aggregate)} needs a partial match, there is only an event")


def evaluate_constant(node: Node) -> Value:
    """Return the value of a tree without fields and aggregates.

    Raises:
        EvaluationError: if its operands do not go together.
    """
    return ScalarCompiler(mapping_reader, no_slots).value(node)(None, ())


def mismatch(node: Node, operands: tuple[Node, ...], values: tuple[Value, ...]) -> EvaluationError:
    """Return the error that names an operation, its operands and the types they are of."""
    found = {
        short_sql(o): type_name(v) for o, v in zip(operands, values, strict=True) if v is not None
    }
    types = ", ".join(f"{operand} is {name}" for operand, name in found.items())
    return EvaluationError(f"cannot evaluate {short_sql(node)}: {types}")


def not_boolean(node: Node, value: Value) -> EvaluationError:
    """Return the error for a condition that turned out to be no condition."""
    return EvaluationError(f"{short_sql(node)} is no condition: it is {type_name(value)}")


def known_list(node: tree.InList) -> ValueList:
    """Return the values that a test looks among.

    Raises:
        ExpressionError: there are none; the test was read without the list.
    """
    if node.values is None or not node.values.versions:
        message = f"the values of the list '{node.name}' are not known here"
        raise ExpressionError(problem_at(short_sql(node), (0, 0), message, "give the list"))
    return node.values


def null_without(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return the function that is NULL where an argument is."""
    return lambda *values: None if None in values else function(*values)


class ScalarCompiler:
    """Compiles values; `predicate` adds the closures for conditions."""

    def __init__(
        self,
        field_reader: FieldReader,
        slot_of: SlotOf,
        variables: Mapping[str, Callable[[Event], Value]] = MappingProxyType({}),
    ) -> None:
        self.field_reader = field_reader
        self.slot_of = slot_of
        self.variables = variables
        """How to read the variables of the lambdas that what is compiled stands in."""

    def value(self, node: Node) -> Evaluator:  # noqa: C901, PLR0911, PLR0912 - one line per kind of node
        """Return the closure that evaluates the node; `None` is NULL or unknown."""
        match node:
            case tree.Literal(value=constant):
                return lambda _event, _aggregates: constant
            case tree.Field(path=path):
                read = self.field_reader(path)
                return lambda event, _aggregates: read(event)
            case tree.Aggregate():
                slot = self.slot_of(node)
                return lambda _event, aggregates: aggregates[slot]
            case tree.Window():
                raise window_refusal(node)
            case tree.And(operands=operands):
                return self._kleene(operands, decisive=False)
            case tree.Or(operands=operands):
                return self._kleene(operands, decisive=True)
            case tree.Not(operand=operand):
                return self._not(operand)
            case tree.Comparison(operator=operator, left=left, right=right):
                return self._strict(node, COMPARE[operator], (left, right))
            case tree.IsDistinct(left=left, right=right):
                return self._distinct(node, left, right)
            case tree.IsNull(operand=operand):
                inner = self.value(operand)
                return lambda event, aggregates: inner(event, aggregates) is None
            case tree.IsTruth(operand=operand, value=wanted):
                condition = self.condition(operand)
                return lambda event, aggregates: condition(event, aggregates) is wanted
            case tree.In(operand=operand, items=items):
                return self._in(node, operand, items)
            case tree.InList():
                return self._in_list(node)
            case tree.Like(operand=operand, pattern=pattern, escape=escape):
                return self._text_test(node, operand, like_pattern(pattern, escape).matcher())
            case tree.RegexLike(operand=operand, pattern=pattern):
                return self._text_test(node, operand, regex(pattern).finder())
            case tree.Case(branches=branches, default=default):
                return self._case(branches, default)
            case tree.Coalesce(operands=operands):
                return self._coalesce(operands)
            case tree.Cast(operand=operand, data_type=data_type):
                return self._strict(node, caster(data_type), (operand,))
            case tree.Call(function=function, arguments=arguments):
                found = FUNCTIONS[function]
                compile_call = self._many if found.takes_null else self._strict
                return compile_call(node, found.scalar, arguments)
            case tree.HigherOrderCall():
                return self._higher_order(node)
            case tree.Variable(name=name):
                variable = self.variables[name]
                return lambda event, _aggregates: variable(event)
            case tree.Member(operand=operand, name=name):
                return self._strict(node, mapping_reader((name,)), (operand,))

    def condition(self, node: Node) -> Evaluator:
        """Return the closure that evaluates a condition: True, False or `None`, nothing else.

        The closure raises `EvaluationError` for a value that is no truth value.
        """
        inner = self.value(node)
        if isinstance(node, _ALWAYS_BOOLEAN):
            return inner

        def evaluate(event: Event, aggregates: AggregateValues) -> Value:
            value = inner(event, aggregates)
            if value is None or value is True or value is False:
                return value
            raise not_boolean(node, value)

        return evaluate

    def _kleene(self, operands: tuple[Node, ...], *, decisive: bool) -> Evaluator:
        """AND is decided by the first false, OR by the first true, else by any unknown."""
        conditions = [self.condition(operand) for operand in operands]

        def evaluate(event: Event, aggregates: AggregateValues) -> bool | None:
            result: bool | None = not decisive
            for condition in conditions:
                value: bool | None = condition(event, aggregates)
                if value is decisive:
                    return decisive
                if value is None:
                    result = None
            return result

        return evaluate

    def _not(self, operand: Node) -> Evaluator:
        condition = self.condition(operand)

        def evaluate(event: Event, aggregates: AggregateValues) -> bool | None:
            value: bool | None = condition(event, aggregates)
            return None if value is None else not value

        return evaluate

    def _strict(
        self, node: Node, function: Callable[..., Value], operands: tuple[Node, ...]
    ) -> Evaluator:
        """A function that is NULL when an operand is."""
        match operands:
            case (operand,):
                return self._unary(node, function, operand)
            case (left, right):
                return self._binary(node, function, left, right)
            case _:
                return self._many(node, null_without(function), operands)

    def _many(
        self, node: Node, function: Callable[..., Value], operands: tuple[Node, ...]
    ) -> Evaluator:
        inners = [self.value(operand) for operand in operands]

        def evaluate(event: Event, aggregates: AggregateValues) -> Value:
            values = [inner(event, aggregates) for inner in inners]
            try:
                return function(*values)
            except Mismatch:
                raise mismatch(node, operands, tuple(values)) from None

        return evaluate

    def _unary(self, node: Node, function: Callable[..., Value], operand: Node) -> Evaluator:
        inner = self.value(operand)

        def evaluate(event: Event, aggregates: AggregateValues) -> Value:
            value = inner(event, aggregates)
            if value is None:
                return None
            try:
                return function(value)
            except Mismatch:
                raise mismatch(node, (operand,), (value,)) from None

        return evaluate

    def _binary(
        self, node: Node, function: Callable[..., Value], left_node: Node, right_node: Node
    ) -> Evaluator:
        first, second = self.value(left_node), self.value(right_node)

        def evaluate(event: Event, aggregates: AggregateValues) -> Value:
            left = first(event, aggregates)
            if left is None:
                return None
            right = second(event, aggregates)
            if right is None:
                return None
            try:
                return function(left, right)
            except Mismatch:
                raise mismatch(node, (left_node, right_node), (left, right)) from None

        return evaluate

    def _distinct(self, node: Node, left: Node, right: Node) -> Evaluator:
        first, second = self.value(left), self.value(right)

        def evaluate(event: Event, aggregates: AggregateValues) -> bool:
            values = (first(event, aggregates), second(event, aggregates))
            try:
                return distinct(*values)
            except Mismatch:
                raise mismatch(node, (left, right), values) from None

        return evaluate

    def _in(self, node: Node, operand: Node, items: tuple[Node, ...]) -> Evaluator:
        inner = self.value(operand)
        candidates = [self.value(item) for item in items]

        def evaluate(event: Event, aggregates: AggregateValues) -> bool | None:
            value = inner(event, aggregates)
            if value is None:
                return None
            result: bool | None = False
            for item, candidate in zip(items, candidates, strict=True):
                other = candidate(event, aggregates)
                try:
                    same = None if other is None else equal(value, other)
                except Mismatch:
                    raise mismatch(node, (operand, item), (value, other)) from None
                if same:
                    return True
                if same is None:
                    result = None
            return result

        return evaluate

    def _higher_order(self, node: tree.HigherOrderCall) -> Evaluator:
        """The body is evaluated for a pair: what is around the lambda, and one element."""

        def outer_reader(path: tuple[str, ...]) -> Callable[[Event], Value]:
            read = self.field_reader(path)
            return lambda pair: read(pair[0])

        def outer(read: Callable[[Event], Value]) -> Callable[[Event], Value]:
            return lambda pair: read(pair[0])

        variables = {name: outer(read) for name, read in self.variables.items()}
        variables[node.variable] = itemgetter(1)
        inside = ScalarCompiler(outer_reader, self.slot_of, variables)
        is_transform = node.function is HigherOrderFunction.TRANSFORM
        body = (inside.value if is_transform else inside.condition)(node.body)
        array, apply = self.value(node.array), APPLY[node.function]

        def evaluate(event: Event, aggregates: AggregateValues) -> Value:
            elements = array(event, aggregates)
            if elements is None:
                return None
            if group_of(elements) is not Group.ARRAY:
                raise mismatch(node, (node.array,), (elements,))
            results = (body((event, element), aggregates) for element in elements)
            return apply(elements, results)

        return evaluate

    def _in_list(self, node: tree.InList) -> Evaluator:
        values = known_list(node)
        contents = [(from_ms, content) for from_ms, content in reversed(values.versions)]
        of_first = contents[-1][1]
        inner = self.value(node.operand)
        read_time = self.field_reader((values.time_column,)) if len(contents) > 1 else None

        def evaluate(event: Event, aggregates: AggregateValues) -> bool | None:
            value = inner(event, aggregates)
            if value is None:
                return None
            if not fits(values.data_type, value):
                raise mismatch(node, (node.operand,), (value,))
            if read_time is None:
                return value in of_first.members
            time_ms: Any = read_time(event)
            found = (content for from_ms, content in contents if from_ms <= time_ms)
            return value in next(found, of_first).members

        return evaluate

    def _text_test(self, node: Node, operand: Node, fits: Callable[[str], bool]) -> Evaluator:
        def test(value: Value) -> bool:
            if not isinstance(value, str):
                raise Mismatch
            return fits(value)

        return self._strict(node, test, (operand,))

    def _case(self, branches: tuple[tuple[Node, Node], ...], default: Node) -> Evaluator:
        compiled = [(self.condition(condition), self.value(value)) for condition, value in branches]
        otherwise = self.value(default)

        def evaluate(event: Event, aggregates: AggregateValues) -> Value:
            for condition, value in compiled:
                if condition(event, aggregates):
                    return value(event, aggregates)
            return otherwise(event, aggregates)

        return evaluate

    def _coalesce(self, operands: tuple[Node, ...]) -> Evaluator:
        inners = [self.value(operand) for operand in operands]

        def evaluate(event: Event, aggregates: AggregateValues) -> Value:
            for inner in inners:
                value = inner(event, aggregates)
                if value is not None:
                    return value
            return None

        return evaluate
