"""The columns that the SELECT in front of a clause names, of those that the clause outputs."""

from collections.abc import Sequence

from cep.row_pattern.clause import Query
from cep.row_pattern.errors import Mistake, refusal


def selected(query: Query, columns: Sequence[str]) -> tuple[tuple[int, str], ...]:
    """Return place and new name of each column of a clause that is selected; all of them for `*`.

    Raises:
        ClauseError: the clause has no such column.
    """
    if query.columns is None:
        return tuple(enumerate(columns))
    known = [name.casefold() for name in columns]
    found = []
    for column, name in query.columns:
        if column.text.casefold() not in known:
            message = f"there is no column {column.text}"
            hint = f"the clause outputs: {', '.join(columns)}"
            raise refusal(query.clause.text, column.span, Mistake.UNKNOWN_COLUMN, message, hint)
        found.append((known.index(column.text.casefold()), name.text))
    return tuple(found)
