"""Compiled: the stack machine that tests conditions.

Source: `cep.expression.evaluation.scalar`, whose meaning its operations have.
"""

from typing import Final

from cep.compiling import Floats, Ints, in_place, inlined
from cep.condition_code import opcodes as op
from cep.condition_code.arrays import Flags
from cep.condition_code.memory import fold_result, order_of, remembered_row, sum_overflows

TRUE: Final = 1
NOT_TRUE: Final = 0
LATER: Final = -1
"""A row that is not there yet decides."""
GAVE_UP: Final = -2

_MIN: Final = -(2**63)
_MAX: Final = 2**63 - 1


@inlined
def product_overflows(left: int, right: int) -> bool:
    """Return whether a product is beyond 64 bits.

    It is asked of quotients before anything is multiplied: to the compiler a product of signed
    numbers never overflows, so that it takes `left * right // right` for `left`.
    """
    if left in (0, 1) or right in (0, 1):
        return False
    if _MIN in (left, right):
        return True
    if left < 0 and right < 0:
        return -left > _MAX // -right
    if left > 0 and right > 0:
        return left > _MAX // right
    # One is below zero: what is left over goes up to -2**63, which is one more.
    negative, positive = min(left, right), max(left, right)
    return -negative > (_MAX - positive + 1) // positive + 1


@inlined
def _difference_overflows(left: int, right: int) -> bool:
    return (right < 0 and left > _MAX + right) or (right > 0 and left < _MIN + right)


@inlined
def _related(order: int, relation: int) -> int:
    if relation == op.EQUAL:
        return int(order == 0)
    if relation == op.NOT_EQUAL:
        return int(order != 0)
    if relation == op.LESS:
        return int(order < 0)
    if relation == op.LESS_OR_EQUAL:
        return int(order <= 0)
    if relation == op.GREATER:
        return int(order > 0)
    return int(order >= 0)


