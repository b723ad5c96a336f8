"""The short notation of rows and matches in docs/sql.md: which variables each row can be.

`a ab -` ──► a row that can be A, one that can be A or B, one that can be neither
A A, B   ◄── two matches by their variables; () is an empty one
"""

from percept import match_recognize

_VARIABLES = "ABC"


def matches(pattern: str, rows: str, skip: str = "PAST LAST ROW") -> str:
    """Return the matches of a pattern in the notation of the page."""
    conditions = ", ".join(
        f"{name} AS CONTAINS(can, '{name.lower()}')" for name in _VARIABLES if name in pattern
    )
    clause = f"""
        MATCH_RECOGNIZE (
            ORDER BY n MEASURES ARRAY_AGG(CLASSIFIER()) AS variables
            AFTER MATCH SKIP {skip} PATTERN ({pattern}) DEFINE {conditions})
    """
    given = list(enumerate(rows.split()))
    found = match_recognize(clause, given, schema="n INT, can STRING").rows
    return ", ".join(" ".join(names) if names else "()" for (names,) in found) or "none"
