"""From compiled matches to a frame of the result, all matches of a call at once.

    Matches ──measure──► rows and aggregates by match ──polars──► the columns of ONE ROW PER MATCH

Source: `cep.row_search.output`, whose rows these are.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from cep.compiling import Ints
from cep.condition_code.columns import FrameColumns
from cep.condition_code.operands import NotCompilable, Operands
from cep.condition_code.tables import items_of
from cep.expression import DataType, Field, Kind, Node, Schema, aggregates_of, tree
from cep.expression.evaluation.columnar import compile_columnar
from cep.expression.rewrite import rebuilt
from cep.expression.types import BIGINT, DOUBLE
from cep.row_kernel.arrays import Matches, Partitions
from cep.row_kernel.columns import rows_of
from cep.row_kernel.measures import Measured, measure
from cep.row_pattern.bound import (
    BoundClause,
    BoundReference,
    Fold,
    NumberOfMatch,
    RowOfMatch,
    ValueAt,
)
from cep.row_pattern.clause import RowsPerMatch
from cep.row_search.row_values import slot_of_reference

_FOLD_KINDS: Final = frozenset({Kind.BIGINT, Kind.DOUBLE})


@dataclass(frozen=True, slots=True)
class _Row:
    """A value of another row, gathered from a column."""

    item: int
    shift: int
    column: pl.Expr


@dataclass(frozen=True, slots=True)
class _Fold:
    """The value of an aggregate."""

    number: int
    is_float: bool


@dataclass(frozen=True, slots=True)
class _Number:
    """The number of the match."""


_Slot = _Row | _Fold | _Number


class CompiledOutput:
    """The rows of ONE ROW PER MATCH, with name and type of each column of the result.

    Raises:
        NotCompilable: a measure has something that is computed row by row only.
    """

    def __init__(
        self, clause: BoundClause, schema: Schema, types: list[tuple[str, pl.DataType]]
    ) -> None:
        if clause.rows_per_match is not RowsPerMatch.ONE_ROW:
            raise NotCompilable("all rows of a match")
        self._types = [data_type for _, data_type in types]
        self._key = clause.partition_by
        self._operands = Operands(schema)
        self._slots: list[_Slot] = []
        slot_types: list[DataType] = []
        nodes = []
        for _, expression in clause.measures:
            base = len(self._slots)
            for reference in expression.references:
                slot, data_type = self._slot(reference)
                self._slots.append(slot)
                slot_types.append(data_type)
            nodes.append(_with_slots(expression.node, base))
        names = [f"slot {number}" for number in range(len(self._slots))]
        slots = Schema(tuple(zip(names, slot_types, strict=True)))
        self._measures = [compile_columnar(node, slots) for node in nodes]
        self._columns = FrameColumns(self._operands)
        self._items = items_of(self._operands.items, self._operands.folds)

    def _slot(self, reference: BoundReference) -> tuple[_Slot, DataType]:
        match reference:
            case NumberOfMatch():
                return _Number(), BIGINT
            case Fold():
                number, kind = self._operands.fold(reference)
                if kind not in _FOLD_KINDS:
                    raise NotCompilable(kind)
                return _Fold(number, kind is Kind.DOUBLE), DOUBLE if kind is Kind.DOUBLE else BIGINT
            case ValueAt(start=RowOfMatch() as start, shift=shift, value=value):
                if aggregates_of(value.node):
                    raise NotCompilable("CLASSIFIER()")
                # All rows of the match are there: running and final are one.
                item = self._operands.item(replace(start, is_final=False))
                column = compile_columnar(value.node, self._operands.schema)
                return _Row(item, shift, column), value.data_type.computed
            case _:
                raise NotCompilable("an array")

    def frame(
        self, frame: pl.DataFrame, partitions: Partitions, matches: Matches
    ) -> pl.DataFrame | None:
        """Return the rows of the result; `None` if one of them must be computed by itself."""
        no_ints = np.zeros(len(frame) if self._operands.int_columns else 0, np.int64)
        rows, _ = rows_of(self._columns, frame, no_ints, no_ints, no_ints)
        measured = measure(self._items, rows, matches)
        if not measured.could:
            return None
        begin, end = partitions.begin[matches.partition], partitions.end[matches.partition]
        slots = pl.DataFrame(
            {
                f"slot {number}": self._values(slot, frame, matches, measured, begin, end)
                for number, slot in enumerate(self._slots)
            },
            height=len(matches.first_row),
        )
        keys = frame.select(self._key)[matches.first_row]
        values = slots.select(m.alias(f"m{n}") for n, m in enumerate(self._measures))
        series = [*keys.get_columns(), *values.get_columns()]
        return pl.DataFrame(
            [
                one.cast(data_type).alias(f"{place}")
                for place, (one, data_type) in enumerate(zip(series, self._types, strict=True))
            ]
        )

    def _values(  # noqa: PLR0913, PLR0917 - all of one call
        self,
        slot: _Slot,
        frame: pl.DataFrame,
        matches: Matches,
        measured: Measured,
        begin: Ints,
        end: Ints,
    ) -> pl.Series:
        match slot:
            case _Number():
                return pl.Series(matches.number)
            case _Fold(number=number, is_float=is_float):
                values = (measured.floats if is_float else measured.ints)[number]
                nothing = pl.Series(measured.nulls[number])
                return pl.Series(values).set(nothing, None)
            case _Row(item=item, shift=shift, column=column):
                places = measured.rows[item] + shift
                outside = (measured.rows[item] < 0) | (places < begin) | (places >= end)
                indices = pl.Series(np.where(outside, 0, places)).set(pl.Series(outside), None)
                return frame.select(column).to_series().gather(indices)


def _with_slots(node: Node, base: int) -> Node:
    """Return the expression of a measure over the columns of slots."""
    if isinstance(node, tree.Aggregate):
        return Field((f"slot {base + slot_of_reference(node)}",))
    return rebuilt(node, lambda child: _with_slots(child, base))
