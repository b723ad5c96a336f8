"""Random patterns for rules over the letters of `published.stream`, in both languages.

strategies of the two languages ──rule_patterns──► the key `pattern` of a version
"""

from typing import Final

from hypothesis import strategies as st

from cep import Pattern, PatternError
from tests.brute_force import strategies
from tests.processor_runtime.core.published import Document

KEYS: Final = st.sampled_from([["user"], ["user"], ["user", "name"], ["name"], None])
_DEFINITIONS: Final = (
    "name = 'a'",
    "name <> 'a'",
    "name IN ('a', 'b')",
    "price % 2 = 0",
    "price > PREV(price)",
    "price - FIRST(A.price) < 9",
    "COUNT(B.*) < 2",
)


def rule_patterns() -> st.SearchStrategy[Document]:
    """Return patterns that a job accepts; most are of Flink's language."""
    return st.one_of(_sequences(), _sequences(), _sequences(), _clauses())


def _sequences() -> st.SearchStrategy[Document]:
    # Without a window, loops that allow combinations would find millions of matches.
    window = st.integers(5, 25).map(lambda within_ms: {"within_ms": within_ms})
    drawn = st.tuples(strategies.patterns(), window)
    return drawn.map(lambda each: each[0] | each[1] | {"flink_quirks": True}).filter(_is_accepted)


def _is_accepted(document: Document) -> bool:
    try:
        Pattern.from_document(document)
    except PatternError:
        return False
    return True


@st.composite
def _clauses(draw: st.DrawFn) -> Document:
    """Return a clause over A, B and C, of which rows may pass by in between."""
    defined = {letter: draw(st.sampled_from(_DEFINITIONS)) for letter in "ABC"}
    quantifier = draw(st.sampled_from(["", "+", "*", "{2}"]))
    gap = draw(st.sampled_from(["", "{- X*? -}"]))
    skip = draw(st.sampled_from(["PAST LAST ROW", "TO NEXT ROW"]))
    definitions = ", ".join(f"{letter} AS {text}" for letter, text in defined.items())
    clause = (
        "MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(B.price) AS price, COUNT(*) AS n "
        f"AFTER MATCH SKIP {skip} PATTERN (A {gap} B{quantifier} C) "
        f"WITHIN INTERVAL '{draw(st.integers(2, 30))}' MILLISECOND DEFINE {definitions})"
    )
    return {"match_recognize": clause}
