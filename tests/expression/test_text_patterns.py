"""LIKE and RLIKE: two engines and the documented meaning, on patterns and texts made at random."""

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.expression.functions.text_pattern import TextPatternError, like_pattern, regex

TEXTS = st.text("abAB_1 \n-.é😀", max_size=8)


# What is written in a rule, and the same for Python's `re` with ASCII classes.
_ATOMS = [
    *((character, character) for character in "abAB_1 \n-é😀"),
    (".", "."),
    (r"\.", r"\."),
    (r"\x61", "a"),
    (r"\u00e9", "é"),
    *((escape, escape) for escape in (r"\d", r"\D", r"\w", r"\W", r"\s", r"\S")),
    *((chosen, chosen) for chosen in ("[ab]", "[^a]", r"[^\d\s]", r"[A-Z_\w]", "[-é]", "[😀-]")),
]
_PLACES = [("^", "^"), ("$", r"\Z"), (r"\b", r"\b")]
_QUANTIFIERS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}", "{1,}", "{1,2}?"]


def _repeated(both: tuple[str, str], quantifier: str) -> tuple[str, str]:
    return both[0] + quantifier, both[1] + quantifier


def _joined(parts: list[tuple[str, str]], between: str = "") -> tuple[str, str]:
    return between.join(part[0] for part in parts), between.join(part[1] for part in parts)


def _expressions() -> st.SearchStrategy[tuple[str, str]]:
    atoms = st.sampled_from(_ATOMS)

    def larger(inner: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
        group = st.tuples(st.sampled_from(["(", "(?:", "(?i:", "(?s:", "(?s-i:"]), inner).map(
            lambda pair: (f"{pair[0]}{pair[1][0]})", f"{pair[0]}{pair[1][1]})")
        )
        repeated = st.builds(_repeated, atoms | group, st.sampled_from(_QUANTIFIERS))
        sequence = st.lists(inner | repeated | st.sampled_from(_PLACES), max_size=4).map(_joined)
        return sequence | st.lists(sequence, min_size=1, max_size=3).map(
            lambda parts: _joined(parts, "|")
        )

    return st.recursive(atoms, larger, max_leaves=8)


def polars_finds(pattern: str, text: str) -> bool:
    return bool(pl.Series([text]).str.contains(pattern).item())


@given(_expressions(), st.lists(TEXTS, min_size=1, max_size=4))
def test_both_engines_find_what_a_regular_expression_means(
    written: tuple[str, str], texts: list[str]
) -> None:
    # Nested ranges of an alternative without brackets mean the same to all three.
    found = regex(written[0])
    finder = found.finder()
    meaning = re.compile(written[1], re.ASCII)
    for text in texts:
        expected = meaning.search(text) is not None
        assert finder(text) is expected, (found.text, text)
        assert polars_finds(found.rust, text) is expected, (found.rust, text)


def like(pattern: str, text: str) -> bool:
    """The meaning of LIKE in the fewest words; too slow for more than a few characters."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(like(pattern[1:], text[start:]) for start in range(len(text) + 1))
    if not text:
        return False
    if pattern[0] == "\\":
        return pattern[1] == text[0] and like(pattern[2:], text[1:])
    return pattern[0] in {"_", text[0]} and like(pattern[1:], text[1:])


_LIKE_PARTS = ["%", "%", "_", "a", "b", "é", "😀", "\n", ".", "*", "[", r"\%", r"\_", r"\\"]


@given(
    st.lists(st.sampled_from(_LIKE_PARTS), max_size=7).map("".join),
    st.lists(st.text("ab%_\\é😀\n.*[", max_size=6), min_size=1, max_size=4),
)
def test_like_means_what_it_says_in_both_engines(pattern: str, texts: list[str]) -> None:
    found = like_pattern(pattern, "\\")
    matcher = found.matcher()
    for text in texts:
        assert matcher(text) is like(pattern, text), (pattern, text)
        assert polars_finds(found.regex().rust, text) is like(pattern, text), (pattern, text)


def test_flags_without_a_group_last_until_it_ends() -> None:
    assert regex("a(?i)b|c").finder()("aB")
    assert regex("a(?i)b|c").finder()("C")
    assert not regex("a(?i)b|c").finder()("AB")
    assert not regex("(?:(?i)a)b").finder()("aB")
    assert regex("(?i)[k-m-]").finder()("L")
    assert not regex("(?i)k").finder()("\u212a"), "the sign of the Kelvin is no letter a to z"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?m)a", "the flag m is not supported, only i and s are"),
        ("(?i-x:a)", "the flag x is not supported"),
        ("a(?i)*", "a quantifier cannot follow flags"),
        ("(?<name>a)", "look-around and named groups"),
    ],
)
def test_what_engines_read_otherwise_is_refused(pattern: str, reason: str) -> None:
    with pytest.raises(TextPatternError, match=re.escape(reason)):
        regex(pattern)


def test_half_of_a_surrogate_pair_counts_as_one_character_that_cannot_be_read() -> None:
    assert regex("^a.b$").finder()("a\ud800b")
    assert not regex("^ab$").finder()("a\ud800b")


@pytest.mark.parametrize(
    "pattern", ["(?:.a){1000}", "[^é]{1000}", "(?:[é-ü😀]?){500}", "a" * 2_000, r"\W{1000}\b"]
)
def test_the_largest_patterns_there_may_be_are_taken_by_both_engines(pattern: str) -> None:
    assert regex(pattern).size <= 2_000


def test_the_largest_like_there_may_be_is_taken_by_both_engines() -> None:
    found = like_pattern("%" + "_é" * 998 + "%b", "\\")
    assert found.matcher()("é" * 2_000 + "b")
    assert polars_finds(found.regex().rust, "é" * 2_000 + "b")
