"""What is translated finds the same in both languages; what cannot is refused, with the reason."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.pattern import AfterMatchSkip, Pattern
from cep.pattern.tree import Group, PatternTree
from cep.pattern.validation.validate import problems
from cep.row_pattern.errors import ClauseError
from cep.row_pattern.parsing.clauses import read_query
from cep.row_pattern.writing import pattern_text, write_query
from cep.translation.refusals import NotExact
from cep.translation.to_pattern import pattern_of
from cep.translation.to_sql import clause_of
from tests.translation.both_matchers import (
    Event,
    chains,
    clauses,
    events,
    found_by_clause,
    found_by_pattern,
    valid_sequences,
)

PAST: Final = AfterMatchSkip.past_last_event()
TO_NEXT: Final = AfterMatchSkip.to_next()
lists_of_events = st.lists(events(), min_size=4, max_size=4)


@given(tree=valid_sequences(), lists=lists_of_events)
def test_a_translated_pattern_finds_the_same(tree: PatternTree, lists: list[list[Event]]) -> None:
    try:
        query = clause_of(tree)
    except NotExact:
        return
    for rows in lists:
        found = found_by_pattern(tree, rows)
        if found is not None:
            assert found_by_clause(query, rows) == found, write_query(query)


@pytest.mark.parametrize("texts", [clauses(), chains()], ids=["clauses", "chains"])
@given(data=st.data(), lists=lists_of_events)
def test_a_translated_clause_finds_the_same(
    texts: st.SearchStrategy[str], data: st.DataObject, lists: list[list[Event]]
) -> None:
    query = read_query(data.draw(texts))
    try:
        tree = pattern_of(query.clause)
    except (NotExact, ClauseError):
        return
    assert not problems(tree)
    for rows in lists:
        found = found_by_pattern(tree, rows)
        if found is not None:
            assert found_by_clause(query, rows) == found, str(Pattern(tree))


A: Final = Pattern.begin("a").where("name = 'a'")
LOOP: Final = A.one_or_more()
TIGHT: Final = LOOP.consecutive()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (A.next("b").where("name = 'b'"), "a b"),
        (A.followed_by("b").where("name = 'b'"), "a {- gap* -} b"),
        (A.followed_by("b"), "a b"),
        (A.times(3).next("b"), "a ({- gap* -} a){2} b"),
        (A.times(3).consecutive().next("b"), "a{3} b"),
        (TIGHT.next("b").where("name = 'b'"), "a+ b"),
        (TIGHT.next("b").after_match(PAST), "a+? b"),
        (TIGHT.after_match(PAST), "a+?"),
        (TIGHT.greedy().next("b").where("v > 1"), "a+ b"),
        (TIGHT.optional().next("b").where("name = 'b'"), "a* b"),
        (LOOP.next("b").after_match(PAST), "a ({- gap* -} a)*? b"),
        (
            LOOP.greedy().followed_by("b").where("v > 1").after_match(PAST),
            "a ({- gap* -} a)*? {- gap_2* -} b",
        ),
        (A.followed_by_any("b").where("v > 1").after_match(TO_NEXT), "a {- gap*? -} b"),
        (
            A.not_followed_by("n")
            .where("v > 1")
            .followed_by_any("b")
            .where("name = 'b'")
            .after_match(TO_NEXT),
            "a {- gap*? -} b",
        ),
        (A.optional().next("b").where("name = 'b'"), "a? b"),
        (A.not_next("n").where("v > 1").next("b"), "a b"),
        (A.not_followed_by("n").where("v > 1").followed_by("b").where("v < 0"), "a {- gap* -} b"),
        (A.times(0, 2).consecutive().next("b").where("name = 'b'"), "a{0,2} b"),
        (TIGHT.until("v > 1").next("b").where("name = 'b'"), "a+ b"),
    ],
)
def test_each_rule_of_translation(pattern: Pattern, expected: str) -> None:
    assert pattern_text(clause_of(pattern.validate().tree).clause.pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (A.followed_by_any("b"), "with no_skip every match is found"),
        (
            A.not_followed_by("n").where("v > 1").followed_by_any("b").where("name = 'b'"),
            "with no_skip every match is found",
        ),
        (
            A.followed_by_any("b").followed_by("c").where("v > 1").after_match(PAST),
            "keeps every way",
        ),
        (TIGHT.next("b"), "with no_skip every match is found"),
        (TIGHT, "with no_skip every match is found"),
        (LOOP.followed_by("b").where("name = 'b'").after_match(PAST), "keeps every way to match"),
        (A.times(2).allow_combinations().next("b"), "every combination"),
        (
            A.next("b").where("v > 1").within("1 s", "previous_and_current"),
            "since the event before",
        ),
        (A.not_followed_by("n").where("v > 1").within("1 s"), "the absence of n"),
        (A.not_next("n").where("v > 1").followed_by("b").where("v < 0"), "may come later"),
        (Pattern.begin("a").where(lambda event, _: bool(event)), "Python code"),
        (Pattern.begin("a").where("COUNT(a.*) < 2").times(2), "earlier events of a itself"),
        (Pattern.begin("a").where("v / 2 > 1"), "divide to a fraction"),
        (
            A.times(2).consecutive().not_followed_by("n").where("v > 1").next("b"),
            "watches the repetitions",
        ),
        (A.optional(), "every step may be absent"),
        (A.next("A").where("v > 1"), "differ in case only"),
        (A.next("b").after_match(AfterMatchSkip.to_first("a")), "the first event of a match"),
        (Pattern.begin(A.next("b")).times(2), "a group of steps"),
        (A.next("b").where("v > A.v"), "is read otherwise"),
    ],
)
def test_what_is_not_the_same_in_sql_is_refused_with_the_reason(
    pattern: Pattern, reason: str
) -> None:
    with pytest.raises(NotExact, match=reason):
        clause_of(pattern.tree)


def test_names_that_sql_reads_otherwise_are_quoted_or_refused() -> None:
    pattern = Pattern.begin("my step").where("v > 1").next("b").where("v > `my step`.v")
    query = clause_of(pattern.tree, key_by=["user id"], time_column="the time")
    text = write_query(query)
    assert 'PARTITION BY "user id"' in text
    assert 'ORDER BY "the time"' in text
    assert 'PATTERN ("my step" b)' in text
    assert 'b AS v > "my step".v' in text


def sql(pattern: str, define: str = "A AS v = 1", skip: str = "PAST LAST ROW") -> str:
    return f"MATCH_RECOGNIZE (AFTER MATCH SKIP {skip} PATTERN ({pattern}) DEFINE {define})"


BOTH: Final = "A AS name = 'a', B AS name = 'b'"


@pytest.mark.parametrize(
    ("clause", "calls"),
    [
        (sql("A B", BOTH), """.begin("A").where("name = 'a'").next("B").where("name = 'b'")"""),
        (sql("A+ B", BOTH), ".one_or_more().consecutive()"),
        (sql("A+? B"), ".one_or_more().consecutive().next"),
        (sql("A B??"), """.next("B").optional()"""),
        (sql("A{,2} B", BOTH), ".times(1, 2).consecutive().optional()"),
        (sql("A {- X* -} B", f"{BOTH}, X AS (name = 'b') IS NOT TRUE"), """.followed_by("B")"""),
        (sql("A {- X*? -} B", BOTH), """.followed_by("B")"""),
        (sql("A {- X*? -} B C", BOTH), """.followed_by_any("B")"""),
        (sql("A {- X*? -} A {- Y*? -} B", BOTH), """.times(2).followed_by("B")"""),
        (sql("A ({- X*? -} A){2} {- X*? -} B", BOTH), """.times(3).followed_by("B")"""),
        (sql("A A A", BOTH[:15]), ".times(3).consecutive()"),
        (sql("A ({- X* -} A){2}", f"{BOTH[:15]}, X AS (name = 'a') IS NOT TRUE"), ".times(3)"),
        (sql("A B", "B AS v > A.v AND B.v > 0"), "(v > A.v) AND (v > 0)"),
        (sql("A B", BOTH, "TO B"), 'to_last("B")'),
    ],
)
def test_each_rule_of_the_translation_back(clause: str, calls: str) -> None:
    tree = pattern_of(read_query(clause).clause)
    assert calls in "".join(line.strip() for line in str(Pattern(tree)).splitlines())
    assert not problems(tree)


@pytest.mark.parametrize(
    ("clause", "reason"),
    [
        (sql("A | B"), "no alternatives"),
        (sql("PERMUTE(A, B)"), "no permutations"),
        (sql("^ A"), "first or last row"),
        (sql("A {- B -} C"), "all events that were taken"),
        (sql("(A B)+"), "a group that repeats"),
        (sql("A B A"), "stands in the pattern twice"),
        (sql("A A {- X*? -} A"), "stands in the pattern twice"),
        (sql("A A+"), "stands in the pattern twice"),
        (sql("A {- X* -} A"), "rows of any kind between those of A"),
        (sql("A {- X*? -} B {- X*? -} C", f"{BOTH}, C AS v > B.v"), "keeps every way"),
        (sql("A? B*"), "every step may be absent"),
        (sql("A+ B"), "A is greedy"),
        (sql("A+? B+? C"), "keeps every way"),
        (sql("A", "A AS v > PREV(v)"), "rows outside of the match"),
        (sql("A", "A AS COUNT(A.*) < 2"), "counts the row under test"),
        (sql("A", "A AS CLASSIFIER() = 'A'"), "CLASSIFIER"),
        (sql("A B", "B AS LAST(A.v, 1) > 2"), "with an offset"),
        (sql("A", "A AS v % 2 = 0"), "remainder by zero"),
        (sql("A {- X* -} B", f"{BOTH}, X AS NOT (name = 'b')"), "not exactly those"),
        (sql("A B", BOTH, "TO A"), "the first event of a match"),
        (sql("A {- X* -} B", "A AS v = 1, X AS (v > 2) IS NOT TRUE, B AS v > X.v"), "in no match"),
    ],
)
def test_what_is_not_the_same_in_a_pattern_is_refused_with_the_reason(
    clause: str, reason: str
) -> None:
    with pytest.raises(NotExact, match=reason):
        pattern_of(read_query(clause).clause)


def test_there_and_back_is_the_same_pattern() -> None:
    pattern = (
        Pattern.begin("FAIL")
        .where("name = 'fail'")
        .times(3)
        .followed_by("LOGIN")
        .where("name = 'login' AND v > FAIL.v")
        .within("10 minutes")
        .after_match(PAST)
    )
    assert pattern_of(clause_of(pattern.tree).clause) == pattern.tree
    assert not any(isinstance(element, Group) for element in pattern.tree.elements)
