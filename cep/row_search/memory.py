"""What a candidate remembers of its rows for the conditions to come.

A condition may look back: at the last rows of a variable, at a sum. Of all that was matched a
candidate keeps just what some condition can ask for. Two candidates at the same place with the same
memory have the same future, so only the preferred one is followed.

Source: Trino's `MatchAggregation` and thread equivalence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cep.expression import FieldReader
from cep.row_pattern.bound import (
    BoundExpression,
    Fold,
    RowOfMatch,
    ValueAt,
    Variables,
    references_of,
)
from cep.row_search.row_values import CompiledFold, compile_fold

Memory = tuple[Any, ...]
"""One value per item; never changed, so that candidates share it.

A rows item holds `(row, variable)` pairs: of FIRST at most one, once there are enough rows (before:
their count); of LAST the latest ones.
"""


@dataclass(frozen=True, slots=True)
class RowsItem:
    """Remembers the row at an offset from the first, or the latest rows, of some variables."""

    variables: Variables
    is_first: bool
    offset: int


@dataclass(frozen=True, slots=True)
class FoldItem:
    """Remembers the state of an aggregate."""

    fold: Fold
    compiled: CompiledFold

    @property
    def variables(self) -> Variables:
        """The variables whose rows it folds."""
        return self.fold.variables


Item = RowsItem | FoldItem


class MemoryLayout:
    """Which items the conditions of a clause need, and how they change with a row.

    Conditions are by variable, `None` = always true.
    """

    def __init__(
        self,
        conditions: Sequence[BoundExpression | None],
        names: Sequence[str],
        field_reader: FieldReader,
    ) -> None:
        self._names = names
        self._field_reader = field_reader
        self._numbers: dict[RowOfMatch | Fold, int] = {}
        self.items: list[Item] = []
        self.of_condition = [self._add(condition) for condition in conditions]
        self.initial: Memory = tuple(_initial(item) for item in self.items)
        self._changes = [
            [
                (number, item)
                for number, item in enumerate(self.items)
                if item.variables is None or variable in item.variables
            ]
            for variable in range(len(conditions))
        ]

    def _add(self, condition: BoundExpression | None) -> frozenset[int]:
        if condition is None:
            return frozenset()
        return frozenset(
            self.number(reference if isinstance(reference, Fold) else reference.start)
            for reference in references_of(condition)
            if isinstance(reference, Fold)
            or (isinstance(reference, ValueAt) and reference.start is not None)
        )

    def number(self, what: RowOfMatch | Fold | None) -> int:
        """Return the number of the item that remembers a row or an aggregate."""
        if what is None:
            raise ValueError("the row under test is not remembered")
        if what not in self._numbers:
            self._numbers[what] = len(self.items)
            if isinstance(what, Fold):
                self.items.append(FoldItem(what, compile_fold(what, self._field_reader)))
            else:
                self.items.append(RowsItem(what.variables, what.is_first, what.offset))
        return self._numbers[what]

    def with_row(
        self, memory: Memory, variable: int, index: int, row: Any, match_number: int
    ) -> Memory:
        """Return the memory once a row has been taken as a variable.

        Raises:
            EvaluationError: an aggregate cannot be computed.
        """
        changes = self._changes[variable]
        if not changes:
            return memory
        values = list(memory)
        for number, item in changes:
            if isinstance(item, FoldItem):
                known = (self._names[variable], match_number)
                values[number] = item.compiled.fold(values[number], row, known)
            else:
                values[number] = _with_row(item, values[number], (index, variable))
        return tuple(values)


def _initial(item: Item) -> Any:
    if isinstance(item, FoldItem):
        return item.compiled.initial
    return 0 if item.is_first else ()


def _with_row(item: RowsItem, value: Any, row: tuple[int, int]) -> Any:
    if item.is_first:
        if not isinstance(value, int):
            return value
        return (row,) if value == item.offset else value + 1
    return (*value[-item.offset :], row) if item.offset else (row,)


def remembered_row(item: RowsItem, value: Any) -> tuple[int, int] | None:
    """Return the row an item asks for, and its variable; `None` if there is no such row."""
    if item.is_first:
        return None if isinstance(value, int) else value[0]
    return value[0] if len(value) > item.offset else None
