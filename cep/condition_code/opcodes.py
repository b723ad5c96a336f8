"""The operations of compiled conditions: a small stack machine, so that no rule compiles code.

Numbers and not an enumeration, as compiled code takes them as constants. An operation of integers
works on `int64`: whole numbers, truth values, points in time and intervals in microseconds, and
texts as their rank among all texts of the call. Operations of a kind stand together, as the machine
asks for kinds by their last one.
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
COMPARE_INT: Final = 9
"""Compare two; the argument is one of the relations below."""
COMPARE_FLOAT: Final = 10
JUMP: Final = 11
JUMP_IF_FALSE: Final = 12
"""Jump and keep the value; else go on and keep it, too."""
JUMP_IF_TRUE: Final = 13
JUMP_UNLESS_TRUE: Final = 14
"""Take a value off; jump unless it is true."""
JUMP_UNLESS_NULL: Final = 15
"""Jump and keep the value unless it is NULL; else take it off."""
AND: Final = 16
OR: Final = 17
DISTINCT_INT: Final = 18
DISTINCT_FLOAT: Final = 19
NOT: Final = 20
IS_NULL: Final = 21
IS_TRUTH: Final = 22
"""Whether the value is the truth value of the argument."""
TO_FLOAT: Final = 23
NEGATE_INT: Final = 24
NEGATE_FLOAT: Final = 25
ABSOLUTE_INT: Final = 26
ABSOLUTE_FLOAT: Final = 27
ADD_INT: Final = 28
SUBTRACT_INT: Final = 29
MULTIPLY_INT: Final = 30
DIVIDE_INT: Final = 31
"""Truncated towards zero; gives up on a division by zero, which is an error."""
MODULO_INT: Final = 32
"""With the sign of the left side; gives up as a division does."""
ADD_FLOAT: Final = 33
SUBTRACT_FLOAT: Final = 34
MULTIPLY_FLOAT: Final = 35
DIVIDE_FLOAT: Final = 36
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
