"""What is wrong with a pattern: where, what, and how to fix it.

`validation` and the readers of documents and printed patterns collect `Problem`s; a `PatternError`
carries all of them, so that an author fixes a pattern in one go.
"""

import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
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

_MOST_TOLD: Final = 100


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
        message = f"{place}: {self.message} {self.remedy}".rstrip()
        return f"{message}\n{self.snippet}" if self.snippet else message


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


def shape_problems(
    errors: Sequence[ErrorDetails], problem_of: Callable[[ErrorDetails], Problem]
) -> Iterator[Problem]:
    """Yield what pydantic found wrong as problems: a hundred, and how many more there are."""
    yield from map(problem_of, errors[:_MOST_TOLD])
    if len(errors) > _MOST_TOLD:
        more = len(errors) - _MOST_TOLD
        yield Problem("", f"there are {more} more problems of its shape.", "Mend these first.")


def shape_problem(details: ErrorDetails, path: str, known_keys: Iterable[str] = ()) -> Problem:
    """Return what pydantic found wrong with the shape of a document, at a path, as a problem.

    The value is repeated in the message if it is there. An unknown key gets a suggestion out of
    `known_keys`, those of the mapping around it.
    """
    given = f"{reprlib.repr(details['input'])} " if "input" in details else ""
    match details["type"]:
        case "missing":
            return Problem(path, "missing.", "Add it.")
        case "extra_forbidden":
            return Problem(path, "unknown key.", did_you_mean(str(details["loc"][-1]), known_keys))
        case "value_error":
            return Problem(path, type_remedy(details), "")
        case _ if given == "None ":  # a key with nothing behind it
            return Problem(path, "missing.", type_remedy(details))
        case "enum" | "literal_error" if given:
            known = re.findall(r"'(\w+)'", details["ctx"]["expected"])
            return Problem(
                path, f"{given}is not known.", did_you_mean(str(details["input"]), known)
            )
        case _:
            return Problem(path, f"{given}does not fit.", type_remedy(details))


def path_of(location: Iterable[int | str]) -> str:
    """Return the path that keys and indexes lead along, such as `steps[2].where`."""
    keys = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in location)
    return "".join(keys).removeprefix(".")


def type_remedy(details: ErrorDetails) -> str:
    """Return what to write where a value has another type, in the words of YAML, not of Python.

    For all but types the remedy is what pydantic says itself.
    """
    if details["type"] == "value_error":  # pydantic puts "Value error, " in front
        return f"{details['ctx']['error']}".rstrip(".") + "."
    wanted = _WANTED.get(details["type"])
    return f"{details['msg']}." if wanted is None else f"Write {wanted}."
