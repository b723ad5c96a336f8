"""From a match to rows: measures, and the columns around them.

Source: ISO/IEC 19075-5, 4.10, 4.11 and chapter 5.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

from cep.expression import EvaluationError, FieldReader, compile_scalar
from cep.row_pattern.bound import (
    ArrayValue,
    BoundClause,
    BoundExpression,
    BoundReference,
    Fold,
    NumberOfMatch,
    RowOfMatch,
    ValueAt,
    Variables,
)
from cep.row_pattern.clause import RowsPerMatch
from cep.row_search.errors import failure_of
from cep.row_search.matched import MatchedRows, RowOutcome
from cep.row_search.row_values import compile_fold, compile_row_value, slot_of_reference

_ALL_ROWS = {RowsPerMatch.SHOW_EMPTY, RowsPerMatch.OMIT_EMPTY, RowsPerMatch.WITH_UNMATCHED}


class RowOutput:
    """Turns what a search finds into the rows of the result; `columns` are their names."""

    def __init__(self, clause: BoundClause, field_reader: FieldReader) -> None:
        self.columns = tuple(name for name, _ in clause.columns)
        self._is_all_rows = clause.rows_per_match in _ALL_ROWS
        self._shows_empty = clause.rows_per_match is not RowsPerMatch.OMIT_EMPTY
        ordering = [name for name, _ in clause.order_by] if self._is_all_rows else []
        leading = dict.fromkeys([*clause.partition_by, *ordering])
        self._before = [field_reader((name,)) for name in leading]
        self._behind = [field_reader((name,)) for name in clause.row_columns]
        self._names = clause.variables
        self._measures = [
            (expression.text, _compiled(expression, field_reader, clause.variables))
            for _, expression in clause.measures
        ]

    def rows(self, found: MatchedRows) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of one match, in order; the values are those of `BoundClause.columns`.

        Raises:
            RowPatternFailure: a measure cannot be computed.
        """
        if found.kind is RowOutcome.TIMEOUT:
            return
        if found.kind is RowOutcome.UNMATCHED_ROW:
            yield self._row(found.rows[found.start], (None,) * len(self._measures))
        elif found.is_empty:
            if self._shows_empty:
                yield self._row(found.rows[found.start], self._measured(_RowsSeen(found, -1)))
        elif self._is_all_rows:
            seen = _RowsSeen(found, 0)
            for place, code in enumerate(found.codes):
                if not code & 1:
                    seen.current = place
                    yield self._row(found.rows[found.start + place], self._measured(seen))
        else:
            last = len(found.codes) - 1
            row = found.rows[found.start + last]
            yield self._row(row, self._measured(_RowsSeen(found, last)))

    def dicts(self, found: MatchedRows) -> Iterator[dict[str, Any]]:
        """Yield the rows of one match by column; of two columns with one name the first counts.

        Errors are those of `rows`.
        """
        for row in self.rows(found):
            named: dict[str, Any] = {}
            for name, value in zip(self.columns, row, strict=True):
                named.setdefault(name, value)
            yield named

    def _row(self, row: Any, measures: tuple[Any, ...]) -> tuple[Any, ...]:
        return (
            *(read(row) for read in self._before),
            *measures,
            *(read(row) for read in self._behind),
        )

    def _measured(self, seen: "_RowsSeen") -> tuple[Any, ...]:
        values = []
        for text, evaluate in self._measures:
            try:
                values.append(evaluate(seen))
            except EvaluationError as error:
                raise failure_of(error, text) from error
        return tuple(values)


class _RowsSeen:
    """The rows of a match, seen from one of them: `current` counts from 0, -1 = there is none.

    Also what the expression under evaluation reads by slot.
    """

    __slots__ = ("_places", "current", "folded", "found", "readers")

    def __init__(self, found: MatchedRows, current: int) -> None:
        self.found = found
        self.current = current
        self.readers: list[Callable[[_RowsSeen], Any]] = []
        self.folded: dict[Fold, list[Any]] = {}
        self._places: dict[Variables, list[int]] = {}

    def __getitem__(self, slot: int) -> Any:
        return self.readers[slot](self)

    def places(self, variables: Variables) -> list[int]:
        """Return the places in the match of the rows of some variables, in order."""
        if variables not in self._places:
            self._places[variables] = [
                place
                for place, code in enumerate(self.found.codes)
                if variables is None or code >> 1 in variables
            ]
        return self._places[variables]

    def place_of(self, row: RowOfMatch) -> int | None:
        """Return the place of a row in the match; `None` if there is no such row."""
        if self.current < 0:
            return None
        places = self.places(row.variables)
        count = len(places) if row.is_final else bisect_right(places, self.current)
        number = row.offset if row.is_first else count - 1 - row.offset
        return places[number] if 0 <= number < count else None


_Measure = Callable[[_RowsSeen], Any]


def _compiled(
    expression: BoundExpression, field_reader: FieldReader, names: tuple[str, ...]
) -> _Measure:
    evaluate = compile_scalar(expression.node, field_reader, slot_of_reference)
    readers = [_reader(reference, field_reader, names) for reference in expression.references]

    def value(seen: _RowsSeen) -> Any:
        outer, seen.readers = seen.readers, readers
        result = evaluate(None, seen)
        seen.readers = outer
        return result

    return value


def _reader(
    reference: BoundReference, field_reader: FieldReader, names: tuple[str, ...]
) -> _Measure:
    match reference:
        case NumberOfMatch():
            return lambda seen: seen.found.number
        case ArrayValue(items=items):
            compiled = [_compiled(item, field_reader, names) for item in items]
            return lambda seen: [evaluate(seen) for evaluate in compiled]
        case Fold():
            return _fold_reader(reference, field_reader, names)
        case ValueAt():
            return _value_reader(reference, field_reader, names)


def _value_reader(
    reference: ValueAt, field_reader: FieldReader, names: tuple[str, ...]
) -> _Measure:
    evaluate = compile_row_value(reference.value, field_reader)
    start, shift = reference.start, reference.shift
    if start is None:
        raise TypeError("a measure has no row under test")

    def read(seen: _RowsSeen) -> Any:
        place = seen.place_of(start)
        if place is None:
            return None
        place += shift
        found = seen.found
        index = found.start + place
        if not 0 <= index < len(found.rows):
            return None
        in_match = 0 <= place < len(found.codes)
        name = names[found.codes[place] >> 1] if in_match else None
        return evaluate(found.rows[index], (name, found.number))

    return read


def _fold_reader(reference: Fold, field_reader: FieldReader, names: tuple[str, ...]) -> _Measure:
    fold = compile_fold(reference, field_reader)

    def states(seen: _RowsSeen) -> list[Any]:
        """The states after 0, 1, 2 ... rows of the variables."""
        found, state = seen.found, fold.initial
        result = [state]
        for place in seen.places(fold.variables):
            known = (names[found.codes[place] >> 1], found.number)
            state = fold.fold(state, found.rows[found.start + place], known)
            result.append(state)
        return result

    def read(seen: _RowsSeen) -> Any:
        if reference not in seen.folded:
            seen.folded[reference] = states(seen)
        known = seen.folded[reference]
        places = seen.places(fold.variables)
        count = len(places) if reference.is_final else bisect_right(places, seen.current)
        return fold.result(known[count])

    return read
