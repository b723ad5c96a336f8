"""All parts of an explanation of a pattern, independent of its language.

PatternTree or Query ──► normalised text, state graph, translation, drawing
"""

from collections.abc import Sequence
from typing import Any

from cep.explain.drawing import row_drawing
from cep.explain.event_states import event_states
from cep.explain.row_states import row_states
from cep.explain.state_graph import StateGraph
from cep.pattern.document.writing import yaml_of
from cep.pattern.printed.writing import printed
from cep.pattern.tree import PatternTree
from cep.row_pattern.clause import Query
from cep.row_pattern.writing import write_query
from cep.translation.refusals import NotExact
from cep.translation.to_pattern import pattern_of
from cep.translation.to_sql import clause_of

Source = PatternTree | Query


def normalised(source: Source) -> str:
    """Return a pattern in its own language, in the one layout: builder calls, or SQL."""
    return printed(source) if isinstance(source, PatternTree) else write_query(source)


def states_of(source: Source) -> StateGraph:
    """Return what a partial match can do next, from what really runs.

    Raises:
        ClauseError: a clause breaks a rule, or is too large.
        LimitExceeded: too much can follow somewhere in a clause.
    """
    if isinstance(source, PatternTree):
        return event_states(source)
    return row_states(source.clause)


def as_sql(source: Source, *, key_by: Sequence[str] = (), time_column: str = "ts") -> str:
    """Return a pattern as MATCH_RECOGNIZE, with the columns of its key and of its event time.

    Raises:
        NotExact: no clause finds exactly the same.
    """
    if isinstance(source, PatternTree):
        source = clause_of(source, key_by=key_by, time_column=time_column)
    return write_query(source)


def as_pattern(source: Source) -> str:
    """Return a pattern as a document in YAML.

    Raises:
        NotExact: no pattern finds exactly the same.
        ClauseError: the clause breaks a rule of its own language.
    """
    return yaml_of(source if isinstance(source, PatternTree) else pattern_of(source.clause))


def explained(
    source: Source, *, key_by: Sequence[str] = (), time_column: str = "ts"
) -> dict[str, Any]:
    """Return all of it as nested data for JSON; errors are those of `states_of`.

    `drawing` is `None` for a pattern, whose document is drawn. `translation` has a `text` where it
    is exact, else the `reason` why not and a `hint`.
    """
    is_pattern = isinstance(source, PatternTree)
    try:
        if isinstance(source, PatternTree):
            text = as_sql(source, key_by=key_by, time_column=time_column)
        else:
            text = as_pattern(source)
        translation = {"text": text}
    except NotExact as refusal:
        translation = {"reason": refusal.reason, "hint": refusal.hint}
    return {
        "language": "pattern" if is_pattern else "sql",
        "text": normalised(source),
        "states": states_of(source).document(),
        "drawing": None if isinstance(source, PatternTree) else row_drawing(source.clause),
        "translation": {"language": "sql" if is_pattern else "pattern", **translation},
    }
