"""Compiled: the stack machine that tests conditions.

Source: `cep.expression.evaluation.scalar`, whose meaning its operations have.
"""

from typing import Final

from cep.compiling import Floats, in_caller, inlined
from cep.condition_code import opcodes as op
from cep.condition_code.arrays import Candidate, CodeTables, Columns, Flags, Memory, Stack
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


@in_caller
def holds(  # noqa: PLR0913, PLR0917 - compiled code takes arguments by place
    tests: CodeTables,
    columns: Columns,
    memory: Memory,
    stack: Stack,
    condition: int,
    row: int,
    candidate: Candidate,
) -> int:
    """Return whether a condition is true of a row, the memory having taken it already.

    Args:
        tests: the code.
        columns: what it reads of rows.
        memory: what it reads of the candidate.
        stack: room, as deep as the code is long.
        condition: which one.
        row: the row under test.
        candidate: what it is tested for.
    """
    place, stop = tests.begin[condition], tests.begin[condition + 1]
    top, outcome = -1, NOT_TRUE
    while place < stop and outcome == NOT_TRUE:
        operation, argument = tests.code[place, 0], tests.code[place, 1]
        place += 1
        if operation <= op.MATCH_NUMBER:
            top += 1
            outcome = _push(tests, columns, memory, stack, top, operation, argument, row, candidate)
        elif operation <= op.COMPARE_FLOAT:
            top -= 1
            _compare(stack, top, operation, argument)
        elif operation <= op.JUMP_UNLESS_NULL:
            jumps, top = _jump(stack, top, operation)
            if jumps:
                place += argument
        elif operation <= op.DISTINCT_FLOAT:
            top -= 1
            _combine(stack, top, operation)
        elif operation <= op.ABSOLUTE_FLOAT:
            _change(stack, top, operation, argument)
        else:
            top -= 1
            if not _calculate(stack, top, operation):
                outcome = GAVE_UP
    if outcome == NOT_TRUE and not stack.nulls[top] and stack.ints[top] != 0:
        outcome = TRUE
    return outcome


@in_caller
def _push(  # noqa: C901, PLR0912, PLR0913, PLR0917 - one branch per operation
    tests: CodeTables,
    columns: Columns,
    memory: Memory,
    stack: Stack,
    top: int,
    operation: int,
    argument: int,
    row: int,
    candidate: Candidate,
) -> int:
    """Put a value on the stack; return `NOT_TRUE`, or why there is none yet."""
    ints, floats, nulls = stack
    nulls[top] = False
    if operation == op.COLUMN_INT:
        ints[top] = columns.ints[argument, row]
        nulls[top] = columns.int_nulls[argument, row]
    elif operation == op.PUSH_INT:
        ints[top] = tests.ints[argument]
    elif operation in (op.VALUE_INT, op.VALUE_FLOAT):
        item = tests.values[argument, 0]
        at = row
        if item >= 0:
            at = remembered_row(tests.items, memory, candidate.place, candidate.start, item)
        if at < 0:
            nulls[top] = True
            return NOT_TRUE
        at += tests.values[argument, 1]
        if at >= candidate.end and not candidate.is_ended:
            return LATER
        if at < candidate.begin or at >= candidate.end:
            nulls[top] = True
            return NOT_TRUE
        column = tests.values[argument, 2]
        if operation == op.VALUE_INT:
            ints[top], nulls[top] = columns.ints[column, at], columns.int_nulls[column, at]
        else:
            floats[top], nulls[top] = columns.floats[column, at], columns.float_nulls[column, at]
    elif operation == op.COLUMN_FLOAT:
        floats[top] = columns.floats[argument, row]
        nulls[top] = columns.float_nulls[argument, row]
    elif operation == op.PUSH_FLOAT:
        floats[top] = tests.floats[argument]
    elif operation == op.PUSH_NULL:
        nulls[top] = True
    elif operation == op.FOLD:
        whole, real, is_null, could = fold_result(tests.items, memory, candidate.place, argument)
        if not could:
            return GAVE_UP
        ints[top], floats[top], nulls[top] = whole, real, is_null
    else:
        ints[top] = candidate.number
    return NOT_TRUE


@in_caller
def _compare(stack: Stack, top: int, operation: int, relation: int) -> None:
    """Put the truth of a comparison of the two values from `top` on in their place."""
    ints, floats, nulls = stack
    nulls[top] = nulls[top] or nulls[top + 1]
    if operation == op.COMPARE_INT:
        left, right = ints[top], ints[top + 1]
        ints[top] = _related(int(left > right) - int(left < right), relation)
    else:
        ints[top] = _related(order_of(floats[top], floats[top + 1]), relation)


