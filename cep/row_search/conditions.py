"""The conditions of DEFINE, compiled: what a row alone decides, and what a candidate does.

    condition ──split──► test on the row (columnar, once per row) · residual (per candidate)

Source: ISO/IEC 19075-5, 4.16: the row is tentatively mapped to the variable while it is tested.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from cep.expression import (
    EvaluationError,
    FieldReader,
    Node,
    compile_predicate,
    compile_scalar,
    split,
)
from cep.expression.tree import Call, walk
from cep.row_pattern.bound import (
    ArrayValue,
    BoundExpression,
    BoundReference,
    Fold,
    NumberOfMatch,
    ValueAt,
    references_of,
)
from cep.row_search.errors import failure_of
from cep.row_search.memory import FoldItem, Memory, MemoryLayout, RowsItem, remembered_row
from cep.row_search.row_values import compile_row_value, slot_of_reference


class Rows(Protocol):
    """The rows of a partition by index; `row` is `None` outside of what there is."""

    def row(self, index: int) -> Any:
        """Return the row at an index, `None` if the partition has none there."""


@dataclass(slots=True)
class Tentative:
    """A candidate with the row under test mapped to a variable.

    `variable_at` tells the variable of a row of the match so far, by index.
    """

    rows: Rows
    index: int
    memory: Memory
    match_number: int
    variable_at: Callable[[int], int | None]
    readers: Sequence["Reader"] = field(default=())

    def __getitem__(self, slot: int) -> Any:
        """Return the value of a reference of the condition under test."""
        return self.readers[slot](self)


Reader = Callable[[Tentative], Any]


@dataclass(frozen=True, slots=True)
class CompiledCondition:
    """A condition in two parts that must both hold; `None` = always true.

    `row_test` reads the row alone. `residual` reads the candidate, or other rows of the partition;
    `rest` is its expression. Where `is_of_row` it depends on the row and those around it only.
    `lookahead`: how many rows after the row under test must be known. `sees_path`: it can ask for
    the variable of any row.
    """

    row_test: Node | None
    rest: Node | None
    residual: Callable[[Any, Tentative], bool] | None
    is_of_row: bool
    lookahead: int
    sees_path: bool


def compile_condition(
    condition: BoundExpression | None,
    names: Sequence[str],
    layout: MemoryLayout,
    field_reader: FieldReader,
) -> CompiledCondition:
    """Return the compiled form of a condition; it raises `RowPatternFailure` where it fails."""
    if condition is None:
        return CompiledCondition(None, None, None, is_of_row=True, lookahead=0, sees_path=False)
    parts = split(condition.node)
    row_test, rest = parts.event, parts.residual
    if _may_fail(condition.node):
        # It must be evaluated for the rows the search asks for, and no others.
        row_test, rest = None, condition.node
    references = condition.references
    residual = None
    if rest is not None:
        readers = [_reader(reference, names, layout, field_reader) for reference in references]
        residual = _residual(condition.text, rest, readers, field_reader)
    values = [r for r in references_of(condition) if isinstance(r, ValueAt)]
    return CompiledCondition(
        row_test,
        rest,
        residual,
        is_of_row=all(_is_of_row(reference) for reference in references),
        lookahead=max([0, *(value.shift for value in values)]),
        sees_path=any(value.value.reads_classifier and value.shift for value in values),
    )


def _may_fail(node: Node) -> bool:
    return any(
        isinstance(n, Call) and n.function in {"ISO_DIVIDE", "ISO_MODULO"} for n in walk(node)
    )


def _is_of_row(reference: BoundReference) -> bool:
    return (
        isinstance(reference, ValueAt)
        and reference.start is None
        and not reference.value.reads_classifier
    )


def _residual(
    text: str, node: Node, readers: Sequence[Reader], field_reader: FieldReader
) -> Callable[[Any, Tentative], bool]:
    holds = compile_predicate(node, field_reader, slot_of_reference)

    def test(row: Any, tentative: Tentative) -> bool:
        tentative.readers = readers
        try:
            return holds(row, tentative)
        except EvaluationError as error:
            raise failure_of(error, text) from error

    return test


def _reader(
    reference: BoundReference, names: Sequence[str], layout: MemoryLayout, field_reader: FieldReader
) -> Reader:
    match reference:
        case NumberOfMatch():
            return lambda tentative: tentative.match_number
        case Fold():
            number = layout.number(reference)
            item = layout.items[number]
            if not isinstance(item, FoldItem):
                raise TypeError("an aggregate is remembered as one")
            result = item.compiled.result
            return lambda tentative: result(tentative.memory[number])
        case ArrayValue(items=items):
            return _array_reader(items, names, layout, field_reader)
        case ValueAt():
            return _value_reader(reference, names, layout, field_reader)


def _array_reader(
    items: Sequence[BoundExpression],
    names: Sequence[str],
    layout: MemoryLayout,
    field_reader: FieldReader,
) -> Reader:
    compiled = [
        (
            compile_scalar(item.node, field_reader, slot_of_reference),
            [_reader(r, names, layout, field_reader) for r in item.references],
        )
        for item in items
    ]

    def read(tentative: Tentative) -> Any:
        outer = tentative.readers
        row = tentative.rows.row(tentative.index)
        values = []
        for evaluate, readers in compiled:
            tentative.readers = readers
            values.append(evaluate(row, tentative))
        tentative.readers = outer
        return values

    return read


def _value_reader(
    reference: ValueAt, names: Sequence[str], layout: MemoryLayout, field_reader: FieldReader
) -> Reader:
    evaluate = compile_row_value(reference.value, field_reader)
    start = reference.start
    number = -1 if start is None else layout.number(start)
    item = None if start is None else layout.items[number]
    shift, reads_classifier = reference.shift, reference.value.reads_classifier

    def read(tentative: Tentative) -> Any:
        index, variable = tentative.index, None
        if isinstance(item, RowsItem):
            found = remembered_row(item, tentative.memory[number])
            if found is None:
                return None
            index, variable = found
        index += shift
        row = tentative.rows.row(index)
        if row is None:
            return None
        if reads_classifier and (shift or variable is None):
            variable = tentative.variable_at(index)
        name = None if variable is None else names[variable]
        return evaluate(row, (name, tentative.match_number))

    return read
