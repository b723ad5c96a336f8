"""What a rule selects of thousands of matches, as JSON: pieces of texts where it can be.

    ChainColumns, SelectExpressions ──selected_texts──► `output` of each match

Columns of one event are taken as they are written there; other expressions are worked out match by
match.
"""

import pyarrow as pa

from cep.compiling import Ints
from cep.nfa.runs import by_step
from cep.processor import SelectExpressions
from processor_runtime.rows.arrow_texts import texts
from processor_runtime.rows.json_text import plain_json_text
from processor_runtime.stages.chained_columns import MatchTexts


def selected_texts(
    matches: MatchTexts, select: SelectExpressions, wanted: Ints
) -> pa.StringArray | None:
    """Return what is selected of each match; `None` if that fails for one.

    Args:
        matches: the matches.
        select: what is selected.
        wanted: places of the matches that it is for, ascending; others may have NULL.

    Raises:
        NoJson: there is something in it that JSON has no form for.
        TooLarge: it is.
    """
    if select.fields is not None and all(each.column in matches.columns for each in select.fields):
        return matches.selected(select.fields)
    events = matches.table.listed
    begin, steps, places = (
        each.tolist() for each in (matches.chained.begin, matches.chained.steps, matches.places)
    )
    found: list[str | None] = [None] * (len(begin) - 1)
    for number in wanted.tolist():
        part = slice(begin[number], begin[number + 1])
        of_steps = by_step(steps[part], places[part], matches.step_names)
        try:
            found[number] = plain_json_text(select.row(events.by_step(of_steps)))
        except Exception:  # noqa: BLE001 - it is met again where it is told
            return None
    return texts(found)
