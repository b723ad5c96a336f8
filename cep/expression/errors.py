"""Errors of expressions: where, what, and how to fix it.

All stages use these: the parser raises `ExpressionError`, the type check collects `Problem`s, the
evaluators raise `EvaluationError`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

_SHOWN_AROUND: Final = 200
"""Characters of a line that are shown before a mistake, and from it on."""

_LONGEST_NAME: Final = 100
"""Comparing names takes the product of their lengths; nobody misspells longer ones."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in an expression.

    `line` and `column` count from 1 and point at the first wrong character; `snippet` is that line,
    or 200 characters on both sides of it, with carets below the wrong part. `hint` says how to fix
    it and may be empty.
    """

    message: str
    hint: str
    line: int
    column: int
    snippet: str

    def __str__(self) -> str:
        hint = f"\n{self.hint}" if self.hint else ""
        return f"line {self.line}, column {self.column}: {self.message}\n{self.snippet}{hint}"


class ExpressionError(ValueError):
    """The text is not an expression of this language, or does not fit the schema."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem
        self.message = problem.message
        self.hint = problem.hint
        self.line = problem.line
        self.column = problem.column
        self.snippet = problem.snippet

    def __str__(self) -> str:
        return str(self.problem)


class UnknownParameter(ExpressionError):
    """The text names a parameter, `:name`, that is not declared."""


class ExpressionTooLarge(ExpressionError):
    """The text is longer, or nested deeper, than the limit."""

    def __init__(self, problem: Problem, *, given: int, limit: int) -> None:
        super().__init__(problem)
        self.given = given
        self.limit = limit


class EvaluationError(Exception):
    """An expression cannot be evaluated for some values, such as a text compared with a number.

    A checked expression raises only where polars fails on values that it should take.
    """


def problem_at(text: str, span: tuple[int, int], message: str, hint: str = "") -> Problem:
    """Return the problem with its line, column and snippet.

    `span` is the first character and the one after the last, as indexes into the expression.
    """
    start, end = span
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    source = text[line_start : len(text) if line_end < 0 else line_end]
    column = start - line_start + 1
    width = max(1, min(end - start, len(source) - column + 1))
    snippet = _snippet(source, column - 1, width)
    return Problem(message, hint, text.count("\n", 0, start) + 1, column, snippet)


def _snippet(line: str, start: int, width: int) -> str:
    """Return a line with carets below its wrong part; of a long one, what is around that."""
    first, last = max(start - _SHOWN_AROUND, 0), start + _SHOWN_AROUND
    before = ("…" if first else "") + line[first:start]
    after = line[start:last] + ("…" if last < len(line) else "")
    # A tab must stay a tab, or the caret would be in another column.
    indent = "".join("\t" if character == "\t" else " " for character in before)
    return f"  {before}{after}\n  {indent}{'^' * min(width, _SHOWN_AROUND)}"


def near_name(name: str, known: Iterable[str]) -> str:
    """Return "did you mean ...?" for the nearest known names, or an empty text."""
    if len(name) > _LONGEST_NAME:
        return ""
    spellings = {each.casefold(): each for each in known if len(each) <= _LONGEST_NAME}
    near = get_close_matches(name.casefold(), spellings, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(spellings[match] for match in near)}?" if near else ""
