"""Conditions that Spark can test as well as Percept: what only they read stays in the JVM.

    BoundClause ──in_jvm──► one BOOLEAN column per condition · a clause that reads these

A text that is only compared with constants costs more on its way through the shuffle, the sort and
into Python than all numbers of a row together. Taken are comparisons of whole numbers, texts and
truth values with constants, joined by AND, OR and NOT: they mean the same in both languages.

Source: predicate pushdown, as in Spark's `PushDownPredicates`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation has it
from pyspark.sql.types import StringType, StructType

from cep.expression import BOOLEAN, Field, Kind, Node, Schema, tree
from cep.expression.rewrite import rebuilt
from cep.expression.sql import quoted_name
from cep.expression.tree import ComparisonOperator
from cep.expression.values import MAX_BIGINT, MIN_BIGINT
from cep.matching.sorted_frames import needed_columns
from cep.row_pattern.bound import BoundClause

_COMPARE: Final[Mapping[ComparisonOperator, Callable[[Any, Any], Any]]] = {
    ComparisonOperator.EQUAL: eq,
    ComparisonOperator.NOT_EQUAL: ne,
    ComparisonOperator.LESS: lt,
    ComparisonOperator.LESS_OR_EQUAL: le,
    ComparisonOperator.GREATER: gt,
    ComparisonOperator.GREATER_OR_EQUAL: ge,
}


@dataclass(frozen=True, slots=True)
class TestedRows:
    """A clause over rows that Spark has tested: the clause, its schema, the tests by column."""

    clause: BoundClause
    schema: Schema
    tests: Mapping[str, Column]


def in_jvm(clause: BoundClause, schema: Schema, frame: StructType) -> TestedRows:
    """Return a clause whose conditions Spark tests as far as that saves columns.

    `schema`: the columns of the frame, as the clause knows them.
    """
    translator = _Translator(schema, frame)
    tests: dict[Node, tuple[str, Column]] = {}

    def rewritten(node: Node) -> Node:
        """Put a column in the place of whatever Spark can test."""
        column = translator.condition(node)
        if column is None:
            return rebuilt(node, rewritten)
        name, _ = tests.setdefault(node, (f"_percept_test_{len(tests)}", column))
        return Field((name,), node.span)

    tested = replace(
        clause,
        conditions=tuple(
            condition and replace(condition, node=rewritten(condition.node))
            for condition in clause.conditions
        ),
    )
    columns = dict(tests.values())
    with_tests = Schema((*schema.columns, *((name, BOOLEAN) for name in columns)), schema.lists)
    if set(needed_columns(clause, schema)) <= set(needed_columns(tested, with_tests)):
        return TestedRows(clause, schema, {})
    return TestedRows(tested, with_tests, columns)


class _Translator:
    """Writes conditions for Spark; `None` stands for what may mean something else there."""

    def __init__(self, schema: Schema, frame: StructType) -> None:
        self._schema = schema
        # Texts of other collations compare in another way.
        self._binary = {
            field.name for field in frame if field.dataType == StringType("UTF8_BINARY")
        }

    def condition(self, node: Node) -> Column | None:  # noqa: PLR0911 - one line per kind of node
        match node:
            case tree.And(operands=operands):
                return self._joined(operands, and_)
            case tree.Or(operands=operands):
                return self._joined(operands, or_)
            case tree.Not(operand=operand):
                inner = self.condition(operand)
                return None if inner is None else ~inner
            case tree.Comparison(operator=operator, left=left, right=right):
                return self._compared(operator, left, right)
            case tree.In(operand=operand, items=items):
                equal = ComparisonOperator.EQUAL
                return self._joined(
                    tuple(tree.Comparison(equal, operand, item) for item in items), or_
                )
            case tree.IsNull(operand=Field(path=(name,))):
                return F.col(quoted_name(name)).isNull()
            case _:
                return None

    def _joined(self, operands: tuple[Node, ...], join: Callable[[Any, Any], Any]) -> Column | None:
        columns = [self.condition(operand) for operand in operands]
        known = [column for column in columns if column is not None]
        return reduce(join, known) if len(known) == len(columns) else None

    def _compared(self, operator: ComparisonOperator, left: Node, right: Node) -> Column | None:
        match left, right:
            case tree.Literal(), Field():
                return self._compared(operator.mirrored, right, left)
            case Field(path=(name,)), tree.Literal(value=value):
                found = self._schema.type_of((name,))
                kind = None if found is None else found.computed.kind
                if not self._is_alike(name, kind, value):
                    return None
                compared: Column = _COMPARE[operator](F.col(quoted_name(name)), F.lit(value))
                return compared
            case _:
                return None

    def _is_alike(self, name: str, kind: Kind | None, value: object) -> bool:
        match value:
            case bool():
                return kind is Kind.BOOLEAN
            case int():
                return kind is Kind.BIGINT and MIN_BIGINT <= value <= MAX_BIGINT
            case str():
                return kind is Kind.STRING and name in self._binary
            case _:
                return False