def _holds(  # noqa: C901, PLR0912, PLR0913, PLR0915, PLR0917 - one branch per operation
    begins: Ints,
    code: Ints,
    int_constants: Ints,
    float_constants: Floats,
    values: Ints,
    row_items: Ints,
    folds: Ints,
    int_columns: Ints,
    int_nulls: Flags,
    float_columns: Floats,
    float_nulls: Flags,
    memory: Ints,
    reals: Floats,
    ints: Ints,
    floats: Floats,
    nulls: Flags,
    condition: int,
    row: int,
    start: int,
    remembered: int,
    begin: int,
    end: int,
    is_ended: bool,  # noqa: FBT001 - compiled code takes arguments by place
    number: int,
) -> int:
    """Return whether a condition is true of a row, the memory having taken it already.

    Args:
        begins: where the code of conditions begins; as all up to `folds` see `CodeTables`.
        code: the operations.
        int_constants: constants.
        float_constants: constants.
        values: columns at other rows.
        row_items: see `Items`.
        folds: see `Items`.
        int_columns: up to `float_nulls` see `Columns`.
        int_nulls: where they are NULL.
        float_columns: columns.
        float_nulls: where they are NULL.
        memory: up to `reals` see `cep.condition_code.memory`.
        reals: its floats.
        ints: the stack, with `floats` and `nulls`.
        floats: the stack.
        nulls: the stack.
        condition: which one.
        row: the row under test.
        start: the first row of the candidate.
        remembered: the place of the memory of the candidate.
        begin: the first row of the partition.
        end: after the last one.
        is_ended: whether no row comes after.
        number: of the match, from 1.
    """
    place, stop = begins[condition], begins[condition + 1]
    top = -1
    outcome = NOT_TRUE
    while place < stop:
        operation, argument = code[place, 0], code[place, 1]
        place += 1
        if operation <= op.MATCH_NUMBER:
            top += 1
            nulls[top] = False
            if operation == op.COLUMN_INT:
                ints[top] = int_columns[argument, row]
                nulls[top] = int_nulls[argument, row]
            elif operation == op.PUSH_INT:
                ints[top] = int_constants[argument]
            elif operation in (op.VALUE_INT, op.VALUE_FLOAT):
                item = values[argument, 0]
                at = row
                if item >= 0:
                    at = remembered_row(row_items, memory, remembered, start, item)
                if at < 0:
                    nulls[top] = True
                    continue
                at += values[argument, 1]
                if at >= end and not is_ended:
                    outcome = LATER
                    break
                if at < begin or at >= end:
                    nulls[top] = True
                    continue
                column = values[argument, 2]
                if operation == op.VALUE_INT:
                    ints[top] = int_columns[column, at]
                    nulls[top] = int_nulls[column, at]
                else:
                    floats[top] = float_columns[column, at]
                    nulls[top] = float_nulls[column, at]
            elif operation == op.COLUMN_FLOAT:
                floats[top] = float_columns[argument, row]
                nulls[top] = float_nulls[argument, row]
            elif operation == op.PUSH_FLOAT:
                floats[top] = float_constants[argument]
            elif operation == op.PUSH_NULL:
                nulls[top] = True
            elif operation == op.FOLD:
                whole, real, is_null, could = fold_result(
                    row_items, folds, memory, reals, remembered, argument
                )
                if not could:
                    outcome = GAVE_UP
                    break
                ints[top], floats[top], nulls[top] = whole, real, is_null
            else:
                ints[top] = number
        elif operation == op.COMPARE_INT:
            top -= 1
            nulls[top] = nulls[top] or nulls[top + 1]
            left, right = ints[top], ints[top + 1]
            ints[top] = _related(int(left > right) - int(left < right), argument)
        elif operation == op.COMPARE_FLOAT:
            top -= 1
            nulls[top] = nulls[top] or nulls[top + 1]
            ints[top] = _related(order_of(floats[top], floats[top + 1]), argument)
        elif operation == op.JUMP_IF_FALSE:
            if not nulls[top] and ints[top] == 0:
                place += argument
        elif operation == op.JUMP_IF_TRUE:
            if not nulls[top] and ints[top] != 0:
                place += argument
        elif operation == op.AND:
            top -= 1
            if not nulls[top + 1] and ints[top + 1] == 0:
                ints[top], nulls[top] = 0, False
            else:
                nulls[top] = nulls[top] or nulls[top + 1]
        elif operation == op.OR:
            top -= 1
            if not nulls[top + 1] and ints[top + 1] != 0:
                ints[top], nulls[top] = 1, False
            else:
                nulls[top] = nulls[top] or nulls[top + 1]
        elif operation == op.NOT:
            ints[top] = 1 - ints[top]
        elif operation == op.IS_NULL:
            ints[top], nulls[top] = int(nulls[top]), False
        elif operation == op.IS_TRUTH:
            ints[top] = int(not nulls[top] and ints[top] == argument)
            nulls[top] = False
        elif operation == op.TO_FLOAT:
            floats[top] = float(ints[top])
        elif operation <= op.MULTIPLY_INT:
            top -= 1
            nulls[top] = nulls[top] or nulls[top + 1]
            left, right = ints[top], ints[top + 1]
            if operation == op.ADD_INT:
                nulls[top] = nulls[top] or sum_overflows(left, right)
                ints[top] = left + right
            elif operation == op.SUBTRACT_INT:
                nulls[top] = nulls[top] or _difference_overflows(left, right)
                ints[top] = left - right
            else:
                nulls[top] = nulls[top] or product_overflows(left, right)
                ints[top] = left * right
        elif operation <= op.MULTIPLY_FLOAT:
            top -= 1
            nulls[top] = nulls[top] or nulls[top + 1]
            if operation == op.ADD_FLOAT:
                floats[top] += floats[top + 1]
            elif operation == op.SUBTRACT_FLOAT:
                floats[top] -= floats[top + 1]
            else:
                floats[top] *= floats[top + 1]
        elif operation in (op.DIVIDE_INT, op.MODULO_INT):
            top -= 1
            nulls[top] = nulls[top] or nulls[top + 1]
            if not nulls[top]:
                left, right = ints[top], ints[top + 1]
                if right == 0 or _MIN in (left, right):
                    outcome = GAVE_UP
                    break
                quotient = abs(left) // abs(right)
                quotient = quotient if (left < 0) == (right < 0) else -quotient
                ints[top] = quotient if operation == op.DIVIDE_INT else left - quotient * right
        elif operation == op.DIVIDE_FLOAT:
            top -= 1
            nulls[top] = nulls[top] or nulls[top + 1]
            if not nulls[top]:
                if floats[top + 1] == 0:
                    outcome = GAVE_UP
                    break
                floats[top] /= floats[top + 1]
        elif operation == op.NEGATE_INT:
            nulls[top] = nulls[top] or ints[top] == _MIN
            ints[top] = -ints[top]
        elif operation == op.NEGATE_FLOAT:
            floats[top] = -floats[top]
        elif operation == op.ABSOLUTE_INT:
            nulls[top] = nulls[top] or ints[top] == _MIN
            ints[top] = abs(ints[top])
        elif operation == op.ABSOLUTE_FLOAT:
            floats[top] = abs(floats[top])
        elif operation == op.QUOTIENT:
            top -= 1
            nulls[top] = nulls[top] or nulls[top + 1] or floats[top + 1] == 0
            if not nulls[top]:
                floats[top] /= floats[top + 1]
        elif operation == op.JUMP:
            place += argument
        elif operation == op.JUMP_UNLESS_TRUE:
            top -= 1
            if nulls[top + 1] or ints[top + 1] == 0:
                place += argument
        elif operation == op.JUMP_UNLESS_NULL:
            if nulls[top]:
                top -= 1
            else:
                place += argument
        else:
            top -= 1
            if nulls[top] or nulls[top + 1]:
                ints[top] = int(nulls[top] != nulls[top + 1])
            elif operation == op.DISTINCT_INT:
                ints[top] = int(ints[top] != ints[top + 1])
            else:
                ints[top] = int(order_of(floats[top], floats[top + 1]) != 0)
            nulls[top] = False
    if outcome == NOT_TRUE and not nulls[top] and ints[top] != 0:
        outcome = TRUE
    return outcome


holds = inlined(_holds)
"""See `_holds`; it becomes a part of the function that calls it, which makes no array itself."""

holds_apart = in_place(_holds)
"""The same as a call of its own, for functions that make arrays; see `in_place`."""
