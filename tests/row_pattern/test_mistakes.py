"""What is wrong with a clause is told at once, and at its place."""

import pytest

from cep.matching.match_recognize import match_recognize
from cep.row_pattern.errors import ClauseError, Mistake

SCHEMA = {"t": "TIMESTAMP", "p": "BIGINT", "s": "STRING"}


def refused(clause: str) -> ClauseError:
    with pytest.raises(ClauseError) as error:
        match_recognize(clause, [], schema=SCHEMA)
    return error.value


def test_all_mistakes_are_told_at_once() -> None:
    clause = """MATCH_RECOGNIZE (
  PARTITION BY key
  ORDER BY time
  MEASURES prize AS a, LAST(A.p) AS b, SUM(s) AS c
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  AFTER MATCH SKIP TO X
  PATTERN (A {- B -} C D)
  DEFINE A AS p, B AS p > 'x', B AS TRUE, C AS FINAL LAST(p) > 1, D AS p > 1, E AS TRUE
)"""
    error = refused(clause)
    places = [(problem.line, problem.column) for problem in error.problems]
    assert places == [
        *[(8, 15), (8, 23), (8, 32), (8, 48), (8, 79)],
        *[(7, 14), (6, 23), (4, 12), (4, 40), (2, 16), (3, 12)],
    ]
    assert error.mistake is Mistake.TYPE
    assert error.problem == error.problems[0]
    for problem in error.problems:
        assert str(problem) in str(error)


@pytest.mark.parametrize(
    ("lines", "place", "marked"),
    [
        (["\tPATTERN (A)", "\tDEFINE A AS", "\t\tpp > 1"], (4, 3), "pp"),
        (
            ["-- a comment; with ' and \"", "PATTERN (A)", "DEFINE A AS /* p */ pp > 1"],
            (4, 21),
            "pp",
        ),
        (
            ['PATTERN ("ä 日本" B)', 'DEFINE "ä 日本" AS p > 1, B AS "ä 日本".pp > 1'],
            (3, 30),
            '"ä 日本".pp',
        ),
        (["PATTERN (A)", "DEFINE A AS s = '😀' AND pp > 1"], (3, 25), "pp"),
        (["PATTERN (A)", "DEFINE A AS s = 'two", "lines' AND", " PREV(pp) > 1"], (5, 7), "pp"),
        (["PATTERN (A", "\t{2,1})", "DEFINE A AS TRUE"], (3, 2), "{2,1}"),
        (["PATTERN (A", "\t/* no */", "DEFINE A AS TRUE"], (5, 1), ")"),
        (["PATTERN (A)", "DEFINE A AS p >"], (3, 15), ">"),
        (["PATTERN (A)", "DEFINE A AS LAST(p,", "\t-1) > 1"], (4, 2), "-1"),
        (["PATTERN (A)", "DEFINE A AS p +", "\t\t'x' > 1"], (3, 13), None),
    ],
)
def test_a_mistake_is_shown_at_its_place(
    lines: list[str], place: tuple[int, int], marked: str | None
) -> None:
    error = refused("\n".join(["MATCH_RECOGNIZE (", *lines, ")"]))
    problem = error.problem
    assert (error.problems, str(error)) == ((problem,), str(problem))
    assert (problem.line, problem.column) == place, problem
    shown, carets = problem.snippet.split("\n")
    if marked is not None:
        assert shown[carets.index("^") : carets.rindex("^") + 1] == marked
