"""The windows of the rules of a group, compiled: what both stages do for them.

tests ──GroupWindows──► index of arriving events · values of what windows read · their columns
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cep.compiling import Ints
from cep.expression import (
    Expression,
    Kind,
    Node,
    Schema,
    compile_columnar,
    evaluating,
    to_sql,
)
from cep.expression.checking.inference import type_of
from cep.expression.types import to_polars
from cep.expression.values import Value
from cep.keyed.predicate_index import PredicateIndex
from cep.windows.columns import WindowColumns, arrival_tests


@dataclass(frozen=True)
class GroupWindows:
    """The windows of a group, if it has any.

    `parts`: what windows read of an event, as Polars computes it. `texts`: names of the same,
    for the state. `arriving`: the index of the first stage,
    which knows no windows; `rules`: of each of its tests the rule it is for, "" where it is the
    very test of the matching stage.
    """

    columns: WindowColumns
    schema: Schema
    parts: Mapping[Node, pl.Expr]
    texts: Mapping[Node, str]
    arriving: PredicateIndex
    rules: Sequence[str]

    @classmethod
    def of(
        cls, tests: Sequence[Node], schema: Schema, key_by: Sequence[str]
    ) -> "GroupWindows | None":
        """Return the windows of some tests of rules with this key; `None` if they have none.

        Raises:
            ExpressionError: one does not fit the schema.
        """
        key = [Expression.parse(text).root for text in key_by]
        # To a key NaN is NULL, to a partition it is not.
        same = [node for node in key if type_of(node, schema).kind is not Kind.DOUBLE]
        columns = WindowColumns.of(tests, same)
        if not columns:
            return None
        types = columns.widened(schema)
        parts = {part: compile_columnar(part, types) for part in columns.parts.values()}
        texts = {part: to_sql(read) for part, read in columns.parts.items()}
        arriving = arrival_tests(tests)
        index = PredicateIndex([test for _, test in arriving], schema)
        return cls(columns, schema, parts, texts, index, [rule for rule, _ in arriving])

    def evaluated(
        self, events: pl.DataFrame, part: Node, columns: Mapping[str, Sequence[Value]]
    ) -> list[Value]:
        """Return the values of something that windows read, of events with these columns.

        Raises:
            EvaluationError: polars fails on a value of one of the events.
        """
        frame = self.filled(events, columns)
        with evaluating():
            return list(frame.select(self.parts[part]).to_series().to_list())

    def filled(self, events: pl.DataFrame, values: Mapping[str, Sequence[Value]]) -> pl.DataFrame:
        """Return events with columns of windows."""
        types = self.columns.types(self.schema)
        return events.with_columns(
            pl.Series(name, of, to_polars(types[name])) for name, of in values.items()
        )

    def plain(self, events: pl.DataFrame) -> pl.DataFrame:
        """Return events without those columns."""
        return events.drop(self.columns.names.values())

    def arriving_rows(
        self,
        events: pl.DataFrame,
        is_active: Callable[[str], bool],
        concerns: Callable[[tuple[int, ...]], object],
    ) -> Ints:
        """Return the events that the second stage needs.

        Args:
            events: column `TIME` and those of the stream.
            is_active: whether windows of a rule count.
            concerns: whether an event does something for which these tests hold, and no others.

        Raises:
            EvaluationError: a test fails on one of the events.
        """

        def kind(true_tests: tuple[int, ...]) -> object:
            rules = [self.rules[number] for number in true_tests]
            if any(rule and is_active(rule) for rule in rules):
                return True
            return concerns(tuple(n for n in true_tests if not self.rules[n]))

        rows, _, _ = self.arriving.classify(events, kind)
        return np.asarray(rows)
