"""The steps of a pattern as its author wrote them: names, conditions, and which must not come.

    definition of a version ──► WrittenStep, in order ──► funnel, diagnosis

Conditions are shown, so that nothing is compiled here, and no code of a rule is read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cep.explain.drawing import row_drawing
from cep.row_pattern.errors import ClauseError
from cep.row_pattern.parsing.clauses import read_query

LONGEST_CONDITION: Final = 500
_FORBIDDING: Final = frozenset({"not_next", "not_followed_by"})


@dataclass(frozen=True, slots=True)
class WrittenStep:
    """One step of a pattern, or one variable of a clause.

    `condition` is its text, "" where every event fits; `is_forbidden` if its events must not come,
    `is_optional` if there are matches without it.
    """

    name: str
    condition: str
    is_forbidden: bool = False
    is_optional: bool = False


def written_steps(pattern: Mapping[str, Any]) -> list[WrittenStep]:
    """Return the steps of a pattern document in order, each name once.

    Args:
        pattern: a document that has been accepted.
    """
    clause = pattern.get("match_recognize")
    steps = _of_elements(pattern.get("steps", [])) if clause is None else _of_clause(clause)
    return list({step.name: step for step in steps}.values())


def is_clause(pattern: Mapping[str, Any]) -> bool:
    """Return whether a pattern document is a clause in SQL."""
    return "match_recognize" in pattern


def _of_elements(
    elements: list[Mapping[str, Any]], *, is_optional: bool = False
) -> Iterator[WrittenStep]:
    for element in elements:
        may_lack = is_optional or _may_lack(element)
        if "group" in element:
            yield from _of_elements(element["group"]["steps"], is_optional=may_lack)
        else:
            is_forbidden = element.get("contiguity") in _FORBIDDING
            condition = _text(element.get("where"))
            yield WrittenStep(element["name"], condition, is_forbidden, may_lack)


def _may_lack(element: Mapping[str, Any]) -> bool:
    times = element.get("times")
    return bool(element.get("optional")) or (isinstance(times, Mapping) and times.get("from") == 0)


def _text(condition: Any) -> str:
    match condition:
        case None:
            return ""
        case str():
            return _cut(" ".join(condition.split()))
        case {"all_of": [*parts]}:
            return _cut(" AND ".join(f"({_text(part)})" for part in parts))
        case {"any_of": [*parts]}:
            return _cut(" OR ".join(f"({_text(part)})" for part in parts))
        case _:
            return "a condition in Python"


def _of_clause(text: str) -> Iterator[WrittenStep]:
    try:
        drawing = row_drawing(read_query(text).clause)
    except ClauseError:  # it was accepted by a version of the service that read more
        return
    yield from _of_drawing(drawing["pattern"])


def _of_drawing(part: Mapping[str, Any], *, is_optional: bool = False) -> Iterator[WrittenStep]:
    if part["kind"] == "variable":
        yield WrittenStep(part["name"], _cut(part["condition"]), is_optional=is_optional)
    may_lack = is_optional or part["kind"] == "alternation" or part.get("minimum") == 0
    for inner in (*part.get("parts", ()), *([part["inner"]] if "inner" in part else ())):
        yield from _of_drawing(inner, is_optional=may_lack)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_CONDITION else f"{text[: LONGEST_CONDITION - 1]}…"
