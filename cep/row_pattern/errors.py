"""What can be wrong with a clause: which rule it breaks, where, and how to fix it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum

from cep.expression.errors import ExpressionError, Problem, problem_at
from cep.expression.tree import Span


class Mistake(StrEnum):
    """Which rule of the clause a mistake breaks."""

    SYNTAX = "SYNTAX"
    TOO_LARGE = "TOO_LARGE"
    UNKNOWN_COLUMN = "UNKNOWN_COLUMN"
    UNKNOWN_VARIABLE = "UNKNOWN_VARIABLE"
    AMBIGUOUS_COLUMN = "AMBIGUOUS_COLUMN"
    COLUMN_EXPECTED = "COLUMN_EXPECTED"
    NO_COLUMNS = "NO_COLUMNS"
    DEFINE = "DEFINE"
    SUBSET = "SUBSET"
    QUANTIFIER = "QUANTIFIER"
    EXCLUSION_WITH_UNMATCHED = "EXCLUSION_WITH_UNMATCHED"
    SEARCH_MODE_NOT_ALLOWED = "SEARCH_MODE_NOT_ALLOWED"
    SKIP_TO_UNKNOWN_VARIABLE = "SKIP_TO_UNKNOWN_VARIABLE"
    PROCESSING_MODE = "PROCESSING_MODE"
    FINAL_IN_DEFINE = "FINAL_IN_DEFINE"
    NESTING = "NESTING"
    MIXED_VARIABLES = "MIXED_VARIABLES"
    OFFSET = "OFFSET"
    ARGUMENTS = "ARGUMENTS"
    CLASSIFIER_ARGUMENT = "CLASSIFIER_ARGUMENT"
    AGGREGATE_CLAUSE = "AGGREGATE_CLAUSE"
    STAR = "STAR"
    WITHIN = "WITHIN"
    TYPE = "TYPE"
    STREAM = "STREAM"


class ClauseError(ExpressionError):
    """The text is no MATCH_RECOGNIZE clause, or does not fit the columns.

    `mistake` is the rule it breaks; `problem` says where, what and how to fix it. `problems` are
    all that were found, that one first: one per condition, measure, or other part of the clause.
    """

    def __init__(
        self, mistake: Mistake, problem: Problem, others: Sequence["ClauseError"] = ()
    ) -> None:
        super().__init__(problem)
        self.mistake = mistake
        self.problems: tuple[Problem, ...] = (
            problem,
            *(found for other in others for found in other.problems),
        )

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class Mistakes:
    """Collects the problems of several parts of a clause, so that they are reported together."""

    def __init__(self) -> None:
        self._found: list[ClauseError] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note the error that the block raises, and go on after the block."""
        try:
            yield
        except ClauseError as error:
            self._found.append(error)

    def refuse(self) -> None:
        """Raise what has been noted.

        Raises:
            ClauseError: there was something; it has all problems, in order.
        """
        if self._found:
            first, *others = self._found
            raise ClauseError(first.mistake, first.problem, others) from first


def refusal(text: str, span: Span, mistake: Mistake, message: str, hint: str = "") -> ClauseError:
    """Return the error that points at a stretch of the text."""
    return ClauseError(mistake, problem_at(text, span, message, hint))
