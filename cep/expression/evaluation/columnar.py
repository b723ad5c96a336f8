"""The columnar evaluator: a tree becomes a polars expression over the columns of a schema.

Comes last in the pipeline, beside `scalar`, with which it agrees on every value: what polars would
compute differently is handed to the scalar functions, value by value.
"""

from collections.abc import Callable
from typing import Any, assert_never

import polars as pl

from cep.expression import tree
from cep.expression.checking.inference import Inference, constant_type
from cep.expression.checking.resolve import with_typed_constants
from cep.expression.errors import ExpressionError, problem_at
from cep.expression.evaluation.fold import folded
from cep.expression.evaluation.lambdas import applied, variable_column
from cep.expression.evaluation.scalar import known_list, null_without, window_refusal
from cep.expression.functions.casting import caster
from cep.expression.functions.operands import (
    Column,
    as_decimals,
    as_double,
    as_naive,
    computed_once,
)
from cep.expression.functions.table import FUNCTIONS
from cep.expression.functions.text_pattern import LikePattern, like_pattern, regex
from cep.expression.lists import ListContent, ValueList
from cep.expression.rewrite import rebuilt
from cep.expression.schema import Schema
from cep.expression.sql import to_sql
from cep.expression.temporal import naive_utc, parse_timestamp
from cep.expression.tree import (
    PYTHON_COMPARE,
    ComparisonOperator,
    Constant,
    HigherOrderFunction,
    Node,
    columns_of,
    lists_in,
    variables_of,
)
from cep.expression.types import BOOLEAN, DataType, Kind, to_polars
from cep.expression.values import COMPARE, Value

_UNKNOWN = pl.lit(None, dtype=pl.Boolean)


def compile_columnar(node: Node, schema: Schema) -> pl.Expr:
    """Return the polars expression of a tree without aggregates, one value per row of the frame.

    NULL and unknown are null. The frame must have the columns of the schema that the tree reads, in
    the types of `schema.to_polars()`; timestamps may be in other units and time zones.

    Raises:
        ExpressionError: if the tree has aggregates, or does not fit the schema.
    """
    node = with_typed_constants(folded(_without_null_columns(node, schema)), schema)

    def refuse(wrong: Node, message: str, hint: str) -> None:
        raise ExpressionError(problem_at(to_sql(wrong), (0, 0), message, hint))

    column = _Compiler(schema, refuse).column(node)
    if column.expression.meta.root_names():
        return column.expression
    # What reads no column would give one row, whatever the height of the frame.
    return pl.repeat(column.expression, pl.len())


def _without_null_columns(node: Node, schema: Schema) -> Node:
    """A column that is nothing but NULL is a constant; polars has no functions for its type."""
    if isinstance(node, tree.Field):
        found = schema.type_of(node.path)
        is_null = found is not None and found.kind is Kind.NULL
        return tree.Literal(None, node.span) if is_null else node
    return rebuilt(node, lambda child: _without_null_columns(child, schema))


