"""What is wrong with how a rule tells its matches: columns that are not output.

definition ──alert_problems · clause_alert_problems──► check_definition
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from cep.definition.alert_document import ProcessorAlert
from cep.definition.document import ProcessorContent
from cep.pattern import Problem
from cep.pattern.problems import did_you_mean
from cep.row_pattern.clause import Query


def alert_problems(content: ProcessorContent) -> Iterator[Problem]:
    """Yield columns that matches are told apart by and that are not output."""
    if content.alert is None or content.function is not None:
        return
    if "match_recognize" in content.pattern:
        return  # its columns are known once the clause is read, see `_row_pattern_problems`
    yield from _unknown_columns(content.alert, content.select or {})


def clause_alert_problems(given: Mapping[str, Any], query: Query) -> Iterator[Problem]:
    """Yield the same of a clause, whose columns are its measures."""
    alert = given.get("alert")
    if isinstance(alert, ProcessorAlert):
        columns = [str(measure.name) for measure in query.clause.measures]
        yield from _unknown_columns(alert, columns)


def _unknown_columns(alert: ProcessorAlert, columns: Collection[str]) -> Iterator[Problem]:
    otherwise = "Name a column of select; the key counts anyway."
    suppressed_by = () if alert.suppress is None else alert.suppress.by
    yield from _not_output("alert.suppress.by", suppressed_by, columns, otherwise)
    otherwise = "Name a column of select, or leave `by` out: all matches are one group then."
    grouped_by = () if alert.group is None else alert.group.by
    yield from _not_output("alert.group.by", grouped_by, columns, otherwise)


def _not_output(
    path: str, names: Collection[str], columns: Collection[str], otherwise: str
) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if name not in columns:
            what = f"'{name}' is not output." if columns else f"'{name}' is not output: no select."
            known = did_you_mean(name, columns) or otherwise
            yield Problem(f"{path}[{index}]", what, known)
