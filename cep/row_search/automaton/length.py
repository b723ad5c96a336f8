"""How many rows a match needs at least.

Source: ISO/IEC 19075-5, 4.14.
"""

from cep.row_pattern.clause import (
    Alternation,
    Concatenation,
    Exclusion,
    Permutation,
    Repetition,
    RowPattern,
    Variable,
)


def fewest_rows(pattern: RowPattern) -> int:
    """Return how many rows the shortest match of a pattern has; anchors are passed over."""
    match pattern:
        case Variable():
            return 1
        case Concatenation(parts=parts) | Permutation(parts=parts):
            return sum(map(fewest_rows, parts))
        case Alternation(alternatives=alternatives):
            return min(map(fewest_rows, alternatives))
        case Exclusion(inner=inner):
            return fewest_rows(inner)
        case Repetition(inner=inner, minimum=minimum):
            return minimum * fewest_rows(inner)
        case _:
            return 0
