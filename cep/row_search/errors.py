"""What can go wrong while a clause runs."""

from cep.expression import EvaluationError
from cep.nfa.errors import MatchingError


class RowPatternFailure(MatchingError):
    """A query failed on these rows, such as a skip that would find the same match again.

    `code` names the rule: SKIP_TO_ABSENT_VARIABLE, SKIP_TO_FIRST_ROW, DIVISION_BY_ZERO, EVALUATION.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def failure_of(error: EvaluationError, text: str) -> RowPatternFailure:
    """Return the failure of a query for an expression that cannot be evaluated on a row."""
    code = "DIVISION_BY_ZERO" if "division by zero" in str(error) else "EVALUATION"
    return RowPatternFailure(code, f"{text}: {error}")
