"""Names to meanings: which fields are steps, and which type a bare constant takes.

Comes after the parser, once the pattern (and perhaps the schema) is known, and before `check` and
`split`.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from itertools import islice

from cep.expression import tree
from cep.expression.checking.inference import element_type, type_of
from cep.expression.expression import Expression
from cep.expression.rewrite import rebuilt, with_element_type
from cep.expression.schema import Schema
from cep.expression.tree import AggregateFunction, Node
from cep.expression.types import Kind
from cep.expression.values import to_double


def resolve(expression: Expression, steps: Collection[str], schema: Schema | None = None) -> Node:
    """Return the tree with `step.field` read as `LAST(step.field)`.

    A step hides a struct column of the same name. The constants among the results of `CASE` and
    `COALESCE` take the type of the other results: in `COALESCE(price, 0)` the 0 is a DOUBLE if the
    price is. That needs the schema; without one only constants are seen. So do the values of lists.
    """
    root = _with_steps(expression.root, frozenset(steps))
    return with_lists(with_typed_constants(root, schema), schema)


def with_lists(node: Node, schema: Schema | None) -> Node:
    """Return the tree with the values of the lists that it names, as far as the schema has them."""
    if schema is None or not schema.lists:
        return node
    node = rebuilt(node, partial(with_lists, schema=schema))
    if not isinstance(node, tree.InList):
        return node
    return replace(node, values=next((v for v in schema.lists if v.name == node.name), None))


def _with_steps(node: Node, steps: frozenset[str]) -> Node:
    match node:
        case tree.Field(path=(step, *rest), span=span) if rest and step in steps:
            return tree.Aggregate(AggregateFunction.LAST, step, tree.Field(tuple(rest), span), span)
        case _:
            return rebuilt(node, partial(_with_steps, steps=steps))


def with_typed_constants(node: Node, schema: Schema | None) -> Node:
    """Return the tree with types where they follow from others.

    The constant results of `CASE`, `COALESCE` and the like take the type of the other ones, the
    variables of lambdas that of the elements.
    """
    if isinstance(node, tree.HigherOrderCall):
        array = with_typed_constants(node.array, schema)
        element = element_type(type_of(array, schema))
        body = with_element_type(node.body, node.variable, element)
        return replace(node, array=array, body=with_typed_constants(body, schema))
    node = rebuilt(node, lambda child: with_typed_constants(child, schema))
    match node:
        case tree.Call(function="GREATEST" | "LEAST" | "ARRAY", arguments=arguments):
            return replace(node, arguments=_alike(arguments, schema))
        case tree.Aggregate(operand=operand) if operand is not None:
            return replace(node, operand=with_typed_constants(operand, schema))
        case tree.Coalesce(operands=operands):
            return replace(node, operands=_alike(operands, schema))
        case tree.Case(branches=branches, default=default):
            *values, default = _alike((*(value for _, value in branches), default), schema)
            conditions = (condition for condition, _ in branches)
            return replace(
                node, branches=tuple(zip(conditions, values, strict=True)), default=default
            )
        case _:
            return node


def _alike(results: tuple[Node, ...], schema: Schema | None) -> tuple[Node, ...]:
    constants = {type_of(node, schema).kind for node in results if isinstance(node, tree.Literal)}
    others = {type_of(node, schema).kind for node in results if not isinstance(node, tree.Literal)}
    kinds = (others or constants) - {Kind.NULL}
    if not others and kinds <= {Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE}:
        widest = (kind for kind in (Kind.DOUBLE, Kind.DECIMAL, Kind.BIGINT) if kind in kinds)
        kinds = set(islice(widest, 1))
    if len(kinds) != 1:
        return results
    (kind,) = kinds
    return tuple(
        _constant_as(node, kind) if isinstance(node, tree.Literal) else node for node in results
    )


def _constant_as(literal: tree.Literal, kind: Kind) -> tree.Literal:
    value = literal.value
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    if is_number and kind is Kind.DOUBLE:
        return replace(literal, value=to_double(value))
    if isinstance(value, int) and not isinstance(value, bool) and kind is Kind.DECIMAL:
        return replace(literal, value=Decimal(value))
    if isinstance(value, datetime) and value.tzinfo is None and kind is Kind.TIMESTAMP:
        return replace(literal, value=value.replace(tzinfo=UTC))
    return literal
