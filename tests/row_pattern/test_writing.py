"""The normalised text of a clause reads back to an equal tree, and is the same for equal trees."""

import pytest

from cep.expression import ExpressionError
from cep.row_pattern.parsing.clauses import read_query
from cep.row_pattern.writing import write_query
from tests.row_pattern.cases import FILES, load


@pytest.mark.long
@pytest.mark.parametrize("file", FILES)
def test_the_text_of_every_vector_reads_back_to_an_equal_tree(file: str) -> None:
    read = 0
    for case in load(file):
        try:
            query = read_query(case.query)
        except ExpressionError:
            continue
        text = write_query(query)
        assert read_query(text) == query, case.id
        assert write_query(read_query(text)) == text, case.id
        read += 1
    assert read > len(load(file)) // 2


def test_defaults_are_spoken_out_and_there_is_one_layout() -> None:
    text = """select user, n as failures from logins match_recognize(partition by user
      order by ts, id desc measures count( f.* )as n, last(f.ts)as "last" after match skip to l
      pattern((f|"x y"){,3}? l $)within interval '600' second subset u=(f,l)
      define f as action='fail' /* a comment */ and ts>=prev(ts), l as not(action in('out',2L)))"""
    assert write_query(read_query(text)) == (
        """\
SELECT user, n AS failures
FROM logins MATCH_RECOGNIZE (
  PARTITION BY user
  ORDER BY ts, id DESC
  MEASURES
    COUNT(f.*) AS n,
    LAST(f.ts) AS "last"
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO LAST l
  PATTERN ((f | "x y"){0,3}? l $) WITHIN INTERVAL '10' MINUTE
  SUBSET
    u = (f, l)
  DEFINE
    f AS action = 'fail' AND ts >= PREV(ts),
    l AS NOT (action IN ('out', 2L))
)"""
    )


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a- -1>-b", "a - -1 > -b"),
        ("a*-b%2", "a * -b % 2"),
        ("(a)-(-b)", "(a) - (-b)"),
        ("case when a then-1 else 1.5e0 end=-1", "CASE WHEN a THEN -1 ELSE 1.5e0 END = -1"),
        ("a.`end`is not null", 'a."end" IS NOT NULL'),
        ('a.end = `b"c`', 'a.end = `b"c`'),
        ("a<=>b or not a is true", "a <=> b OR NOT a IS TRUE"),
        ("a||'x'rlike r'\\d'", "a || 'x' RLIKE r'\\d'"),
        ("s = 'it''s -- no comment'", "s = 'it''s -- no comment'"),
        ("cast(a as bigint)=date'2026-01-01'", "CAST(a AS bigint) = date'2026-01-01'"),
    ],
)
def test_expressions_have_one_spacing(condition: str, expected: str) -> None:
    clause = f"MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS {condition})"
    query = read_query(clause)
    text = write_query(query)
    assert text.splitlines()[-2].strip() == f"a AS {expected}"
    assert read_query(text) == query


def test_a_long_pattern_is_broken_between_its_parts() -> None:
    names = " ".join(f"variable_{number}" for number in range(20))
    text = write_query(
        read_query(f"MATCH_RECOGNIZE (PATTERN ({names}) DEFINE variable_0 AS a > 1)")
    )
    assert max(map(len, text.splitlines())) <= 100
    assert write_query(read_query(text)) == text


def test_spacing_is_no_difference_between_clauses() -> None:
    dense = "MATCH_RECOGNIZE(MEASURES LAST(a.x+1)AS y PATTERN(a)DEFINE a AS x>1)"
    wide = "MATCH_RECOGNIZE ( MEASURES LAST ( a.x + 1 ) AS y PATTERN ( a ) DEFINE a AS x > 1 )"
    assert read_query(dense) == read_query(wide)
    assert write_query(read_query(dense)) == write_query(read_query(wide))