class _Compiler:
    def __init__(self, schema: Schema, refuse: Callable[[Node, str, str], None]) -> None:
        self._inference = Inference(schema, refuse)
        self._schema = schema

    def column(self, node: Node) -> Column:
        """Return the node as an operand: its expression, in the polars type of its type."""
        data_type = self._inference.type_of(node)
        if isinstance(node, tree.Literal):
            return _literal(node.value)
        return Column(
            self._expression(node, data_type), data_type, is_leaf=isinstance(node, tree.Field)
        )

    def expression(self, node: Node) -> pl.Expr:
        return self.column(node).expression

    def condition(self, node: Node) -> pl.Expr:
        column = self.column(node)
        return _UNKNOWN if column.kind is Kind.NULL else column.expression

    def _expression(self, node: Node, data_type: DataType) -> pl.Expr:  # noqa: C901, PLR0911, PLR0912 - one line per node
        match node:
            case tree.Literal(value=value):
                return _literal(value).expression
            case tree.Field(path=path):
                return self._field(path, data_type)
            case tree.Aggregate():
                raise ExpressionError(
                    problem_at(to_sql(node), (0, 0), "an aggregate needs a partial match")
                )
            case tree.Window():
                raise window_refusal(node)
            case tree.And(operands=operands):
                return pl.all_horizontal(*map(self.condition, operands))
            case tree.Or(operands=operands):
                return pl.any_horizontal(*map(self.condition, operands))
            case tree.Not(operand=operand):
                return ~self.condition(operand)
            case tree.Comparison(operator=operator, left=left, right=right):
                return _compared(operator, self.column(left), self.column(right))
            case tree.IsDistinct(left=left, right=right):
                columns = (self.column(left), self.column(right))
                return computed_once(columns, pl.Boolean(), _distinct)
            case tree.IsNull(operand=operand):
                return self.expression(operand).is_null()
            case tree.IsTruth(operand=operand, value=value):
                condition = self.condition(operand)
                return (condition if value else ~condition).fill_null(value=False)
            case tree.In(operand=operand, items=items):
                return self._in(self.column(operand), items)
            case tree.InList(operand=operand):
                return _in_list(self.column(operand), known_list(node))
            case tree.Like(operand=operand, pattern=pattern, escape=escape):
                return _like(self.column(operand), like_pattern(pattern, escape))
            case tree.RegexLike(operand=operand, pattern=pattern):
                return self.column(operand).expression.str.contains(regex(pattern).rust)
            case tree.Case(branches=branches, default=default):
                return self._case(branches, default, to_polars(data_type))
            case tree.Coalesce(operands=operands):
                target = to_polars(data_type)
                return pl.coalesce([self.expression(operand).cast(target) for operand in operands])
            case tree.Cast(operand=operand):
                return _cast(self.column(operand), node.data_type, data_type)
            case tree.Call(function=name, arguments=arguments):
                return self._call(name, arguments, data_type)
            case tree.HigherOrderCall():
                return self._higher_order(node, data_type)
            case tree.Variable(name=name):
                return pl.col(variable_column(name)).cast(to_polars(data_type))
            case tree.Member(operand=operand, name=name):
                found = self.expression(operand).struct.field(name)
                return found.cast(to_polars(data_type))
            case _:
                assert_never(node)

    def _field(self, path: tuple[str, ...], data_type: DataType) -> pl.Expr:
        expression = pl.col(path[0])
        for name in path[1:]:
            expression = expression.struct.field(name)
        stored = self._schema.type_of(path)
        is_moment = data_type.kind in {Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ, Kind.INTERVAL}
        is_as_stored = stored == data_type and not is_moment
        return expression if is_as_stored else expression.cast(to_polars(data_type))

    def _in(self, operand: Column, items: tuple[Node, ...]) -> pl.Expr:
        values = [item.value for item in items if isinstance(item, tree.Literal)]
        if len(values) == len(items) and operand.kind in {Kind.STRING, Kind.BIGINT}:
            kinds = {constant_type(value).kind for value in values}
            if kinds == {operand.kind}:
                return operand.expression.is_in(
                    pl.Series(values, dtype=to_polars(operand.data_type)).implode()
                )
        return computed_once((operand, *map(self.column, items)), pl.Boolean(), _is_among)

    def _case(
        self, branches: tuple[tuple[Node, Node], ...], default: Node, target: pl.DataType
    ) -> pl.Expr:
        result = self.expression(default).cast(target)
        for condition, value in reversed(branches):
            result = (
                pl.when(self.condition(condition))
                .then(self.expression(value).cast(target))
                .otherwise(result)
            )
        return result

    def _call(self, name: str, arguments: tuple[Node, ...], data_type: DataType) -> pl.Expr:
        columns = tuple(self.column(argument) for argument in arguments)
        function = FUNCTIONS[name]
        found = function.columnar(columns) if function.columnar is not None else None
        if found is None and function.takes_null:
            return _elementwise(function.scalar, columns, data_type)
        if found is None:
            return _elementwise(null_without(function.scalar), columns, data_type)
        return found.cast(to_polars(data_type)) if data_type.kind is Kind.DECIMAL else found

    def _higher_order(self, node: tree.HigherOrderCall, data_type: DataType) -> pl.Expr:
        elements = variable_column(node.variable)
        is_transform = node.function is HigherOrderFunction.TRANSFORM
        body = (self.expression if is_transform else self.condition)(node.body)
        needed = columns_of(node.body) | set(map(variable_column, variables_of(node.body)))
        needed |= {each.values.time_column for each in lists_in(node.body) if each.values}
        operands = [
            self.expression(node.array).alias(elements),
            *map(pl.col, sorted(needed - {elements, ""})),
        ]
        target = to_polars(data_type)
        compute = applied(node.function, elements, body, target)
        return pl.struct(operands).map_batches(compute, return_dtype=target)


def _in_list(operand: Column, values: ValueList) -> pl.Expr:
    """Each content is asked for the rows in whose time it is in effect."""
    if operand.kind is Kind.NULL:
        return _UNKNOWN
    (_, first), *later = values.versions
    found = _among(operand, first)
    time_ms = pl.col(values.time_column)
    for from_ms, content in later:
        found = pl.when(time_ms >= from_ms).then(_among(operand, content)).otherwise(found)
    return found


def _among(operand: Column, content: ListContent) -> pl.Expr:
    return operand.expression.map_batches(
        content.among, return_dtype=pl.Boolean(), is_elementwise=True
    )


def _literal(value: Constant) -> Column:
    data_type = constant_type(value)
    return Column(pl.lit(value, dtype=to_polars(data_type)), data_type, value, is_leaf=True)


def _distinct(columns: tuple[Column, ...]) -> pl.Expr:
    left, right = columns
    one_null, other_null = left.expression.is_null(), right.expression.is_null()
    same = _compared(ComparisonOperator.EQUAL, left, right).fill_null(value=False)
    return ~((one_null & other_null) | same)


