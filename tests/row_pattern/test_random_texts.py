"""Whatever the text is: it is a clause, or the error says where it is none."""

from random import Random
from time import process_time

import pytest

from cep.expression import Schema
from cep.row_pattern.analysis.analyse import analyse
from cep.row_pattern.errors import ClauseError
from cep.row_pattern.parsing.clauses import read_query
from tests.row_pattern.cases import FILES, load
from tests.row_pattern.random_texts import mutated, soup

TEXTS = 250
CPU_SECONDS = 10


def schema_of(columns: dict[str, str]) -> Schema:
    return Schema.from_ddl(", ".join(f"`{name}` {kind}" for name, kind in columns.items()))


def check(text: str, schema: Schema) -> bool:
    """Check that a text is a clause or is refused at a place in it; return whether it is one."""
    begin = process_time()
    try:
        clause = read_query(text).clause
        analyse(clause, None)
        analyse(clause, schema)
    except ClauseError as error:
        check_place(error, text)
        return False
    finally:
        assert process_time() - begin < CPU_SECONDS, text
    return True


def check_place(error: ClauseError, text: str) -> None:
    for problem in error.problems:
        assert problem.message
        lines = text.split("\n")
        line = lines[problem.line - 1]
        assert not line[problem.column - 1].isspace(), (problem, text)
        shown, carets = problem.snippet.split("\n")
        assert shown == f"  {line}"
        assert carets.index("^") == problem.column + 1
        assert len(carets) <= len(shown) + 1
        assert 1 <= problem.line <= len(lines)


@pytest.mark.parametrize("seed", range(4))
def test_mutated_clauses(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - nothing secret
    cases = [case for file in FILES for case in load(file)]
    accepted = 0
    for _ in range(TEXTS):
        case = random.choice(cases)
        accepted += check(mutated(random, case.query), schema_of(dict(case.columns)))
    assert 0 < accepted < TEXTS


@pytest.mark.parametrize("seed", range(2))
def test_soups_of_words(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - nothing secret
    schema = schema_of({"p": "BIGINT", "t": "TIMESTAMP", "a": "STRING"})
    for _ in range(TEXTS):
        check(soup(random), schema)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\n",
        "MATCH_RECOGNIZE",
        "MATCH_RECOGNIZE (" + "(" * 50_000,
        "MATCH_RECOGNIZE ( PATTERN (" + "(" * 63 + "A" + ")" * 63 + ") DEFINE A AS TRUE )",
        "MATCH_RECOGNIZE ( PATTERN (" + "{-" * 5_000 + "A" + "-}" * 5_000 + ") DEFINE A AS TRUE )",
        "MATCH_RECOGNIZE ( PATTERN (A) DEFINE A AS " + "NOT " * 20_000 + "TRUE )",
        "MATCH_RECOGNIZE ( PATTERN (A) DEFINE A AS " + "- " * 40_000 + "p > 1 )",
        "MATCH_RECOGNIZE ( PATTERN (A) DEFINE A AS " + "p + " * 20_000 + "p > 1 )",
        "MATCH_RECOGNIZE ( PATTERN (A) DEFINE A AS p > 1" + " AND p > 1" * 9_000 + " )",
        "MATCH_RECOGNIZE ( PATTERN (A) DEFINE A AS " + "CASE WHEN p > 1 THEN " * 3_000 + ")",
        "MATCH_RECOGNIZE ( PATTERN (A) DEFINE A AS " + "PREV(" * 60 + "p" + ")" * 60 + " > 1 )",
        "MATCH_RECOGNIZE ( PATTERN (A) DEFINE A AS " + "ARRAY[" * 60 + "p" + "]" * 60 + " = p )",
        "MATCH_RECOGNIZE ( PATTERN (A" + " | A" * 40_000 + ") DEFINE A AS TRUE )",
        "MATCH_RECOGNIZE ( PATTERN (A) DEFINE A AS '" + "x" * 99_000,
        "MATCH_RECOGNIZE ( PATTERN (A) DEFINE A AS TRUE )" + " " * 200_000,
        "MATCH_RECOGNIZE ( PATTERN (A{" + "9" * 5_000 + "}) DEFINE A AS TRUE )",
        "MATCH_RECOGNIZE ( PATTERN (A) DEFINE A AS p > " + "9" * 5_000 + " )",
    ],
)
def test_huge_and_empty_texts(text: str) -> None:
    begin = process_time()
    try:
        analyse(read_query(text).clause, schema_of({"p": "BIGINT"}))
    except ClauseError as error:
        problem = error.problem
        assert problem.message and min(problem.line, problem.column) >= 1  # noqa: PT018
    assert process_time() - begin < CPU_SECONDS
