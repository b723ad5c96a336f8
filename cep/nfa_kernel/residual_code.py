"""Conditions on earlier events as code: what is asked of the partial matches of a machine.

Machine, ResidualSource ──residual_code──► ResidualCode: what is read, code, its numbers
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from cep.compiling import MOST_BITS, Ints
from cep.condition_code.arrays import CodeTables
from cep.condition_code.expression_code import Code, CodeWriter
from cep.condition_code.operands import NotCompilable, Operands
from cep.condition_code.tables import code_tables
from cep.expression import Aggregate, AggregateFunction, Kind, Schema, columns_of
from cep.expression.checking.inference import type_of
from cep.nfa.machine import Machine
from cep.nfa.transition_table import ResidualSource, RuleCondition
from cep.row_pattern.bound import BoundReference, Fold, RowExpression, RowOfMatch, ValueAt

NO_CODE: Final = -1
_MOST_RESIDUALS: Final = 6
"""What an event does is written down for each set of conditions that hold."""
_PLAIN: Final = frozenset(
    {
        Kind.TINYINT,
        Kind.SMALLINT,
        Kind.INT,
        Kind.BIGINT,
        Kind.FLOAT,
        Kind.DOUBLE,
        Kind.BOOLEAN,
        Kind.STRING,
        Kind.DATE,
        Kind.TIMESTAMP,
        Kind.TIMESTAMP_NTZ,
    }
)
"""The columns of events that come back from what is kept of keys as they went there."""


@dataclass(frozen=True, slots=True, eq=False)
class ResidualCode:
    """What the conditions of a machine ask of partial matches.

    Args:
        operands: what they read.
        tests: their code.
        numbers: by rule and condition, the number of its code, or `NO_CODE`.
    """

    operands: Operands
    tests: CodeTables
    numbers: Ints


def residual_code(machine: Machine) -> ResidualCode:
    """Return the code of a machine.

    Raises:
        NotCompilable: it has something that only the interpreter knows.
    """
    if machine.table.most_residuals > _MOST_RESIDUALS:
        raise NotCompilable(f"more than {_MOST_RESIDUALS} conditions on earlier events at a step")
    rules = machine.table.rules
    numbers = np.full((len(rules), machine.program.condition_count), NO_CODE, np.int64)
    operands = Operands(_schema(rules))
    codes: dict[Code, int] = {}
    for rule, conditions in enumerate(rules):
        for place, condition in enumerate(conditions):
            if condition.residual is None:
                continue
            if condition.source is None:
                raise NotCompilable("a condition that calls Python")
            code = _code(condition.source, operands)
            numbers[rule, place] = codes.setdefault(code, len(codes))
    return ResidualCode(operands, code_tables(operands, list(codes)), numbers)


def _schema(rules: tuple[tuple[RuleCondition, ...], ...]) -> Schema:
    """Return the columns of the events, which all conditions of a machine have in common."""
    sources = (condition.source for conditions in rules for condition in conditions)
    schema = next((source.schema for source in sources if source is not None), Schema(()))
    if schema is None:
        raise NotCompilable("conditions on earlier events over columns of unknown types")
    return schema


def _code(source: ResidualSource, operands: Operands) -> Code:
    writer = CodeWriter(partial(_reference, source.step_names, operands.schema), operands)
    code = writer.condition(source.node).code
    columns = [*operands.int_columns, *operands.float_columns]
    for name in {name for column in columns for name in columns_of(column.node)}:
        data_type = operands.schema.type_of((name,))
        if data_type is None or data_type.kind not in _PLAIN:
            # The fields of a struct are left out: this is sent and shown, for each rule.
            kind = "unknown" if data_type is None else data_type.kind
            raise NotCompilable(f"a condition on {name} of an earlier event, of type {kind}")
    return code


def _reference(step_names: tuple[str, ...], schema: Schema, aggregate: Aggregate) -> BoundReference:
    step = step_names.index(aggregate.step)
    if step >= MOST_BITS:
        raise NotCompilable(f"conditions on more than {MOST_BITS} steps")
    fold = partial(
        Fold, aggregate.function, is_distinct=False, variables=frozenset({step}), is_final=False
    )
    operand = aggregate.operand
    if operand is None:
        if aggregate.function is not AggregateFunction.COUNT:
            raise NotCompilable(f"{aggregate.function} of whole events")
        return fold(value=None)
    if not columns_of(operand):
        raise NotCompilable(f"{aggregate.function} of a constant")
    value = RowExpression(operand, reads_classifier=False, data_type=type_of(operand, schema))
    if aggregate.function in {AggregateFunction.FIRST, AggregateFunction.LAST}:
        is_first = aggregate.function is AggregateFunction.FIRST
        row = RowOfMatch(is_first, frozenset({step}), offset=0, is_final=False)
        return ValueAt(row, 0, value)
    return fold(value=value)
