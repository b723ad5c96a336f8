"""The operations of compiled conditions: a small stack machine, so that no rule compiles code.

Numbers and not an enumeration, as compiled code takes them as constants. An operation of integers
works on `int64`: whole numbers, truth values, points in time and intervals in microseconds, and
texts as their rank among all texts of the call.
"""

from typing import Final

PUSH_INT: Final = 0
PUSH_FLOAT: Final = 1
PUSH_NULL: Final = 2
COLUMN_INT: Final = 3
"""The value of a column at the row under test."""
COLUMN_FLOAT: Final = 4
VALUE_INT: Final = 5
"""The value of a column at another row, by the number of its `ValueAt`."""
VALUE_FLOAT: Final = 6
FOLD: Final = 7
"""The value of an aggregate, by its number."""
MATCH_NUMBER: Final = 8
TO_FLOAT: Final = 9
COMPARE_INT: Final = 10
"""Compare two; the argument is one of the relations below."""
COMPARE_FLOAT: Final = 11
ADD_INT: Final = 12
SUBTRACT_INT: Final = 13
MULTIPLY_INT: Final = 14
ADD_FLOAT: Final = 15
SUBTRACT_FLOAT: Final = 16
MULTIPLY_FLOAT: Final = 17
DIVIDE_INT: Final = 18
"""Truncated towards zero; gives up on a division by zero, which is an error."""
DIVIDE_FLOAT: Final = 19
MODULO_INT: Final = 20
"""With the sign of the left side; gives up as a division does."""
NEGATE_INT: Final = 21
NEGATE_FLOAT: Final = 22
AND: Final = 23
OR: Final = 24
NOT: Final = 25
IS_NULL: Final = 26
IS_TRUTH: Final = 27
"""Whether the value is the truth value of the argument."""
JUMP: Final = 28
JUMP_IF_FALSE: Final = 29
"""Jump and keep the value; else go on and keep it, too."""
JUMP_IF_TRUE: Final = 30
JUMP_UNLESS_TRUE: Final = 31
"""Take a value off; jump unless it is true."""
JUMP_UNLESS_NULL: Final = 32
"""Jump and keep the value unless it is NULL; else take it off."""
DISTINCT_INT: Final = 33
DISTINCT_FLOAT: Final = 34
ABSOLUTE_INT: Final = 35
ABSOLUTE_FLOAT: Final = 36
QUOTIENT: Final = 37
"""Divide floats; NULL by zero."""

EQUAL: Final = 0
NOT_EQUAL: Final = 1
LESS: Final = 2
LESS_OR_EQUAL: Final = 3
GREATER: Final = 4
GREATER_OR_EQUAL: Final = 5

COUNT: Final = 0
SUM_INT: Final = 1
MIN_INT: Final = 2
MAX_INT: Final = 3
AVERAGE_INT: Final = 4
"""The last of those that fold integers."""
SUM_FLOAT: Final = 5
MIN_FLOAT: Final = 6
MAX_FLOAT: Final = 7
AVERAGE_FLOAT: Final = 8
COUNT_FLOAT: Final = 9
"""COUNT of floats, whose NULLs stand apart from those of integers."""
FLOAT_RESULTS: Final = frozenset({SUM_FLOAT, MIN_FLOAT, MAX_FLOAT, AVERAGE_INT, AVERAGE_FLOAT})
"""The aggregates whose value is a float."""
