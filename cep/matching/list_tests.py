"""Tests whether something is in a list of the stream: made once per frame, for all rules that ask.

tests of many rules ──ListTests.of──► a column per list and operand ──► PredicateIndex
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from cep.expression import BOOLEAN, Field, Node, Schema, compile_columnar
from cep.expression.rewrite import rebuilt
from cep.expression.tree import InList, lists_in


@dataclass(frozen=True, slots=True)
class ListTests:
    """The tests whether something is in a list, each made once for all tests that hold it."""

    columns: Mapping[InList, str]

    @classmethod
    def of(cls, tests: Sequence[Node]) -> "ListTests":
        """Return those that are within some tests."""
        found = dict.fromkeys(each for test in tests for each in lists_in(test))
        return cls({each: f"_in_list_{number}" for number, each in enumerate(found)})

    def replaced(self, tests: Sequence[Node]) -> Sequence[Node]:
        """Return the tests with columns in the place of these."""
        return [self._replaced(test) for test in tests] if self.columns else tests

    def _replaced(self, node: Node) -> Node:
        if isinstance(node, InList):
            return Field((self.columns[node],), node.span)
        return rebuilt(node, self._replaced)

    def widened(self, schema: Schema) -> Schema:
        """Return the schema of a frame that has been tested."""
        more = tuple((name, BOOLEAN) for name in self.columns.values())
        return Schema((*schema.columns, *more), schema.lists)

    def tested(self, frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
        """Return a frame with the outcomes as further columns."""
        outcomes = (compile_columnar(n, schema).alias(name) for n, name in self.columns.items())
        return frame.with_columns(*outcomes) if self.columns else frame
