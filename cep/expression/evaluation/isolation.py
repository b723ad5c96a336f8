"""Where a columnar evaluation fails: in which row, so that the others are computed all the same.

frame ──evaluate──► polars raises ──first_failure, working_parts──► the rows to blame

A checked expression does not raise, as far as is known; what polars makes of a value that nobody
has thought of must still not take the other rows and the other expressions with it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl

from cep.expression.errors import EvaluationError

Evaluate = Callable[[pl.DataFrame], Any]


@contextmanager
def evaluating() -> Iterator[None]:
    """Make an `EvaluationError` of whatever polars raises inside."""
    try:
        yield
    except (Exception, pl.exceptions.PanicException) as error:
        said = f"{type(error).__name__}: {error}"
        raise EvaluationError(f"polars cannot evaluate it: {said}") from error


def first_failure(rows: pl.DataFrame, evaluate: Evaluate) -> tuple[int, EvaluationError] | None:
    """Return the first row at which an evaluation fails, and how; `None` if it does not.

    `evaluate` raises `EvaluationError` for frames that hold a row at which it fails.
    """
    failure = _failure(rows, evaluate)
    if failure is None:
        return None
    first, end = 0, len(rows)
    while end - first > 1:
        middle = (first + end) // 2
        found = _failure(rows[first:middle], evaluate)
        if found is None:
            first = middle
        else:
            end, failure = middle, found
    return first, failure


def working_parts(
    rows: pl.DataFrame, evaluate: Evaluate
) -> Iterator[tuple[pl.DataFrame, EvaluationError | None]]:
    """Yield the rows in order, in parts that can be evaluated, and alone those that cannot."""
    failure = _failure(rows, evaluate)
    if failure is None or len(rows) == 1:
        yield rows, failure
        return
    middle = len(rows) // 2
    yield from working_parts(rows[:middle], evaluate)
    yield from working_parts(rows[middle:], evaluate)


def _failure(rows: pl.DataFrame, evaluate: Evaluate) -> EvaluationError | None:
    try:
        evaluate(rows)
    except EvaluationError as error:
        return error
    return None