def _is_among(columns: tuple[Column, ...]) -> pl.Expr:
    operand, *items = columns
    return pl.any_horizontal(
        *(_compared(ComparisonOperator.EQUAL, operand, item) for item in items)
    )


def _compared(  # noqa: PLR0911 - one line per pair of types
    operator: ComparisonOperator, left: Column, right: Column
) -> pl.Expr:
    compare: Callable[[Any, Any], pl.Expr] = PYTHON_COMPARE[operator]
    if Kind.NULL in {left.kind, right.kind}:
        return _UNKNOWN
    if left.data_type.is_temporal or right.data_type.is_temporal:
        left, right = _moment_constant(left), _moment_constant(right)
        if Kind.NULL in {left.kind, right.kind}:
            return _UNKNOWN
        if Kind.STRING in {left.kind, right.kind}:
            return _elementwise(null_without(COMPARE[operator]), (left, right), BOOLEAN)
        if left.kind is right.kind:
            return compare(left.expression, right.expression)
        return compare(as_naive(left), as_naive(right))
    if left.kind is right.kind and left.kind is not Kind.DECIMAL:
        return compare(left.expression, right.expression)
    if Kind.DOUBLE in {left.kind, right.kind}:
        return compare(as_double(left), as_double(right))
    if decimals := as_decimals(left, right):
        return compare(*decimals)
    return _elementwise(null_without(COMPARE[operator]), (left, right), BOOLEAN)


def _moment_constant(column: Column) -> Column:
    """A constant text beside a point in time is read once."""
    if not isinstance(column.constant, str):
        return column
    parsed = parse_timestamp(column.constant)
    return _literal(None if parsed is None else naive_utc(parsed))


def _like(text: Column, pattern: LikePattern) -> pl.Expr:
    column = text.expression
    match pattern.texts:
        case (whole,):
            return column == pl.lit(whole)
        case (prefix, ""):
            return column.str.starts_with(prefix)
        case ("", suffix):
            return column.str.ends_with(suffix)
        case ("", middle, ""):
            return column.str.contains(middle, literal=True)
        case _:
            return column.str.contains(pattern.regex().rust)


def _cast(  # noqa: PLR0911 - one line per pair of types
    column: Column, target: DataType, data_type: DataType
) -> pl.Expr:
    match column.kind, target.kind:
        case (source, wanted) if source is wanted and column.data_type == target:
            return column.expression
        case Kind.NULL, _:
            return pl.lit(None, dtype=to_polars(data_type))
        case ((Kind.BIGINT | Kind.DECIMAL), Kind.DOUBLE):
            return as_double(column)
        case (Kind.BIGINT, (Kind.TINYINT | Kind.SMALLINT | Kind.INT)):
            return column.expression.cast(to_polars(target), strict=False).cast(pl.Int64)
        case ((Kind.DATE | Kind.TIMESTAMP), Kind.TIMESTAMP_NTZ):
            return as_naive(column)
        case ((Kind.DATE | Kind.TIMESTAMP_NTZ), Kind.TIMESTAMP):
            return as_naive(column).dt.replace_time_zone("UTC")
        case ((Kind.TIMESTAMP | Kind.TIMESTAMP_NTZ), Kind.DATE):
            return as_naive(column).dt.date()
        case _:
            return _elementwise(null_without(caster(target)), (column,), data_type)


def _elementwise(
    function: Callable[..., Value], columns: tuple[Column, ...], result: DataType
) -> pl.Expr:
    """Apply a scalar function row by row; of a text beside constants, once for each distinct."""
    target = to_polars(result)
    varying = [column for column in columns if column.constant is None]
    if [column.kind for column in varying] == [Kind.STRING]:
        (place,) = (n for n, column in enumerate(columns) if column.constant is None)
        constants = [column.constant for column in columns]
        before, behind = constants[:place], constants[place + 1 :]

        def look_up(texts: pl.Series) -> pl.Series:
            distinct = texts.unique()
            results = [function(*before, text, *behind) for text in distinct.to_list()]
            found = pl.DataFrame({"text": distinct, "result": pl.Series(results, dtype=target)})
            asked = texts.alias("text").to_frame()
            joined = asked.join(
                found, on="text", how="left", nulls_equal=True, maintain_order="left"
            )
            return joined.get_column("result").alias(texts.name)

        return varying[0].expression.map_batches(look_up, return_dtype=target)
    names = [f"_{index}" for index in range(len(columns))]
    operands = [c.expression.alias(name) for c, name in zip(columns, names, strict=True)]

    def evaluate(rows: pl.Series) -> pl.Series:
        values = zip(*(rows.struct.field(name).to_list() for name in names), strict=True)
        return pl.Series(rows.name, [function(*row) for row in values], dtype=target)

    return pl.struct(operands).map_batches(evaluate, return_dtype=target)
