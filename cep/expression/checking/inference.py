"""Type inference: the type of every node, and what does not fit.

Read by `check`, which turns what is found into problems, by `resolve`, and by the columnar
evaluator, which needs the types. Without a schema every column is of an unknown type, which fits
everywhere.

Stricter than the evaluators in one point: a TIMESTAMP and a TIMESTAMP_NTZ do not mix, unless one of
them is a constant without an offset, which then counts as UTC.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import assert_never

from cep.expression import tree
from cep.expression.errors import near_name
from cep.expression.functions.casting import SOURCES
from cep.expression.functions.table import FUNCTIONS
from cep.expression.functions.typing_rules import TypeMismatch, common, comparable
from cep.expression.parsing.foreign import column_hint
from cep.expression.rewrite import with_element_type
from cep.expression.schema import Schema
from cep.expression.temporal import parse_timestamp
from cep.expression.tree import (
    AggregateFunction,
    Constant,
    HigherOrderFunction,
    Node,
    WindowFunction,
)
from cep.expression.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTERVAL,
    MAX_DECIMAL_PRECISION,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    DataType,
    Kind,
)
from cep.expression.values import MAX_SCALE, Group

Report = Callable[[Node, str, str], None]
"""Takes the node at fault, what is wrong with it, and how to fix it."""

_ZONES = {Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ}


def type_of(node: Node, schema: Schema | None) -> DataType:
    """Return the type of a node; UNKNOWN where something does not fit."""
    return Inference(schema, lambda _node, _message, _hint: None).type_of(node)


def element_type(array: DataType) -> DataType:
    """Return the type that the elements of an array are computed with, if it is one."""
    return UNKNOWN if array.element is None else array.element.computed


class Inference:
    """One walk over a tree; what does not fit is reported, and of unknown type from there on."""

    def __init__(self, schema: Schema | None, report: Report) -> None:
        self.schema = schema
        self.report = report

    def type_of(self, node: Node) -> DataType:  # noqa: C901, PLR0911, PLR0912 - one line per kind of node
        """Return the type of the node, reporting what does not fit in it and below."""
        match node:
            case tree.Literal(value=value):
                return constant_type(value)
            case tree.Field():
                return self._field(node)
            case tree.Aggregate():
                return self._aggregate(node)
            case tree.Window():
                return self._window(node)
            case tree.And(operands=operands) | tree.Or(operands=operands):
                self._conditions(*operands)
            case tree.Not(operand=operand) | tree.IsTruth(operand=operand):
                self._conditions(operand)
            case tree.Comparison(left=left, right=right) | tree.IsDistinct(left=left, right=right):
                self._comparable(node, (left, self.type_of(left)), (right, self.type_of(right)))
            case tree.In(operand=operand, items=items):
                found = self.type_of(operand)
                for item in items:
                    self._comparable(node, (operand, found), (item, self.type_of(item)))
            case tree.InList():
                self._listed(node, self.type_of(node.operand))
            case tree.IsNull(operand=operand):
                self.type_of(operand)
            case tree.Like(operand=operand) | tree.RegexLike(operand=operand):
                self._text(operand)
            case tree.Case(branches=branches, default=default):
                self._conditions(*(condition for condition, _ in branches))
                return self._common((*(value for _, value in branches), default))
            case tree.Coalesce(operands=operands):
                return self._common(operands)
            case tree.Cast():
                return self._cast(node)
            case tree.Call():
                return self._call(node)
            case tree.HigherOrderCall():
                return self._higher_order(node)
            case tree.Variable(data_type=data_type):
                return data_type
            case tree.Member():
                return self._member(node)
            case _:
                assert_never(node)
        return BOOLEAN

    def _field(self, node: tree.Field) -> DataType:
        if self.schema is None:
            return UNKNOWN
        found = self.schema.type_of(node.path)
        if found is None:
            columns = tuple(name for name, _ in self.schema.columns)
            hint = column_hint(node.path, columns) or self.schema.near(node.path)
            if len(node.path) == 1 and hint.startswith("there are"):
                hint = f"a text stands in quotes: '{node.path[0]}'; {hint}"
            self.report(node, f"there is no column {'.'.join(node.path)}", hint)
            return UNKNOWN
        return found.computed

    def _member(self, node: tree.Member) -> DataType:
        operand = self.type_of(node.operand)
        if operand.is_open:
            return operand
        fields = dict(operand.fields)
        if (found := fields.get(node.name)) is not None:
            return found.computed
        hint = "it has no fields"
        if fields:
            hint = near_name(node.name, fields) or f"there are: {', '.join(fields)}"
        self.report(node, f"there is no field {node.name} in {operand}", hint)
        return UNKNOWN

    def _higher_order(self, node: tree.HigherOrderCall) -> DataType:
        array = self.type_of(node.array)
        if array.kind is not Kind.ARRAY and not array.is_open:
            self.report(node.array, f"{node.function} needs an ARRAY, not a {array}", "")
            array = UNKNOWN
        if self.schema is not None and self.schema.type_of((node.variable,)) is not None:
            message = f"the variable {node.variable} has the name of a column"
            self.report(node, message, f"choose another: {node.function}(…, each -> each = 'a')")
        body = with_element_type(node.body, node.variable, element_type(array))
        if node.function is not HigherOrderFunction.TRANSFORM:
            self._conditions(body)
            is_test = node.function is not HigherOrderFunction.FILTER
            return BOOLEAN if is_test else array
        return DataType(Kind.ARRAY, element=self.type_of(body))

    def _aggregate(self, node: tree.Aggregate) -> DataType:
        operand = UNKNOWN if node.operand is None else self.type_of(node.operand)
        match node.function:
            case AggregateFunction.COUNT:
                return BIGINT
            case AggregateFunction.FIRST | AggregateFunction.LAST:
                return operand
            case AggregateFunction.MIN | AggregateFunction.MAX:
                if not comparable(operand, operand):
                    self.report(node, f"{node.function} cannot order {operand}", "")
                return operand
            case AggregateFunction.SUM | AggregateFunction.AVG:
                return self._total(node, operand)

    def _window(self, node: tree.Window) -> DataType:
        for part in (*node.partition_by, *(node.operands if node.is_distinct else ())):
            found = self.type_of(part)
            if found.kind in {Kind.ARRAY, Kind.STRUCT, Kind.OTHER}:
                self.report(part, f"values of type {found} cannot be told apart here", "")
        if node.condition is not None:
            self._conditions(node.condition)
        types = [self.type_of(operand) for operand in node.operands]
        match node.function:
            case WindowFunction.COUNT:
                return BIGINT
            case WindowFunction.MIN | WindowFunction.MAX | WindowFunction.PERCENTILE_DISC:
                if not comparable(types[0], types[0]):
                    self.report(node, f"{node.function} cannot order {types[0]}", "")
                return types[0]
            case WindowFunction.SUM:
                return self._total(node, types[0])
            case WindowFunction.AVG:
                found = self._total(node, types[0])
                return replace(found, scale=MAX_SCALE) if found.kind is Kind.DECIMAL else found
            case _:
                self._total(node, types[0])
                return DOUBLE

    def _total(self, node: tree.Aggregate | tree.Window, operand: DataType) -> DataType:
        if not (operand.is_numeric or operand.is_open):
            self.report(node, f"{node.function} needs a number, not a {operand}", "")
            return UNKNOWN
        if node.function == AggregateFunction.AVG and operand.kind is Kind.BIGINT:
            return DOUBLE
        if operand.kind is Kind.DECIMAL:
            return DataType(Kind.DECIMAL, MAX_DECIMAL_PRECISION, operand.scale)
        return operand

    def _conditions(self, *operands: Node) -> None:
        for operand in operands:
            found = self.type_of(operand)
            if found != BOOLEAN and not found.is_open:
                is_text = isinstance(operand, tree.Literal) and found == STRING
                hint = "compare it with something"
                if is_text:  # behind AND or OR
                    hint = "repeat the comparison, x = 'a' OR x = 'b', or write x IN ('a', 'b')"
                self.report(operand, f"a condition is needed, this is a {found}", hint)

    def _listed(self, node: tree.InList, found: DataType) -> None:
        lists = None if self.schema is None else self.schema.lists
        if lists is None:
            return
        values = next((each for each in lists if each.name == node.name), None)
        if values is None:
            names = [each.name for each in lists]
            near = near_name(node.name, names) or (
                f"there are: {', '.join(names[:20])}" if names else "its stream has no lists"
            )
            self.report(node, f"there is no list '{node.name}'", near)
        elif found != values.data_type and not found.is_open:
            hint = f"cast it: CAST(... AS {values.data_type})"
            message = f"the list '{node.name}' is of {values.data_type}, this is a {found}"
            self.report(node.operand, message, hint)

    def _text(self, operand: Node) -> None:
        found = self.type_of(operand)
        if found != STRING and not found.is_open:
            self.report(
                operand, f"a text is needed, this is a {found}", "cast it: CAST(... AS STRING)"
            )

    def _comparable(
        self, node: Node, one: tuple[Node, DataType], other: tuple[Node, DataType]
    ) -> None:
        for (left, left_type), (right, right_type) in ((one, other), (other, one)):
            if (
                left_type.is_temporal
                and isinstance(right, tree.Literal)
                and isinstance(right.value, str)
            ):
                if parse_timestamp(right.value) is None:
                    hint = "write TIMESTAMP '2024-01-31 10:00:00'"
                    self.report(right, f"{right.value!r} is no {left_type}", hint)
                return
            if mixes_zones((left, left_type), (right, right_type)):
                hint = "cast the one without time zone: CAST(... AS TIMESTAMP)"
                self.report(node, "TIMESTAMP and TIMESTAMP_NTZ do not mix", hint)
                return
        left_type, right_type = one[1], other[1]
        if not comparable(left_type, right_type):
            hint = _comparison_hint(one, other)
            self.report(node, f"cannot compare {left_type} with {right_type}", hint)

    def _common(self, results: tuple[Node, ...]) -> DataType:
        found = NULL
        for node in results:
            data_type = self.type_of(node)
            met = common(found, data_type)
            if met is None:
                hint = f"cast it: CAST(... AS {found})"
                self.report(node, f"this is a {data_type}, the result before it a {found}", hint)
                return UNKNOWN
            found = met
        return found

    def _cast(self, node: tree.Cast) -> DataType:
        source = self.type_of(node.operand)
        if not source.is_open and _GROUPS.get(source.kind) not in SOURCES[node.data_type.kind]:
            self.report(node, f"cannot cast {source} to {node.data_type}", "")
        return node.data_type.computed

    def _call(self, node: tree.Call) -> DataType:
        types = tuple(self.type_of(argument) for argument in node.arguments)
        if node.function == "-" and len(types) == 2:  # noqa: PLR2004 - subtraction
            left, right = zip(node.arguments, types, strict=True)
            if mixes_zones(left, right):
                hint = "cast the one without time zone: CAST(... AS TIMESTAMP)"
                self.report(node, "TIMESTAMP and TIMESTAMP_NTZ do not mix", hint)
        try:
            return FUNCTIONS[node.function].result(types)
        except TypeMismatch as mismatch:
            self.report(node, f"{node.function} {mismatch.message}", mismatch.hint)
            return UNKNOWN


def mixes_zones(left: tuple[Node, DataType], right: tuple[Node, DataType]) -> bool:
    """Return whether an instant meets a wall clock reading that is not a constant."""
    sides = (left, right)
    return {data_type.kind for _, data_type in sides} == _ZONES and not any(
        isinstance(node, tree.Literal) for node, _ in sides
    )


def constant_type(value: Constant) -> DataType:  # noqa: PLR0911 - one line per type
    """Return the type of a constant."""
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case int():
            return BIGINT
        case float():
            return DOUBLE
        case Decimal():
            return _decimal_type(value)
        case str():
            return STRING
        case datetime():
            return TIMESTAMP if value.tzinfo else TIMESTAMP_NTZ
        case date():
            return DATE
        case timedelta():
            return INTERVAL


def _decimal_type(value: Decimal) -> DataType:
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    whole = max(0, len(digits) + int(exponent))
    return DataType(Kind.DECIMAL, max(1, whole + scale), scale)


_GROUPS = {
    Kind.BOOLEAN: Group.BOOLEAN,
    Kind.BIGINT: Group.NUMBER,
    Kind.DOUBLE: Group.NUMBER,
    Kind.DECIMAL: Group.NUMBER,
    Kind.STRING: Group.TEXT,
    Kind.DATE: Group.MOMENT,
    Kind.TIMESTAMP: Group.MOMENT,
    Kind.TIMESTAMP_NTZ: Group.MOMENT,
    Kind.INTERVAL: Group.INTERVAL,
}


def _comparison_hint(one: tuple[Node, DataType], other: tuple[Node, DataType]) -> str:
    pairs = ((one, other), (other, one))
    return next(filter(None, (_hint_beside(*pair) for pair in pairs)), "")


def _hint_beside(one: tuple[Node, DataType], other: tuple[Node, DataType]) -> str:
    """Return what to write in place of one side of a comparison, as the other one is."""
    (node, found), (value, other_type) = one, other
    match found.kind:
        case Kind.BOOLEAN if isinstance(node, tree.Comparison):
            hint = "join two comparisons: 1 < x AND x < 5"
        case Kind.BOOLEAN:
            hint = "compare it with TRUE or FALSE"
        case Kind.INTERVAL:
            hint = "write INTERVAL '10' SECOND"
        case _ if found.is_temporal and other_type.is_numeric:
            hint = f"write {found} '2024-01-31'"
        case Kind.STRING if other_type.is_numeric and isinstance(node, tree.Literal):
            hint = f"write the number without quotes: {node.value}"
        case Kind.STRING if other_type.is_numeric and isinstance(value, tree.Literal):
            hint = f"write the text in quotes: '{value.value}', or cast: CAST(... AS DOUBLE)"
        case Kind.STRING if other_type.is_numeric:
            hint = "cast the text: CAST(... AS DOUBLE)"
        case Kind.STRING if other_type.is_temporal:
            hint = f"cast the text: CAST(... AS {other_type})"
        case _:
            hint = ""
    return hint