@in_caller
def _jump(stack: Stack, top: int, operation: int) -> tuple[bool, int]:
    """Return whether code is passed over, and where the top of the stack is then."""
    ints, _, nulls = stack
    if operation == op.JUMP_IF_FALSE:
        return not nulls[top] and ints[top] == 0, top
    if operation == op.JUMP_IF_TRUE:
        return not nulls[top] and ints[top] != 0, top
    if operation == op.JUMP_UNLESS_TRUE:
        return nulls[top] or ints[top] == 0, top - 1
    if operation == op.JUMP_UNLESS_NULL and nulls[top]:
        return False, top - 1
    return True, top


@in_caller
def _combine(stack: Stack, top: int, operation: int) -> None:
    """Put what two values from `top` on are together in their place: AND, OR, whether distinct."""
    ints, floats, nulls = stack
    if operation == op.AND:
        if not nulls[top + 1] and ints[top + 1] == 0:
            ints[top], nulls[top] = 0, False
        else:
            nulls[top] = nulls[top] or nulls[top + 1]
    elif operation == op.OR:
        if not nulls[top + 1] and ints[top + 1] != 0:
            ints[top], nulls[top] = 1, False
        else:
            nulls[top] = nulls[top] or nulls[top + 1]
    else:
        if nulls[top] or nulls[top + 1]:
            ints[top] = int(nulls[top] != nulls[top + 1])
        elif operation == op.DISTINCT_INT:
            ints[top] = int(ints[top] != ints[top + 1])
        else:
            ints[top] = int(order_of(floats[top], floats[top + 1]) != 0)
        nulls[top] = False


@in_caller
def _change(stack: Stack, top: int, operation: int, argument: int) -> None:
    """Put what an operation makes of one value in its place."""
    ints, floats, nulls = stack
    if operation == op.NOT:
        ints[top] = 1 - ints[top]
    elif operation == op.IS_NULL:
        ints[top], nulls[top] = int(nulls[top]), False
    elif operation == op.IS_TRUTH:
        ints[top] = int(not nulls[top] and ints[top] == argument)
        nulls[top] = False
    elif operation == op.TO_FLOAT:
        floats[top] = float(ints[top])
    elif operation == op.NEGATE_FLOAT:
        floats[top] = -floats[top]
    elif operation == op.ABSOLUTE_FLOAT:
        floats[top] = abs(floats[top])
    else:
        nulls[top] = nulls[top] or ints[top] == _MIN
        ints[top] = -ints[top] if operation == op.NEGATE_INT else abs(ints[top])


@in_caller
def _calculate(stack: Stack, top: int, operation: int) -> bool:
    """Put what two numbers from `top` on make in their place; return whether it could."""
    ints, floats, nulls = stack
    nulls[top] = nulls[top] or nulls[top + 1]
    if operation > op.MODULO_INT:
        return _calculate_float(floats, nulls, top, operation)
    left, right = ints[top], ints[top + 1]
    if operation == op.ADD_INT:
        nulls[top] = nulls[top] or sum_overflows(left, right)
        ints[top] = left + right
    elif operation == op.SUBTRACT_INT:
        nulls[top] = nulls[top] or _difference_overflows(left, right)
        ints[top] = left - right
    elif operation == op.MULTIPLY_INT:
        nulls[top] = nulls[top] or product_overflows(left, right)
        ints[top] = left * right
    elif not nulls[top]:
        if right == 0 or _MIN in (left, right):
            return False
        quotient = abs(left) // abs(right)
        quotient = quotient if (left < 0) == (right < 0) else -quotient
        ints[top] = quotient if operation == op.DIVIDE_INT else left - quotient * right
    return True


@in_caller
def _calculate_float(floats: Floats, nulls: Flags, top: int, operation: int) -> bool:
    if operation == op.ADD_FLOAT:
        floats[top] += floats[top + 1]
    elif operation == op.SUBTRACT_FLOAT:
        floats[top] -= floats[top + 1]
    elif operation == op.MULTIPLY_FLOAT:
        floats[top] *= floats[top + 1]
    elif operation == op.DIVIDE_FLOAT:
        if not nulls[top]:
            if floats[top + 1] == 0:
                return False
            floats[top] /= floats[top + 1]
    else:
        nulls[top] = nulls[top] or floats[top + 1] == 0
        if not nulls[top]:
            floats[top] /= floats[top + 1]
    return True
