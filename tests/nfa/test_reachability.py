"""Patterns that nothing can match are warned of; one that something matches never is."""

import pytest
from hypothesis import given

from cep.nfa.reachability import warnings_of
from percept import Pattern, find_matches
from tests.brute_force.strategies import Document, event_lists, patterns
from tests.nfa.letters import letter

NEVER = "nothing can match the pattern"
A, B, C = (letter(name) for name in "abc")


def dead_ends(pattern: Pattern) -> list[str]:
    return [found.path for found in warnings_of(pattern.validate()) if NEVER in found.message]


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        (
            Pattern.begin("r").where(A).times(2).not_followed_by("n").where(A)
            .followed_by("c").where(C).times(3),
            ["steps[1]"],
        ),
        (
            Pattern.begin("a").where(A).not_followed_by("n").where("name IN ('b', 'c')")
            .followed_by("b").where(B).followed_by("c"),
            ["steps[1]"],
        ),
        (Pattern.begin("a").not_next("n").where("price > 1").next("b").where("price > 5"),
         ["steps[2]"]),
        (Pattern.begin("a").where(A).next("b").where(B).one_or_more().until("name <> 'c'"),
         ["steps[1]"]),
        (Pattern.begin("a").not_followed_by("n").within(5), []),
        (Pattern.begin("a").subtype("x").where("type = 'y'"), ["steps[0]"]),
        (
            Pattern.begin("r").where(A).times(2).not_followed_by("n").where(B)
            .followed_by("c").where(C),
            [],
        ),
        (
            Pattern.begin("r").where(A).not_followed_by("n").where(A).followed_by("c").where(C),
            [],
        ),
        (Pattern.begin("a").next("b").where(B).one_or_more().until("price > 5").next("c"), []),
        (
            Pattern.begin("a").next("b").where("name = 'b' AND name = 'c'").optional().next("c"),
            [],
        ),
    ],
    ids=str,
)  # fmt: skip
def test_a_pattern_that_nothing_can_match_is_warned_of_at_the_step(
    pattern: Pattern, paths: list[str]
) -> None:
    assert dead_ends(pattern) == paths


def test_a_large_pattern_is_not_searched() -> None:
    long = Pattern.begin("r").where(A).times(300).not_followed_by("n").where(A).next("c")
    assert dead_ends(long) == []


@given(document=patterns(), events=event_lists())
def test_a_pattern_that_finds_a_match_is_not_warned_of(
    document: Document, events: list[Document]
) -> None:
    pattern = Pattern.from_document(document, flink_quirks=True)
    if find_matches(pattern, events, final_watermark_ms=1_000, warn=False).matches:
        assert dead_ends(pattern) == []
