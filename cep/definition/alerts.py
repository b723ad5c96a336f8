"""What is wrong with how a rule tells its matches: columns that are not output.

definition ──alert_problems · clause_alert_problems──► check_definition
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cep.definition.document import ProcessorAlert, ProcessorContent
from cep.pattern import Problem
from cep.pattern.problems import did_you_mean
from cep.row_pattern.clause import Query


def alert_problems(content: ProcessorContent) -> Iterator[Problem]:
    """Yield columns that matches are told apart by and that are not output."""
    if content.alert is None or content.alert.suppress is None or content.function is not None:
        return
    columns = content.select or {}
    if "match_recognize" in content.pattern:
        return  # its columns are known once the clause is read, see `_row_pattern_problems`
    for index, name in enumerate(content.alert.suppress.by):
        if name not in columns:
            yield _no_column(index, name, columns)


def clause_alert_problems(given: Mapping[str, Any], query: Query) -> Iterator[Problem]:
    """Yield the same of a clause, whose columns are its measures."""
    alert = given.get("alert")
    if not isinstance(alert, ProcessorAlert) or alert.suppress is None:
        return
    columns = [str(measure.name) for measure in query.clause.measures]
    for index, name in enumerate(alert.suppress.by):
        if name not in columns:
            yield _no_column(index, name, columns)


def _no_column(index: int, name: str, columns: Iterable[str]) -> Problem:
    known = did_you_mean(name, columns) or "Name a column of select; the key counts anyway."
    return Problem(f"alert.suppress.by[{index}]", f"'{name}' is not output.", known)
