"""The code of conditions, and what it reads, as arrays.

Operands, code by condition ──code_tables──► CodeTables ──with_ranks, in each call──► CodeTables
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from cep.compiling import table
from cep.condition_code.arrays import CodeTables, Items
from cep.condition_code.expression_code import Code
from cep.condition_code.operands import KernelFold, KernelValue, Operands
from cep.row_pattern.bound import RowOfMatch, Variables


def code_tables(operands: Operands, codes: Sequence[Code]) -> CodeTables:
    """Return the code of conditions with all that it reads.

    Args:
        operands: what it reads.
        codes: by condition; none = always true.
    """
    return CodeTables(
        items=items_of(operands.items, operands.folds),
        values=table([_value(value, operands) for value in operands.values], 3),
        begin=np.cumsum([0, *map(len, codes)], dtype=np.int64),
        code=table([part for code in codes for part in code], 2),
        ints=np.array(operands.ints, np.int64),
        floats=np.array(operands.floats, np.float64),
    )


def with_ranks(tables: CodeTables, ranks: Mapping[int, int]) -> CodeTables:
    """Return them with the rank of each constant text, by its place in `ints`."""
    if not ranks:
        return tables
    ints = tables.ints.copy()
    ints[list(ranks)] = list(ranks.values())
    return tables._replace(ints=ints)


def items_of(rows: Iterable[RowOfMatch], folds: Iterable[KernelFold]) -> Items:
    """Return what is remembered of a candidate, as arrays."""
    return Items(
        table([(bits_of(row.variables), row.is_first, row.offset) for row in rows], 3),
        table([(bits_of(fold.variables), fold.function, fold.column) for fold in folds], 3),
    )


def bits_of(variables: Variables) -> int:
    """Return variables as bits; all of them as -1."""
    return -1 if variables is None else sum(1 << variable for variable in variables)


def _value(value: KernelValue, operands: Operands) -> tuple[int, int, int]:
    item = -1 if value.item is None else operands.items[value.item]
    return item, value.shift, value.column
