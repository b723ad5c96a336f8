"""Whatever an author writes and whatever an event holds: it is evaluated at once, or refused."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cep.expression import (
    Expression,
    ExpressionError,
    ExpressionTooLarge,
    Schema,
    compile_columnar,
    compile_scalar,
    resolve,
)
from cep.pattern import Pattern, PatternError
from tests.expression.hostile_expressions import HOSTILE
from tests.patience import PATIENCE_SECONDS

SCHEMA = Schema.from_ddl("s STRING, t STRING")


@pytest.fixture(scope="module")
def evaluated() -> set[str]:
    """The names of what a process of its own has evaluated, or refused."""
    command = [sys.executable, "-m", "tests.expression.hostile_expressions"]
    folder = Path(__file__).parents[2]
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            command, cwd=folder, capture_output=True, timeout=PATIENCE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as expired:
        return set((expired.stdout or b"").decode().splitlines())
    assert done.returncode == 0, done.stderr.decode()[-2_000:]
    return set(done.stdout.decode().splitlines())


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_takes_for_ever(evaluated: set[str], name: str) -> None:
    assert name in evaluated


def values_of(text: str, **event: Any) -> list[Any]:
    """The value by both evaluators."""
    node = resolve(Expression.parse(text), [], SCHEMA)
    row = {"s": None, "t": None} | event
    frame = pl.DataFrame([row], schema=SCHEMA.to_polars())
    columnar = frame.select(found=compile_columnar(node, SCHEMA))["found"][0]
    return [compile_scalar(node)(row, ()), columnar]


def test_a_text_put_together_is_null_once_it_is_too_long() -> None:
    half = "é" * 32_768
    assert values_of("LENGTH(CONCAT(s, t))", s=half, t=half) == [65_536, 65_536]
    assert values_of("CONCAT(s, t)", s=half, t=half + "é") == [None, None]
    assert values_of("s || t || s", s=half, t=half) == [None, None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s RLIKE '(a{1000}){1000}'", "at most 2000 characters, repetitions written out"),
        ("s RLIKE '((a{10}){10}){11}'", "at most 1000 repetitions, nested ones multiplied"),
        ("s RLIKE 'a{99999999999999999999}'", "at most 1000 repetitions"),
        (f"s LIKE '%{'a_' * 1_000}%'", "at most 2000 characters with wildcards between them"),
        ("CAST(s AS DECIMAL(100, 1)) = 1", "CAST to DECIMAL(100, 1) is not allowed"),
    ],
)
def test_a_pattern_that_would_be_huge_is_refused(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression.parse(text)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("NULLIF(" * 12 + "s" + ", 'a')" * 12 + " = 'b'", 10_000),
        (" OR ".join(["s RLIKE '.{1000}'"] * 11), 10_000),
    ],
)
def test_an_expression_that_says_much_in_few_words_is_refused(text: str, limit: int) -> None:
    with pytest.raises(ExpressionTooLarge) as caught:
        Expression.parse(text)
    assert (caught.value.limit, caught.value.given > limit) == (limit, True)


def test_a_duration_of_a_million_parts_is_refused() -> None:
    with pytest.raises(PatternError, match="is not a duration"):
        Pattern.begin("a").within("1d" * 1_000_000)
