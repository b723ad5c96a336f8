"""What is wrong with a pattern: where, what, and how to mend it.

`validation` and the readers of documents and printed patterns collect `Problem`s; a `PatternError`
carries all of them at once, so that an author mends a pattern in one go.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from pydantic_core import ErrorDetails

_WANTED: Final = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_attributes_type": "a mapping",
    "model_type": "a mapping",
    "string_type": "text",
    "tuple_type": "a list",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a pattern.

    `path` is the path into the document, such as `steps[2].group.steps[0].times`; empty for the
    pattern as a whole. `line` and `column` count from 1 in the text that the pattern came from, or
    else in the condition that is wrong; `snippet` is its line with carets below the mistake.
    """

    path: str
    message: str
    remedy: str
    line: int | None = None
    column: int | None = None
    snippet: str = ""

    def __str__(self) -> str:
        place = self.path or "pattern"
        if self.line is not None:
            place += f" (line {self.line}, column {self.column})"
        told = f"{place}: {self.message} {self.remedy}".rstrip()
        return f"{told}\n{self.snippet}" if self.snippet else told


class PatternError(ValueError):
    """A pattern is refused; `problems` holds every reason, in the order of their lines."""

    def __init__(self, problems: Iterable[Problem]):
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line or 0))
        super().__init__(self.problems)

    def __str__(self) -> str:
        match self.problems:
            case (problem,):
                return str(problem)
            case several:
                lines = (
                    f"  {number}. {problem}".replace("\n", "\n     ")
                    for number, problem in enumerate(several, 1)
                )
                return "\n".join([f"The pattern has {len(several)} problems:", *lines])


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the remedy for an unknown word: the nearest known one, or all of them."""
    choices = list(known)
    if near := get_close_matches(word, choices, n=1):
        return f"Did you mean '{near[0]}'?"
    return f"Known here: {', '.join(repr(choice) for choice in choices)}." if choices else ""


def type_remedy(details: ErrorDetails) -> str:
    """Return what to write where a value has another type, in the words of YAML, not of Python.

    Args:
        details: what pydantic found wrong; for all but types the remedy is what it says itself.
    """
    wanted = _WANTED.get(details["type"])
    return f"{details['msg']}." if wanted is None else f"Write {wanted}."
