"""Random events of `letters.stream`, and random patterns over its letters in both languages.

strategies of the two languages ──rule_patterns──► the key `pattern` of a version
"""

from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

from percept import Pattern, PatternError
from tests.brute_force import strategies
from tests.letters import Document, event
from tests.processor_runtime.core.pipeline import Event

KEYS: Final = st.sampled_from([["user"], ["user"], ["user", "name"], ["name"], None])
PRICES: Final = st.integers(0, 3) | st.none()
_DEFINITIONS: Final = (
    "name = 'a'",
    "name <> 'a'",
    "name IN ('a', 'b')",
    "price % 2 = 0",
    "price > PREV(price)",
    "price - FIRST(A.price) < 9",
    "COUNT(B.*) < 2",
)


def sorted_events(  # noqa: PLR0913 - what differs between tests
    names: str,
    until_ms: int,
    *,
    users: Sequence[str | None] = ("u", "v", "w'\"\\é", None),
    prices: st.SearchStrategy[int | None] = PRICES,
    min_size: int = 0,
    max_size: int = 60,
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return events from 1,000 on, in order of time."""
    happened = st.builds(
        event,
        st.sampled_from(names),
        st.integers(1_000, until_ms),
        user=st.sampled_from(users),
        price=prices,
    )
    drawn = st.lists(happened, min_size=min_size, max_size=max_size)
    return drawn.map(lambda given: sorted(given, key=lambda each: int(each["ts"])))


@st.composite
def arrivals(  # noqa: PLR0913 - what differs between tests
    draw: st.DrawFn,
    *,
    delays: Sequence[int] = (0, 3, 30),
    names: str = "abcx",
    users: str = "uvw",
    sizes: tuple[int, int] = (1, 60),
    passing: Sequence[int] = (0, 1, 1, 2, 5),
    prices: st.SearchStrategy[int] | None = None,
) -> tuple[int, list[Event]]:
    """Return an allowed delay, and events in order of arrival, late by no more than that.

    Prices are places in the stream, unless they are drawn.
    """
    delay_ms, time_ms = draw(st.sampled_from(delays)), 1_000
    arriving = []
    for place in range(draw(st.integers(*sizes))):
        time_ms += draw(st.sampled_from(passing))
        price = place if prices is None else draw(prices)
        name, user = draw(st.sampled_from(names)), draw(st.sampled_from(users))
        happened = event(name, time_ms, user=user, price=price)
        arriving.append((time_ms + draw(st.integers(0, delay_ms)), place, happened))
    return delay_ms, [happened for *_, happened in sorted(arriving, key=lambda item: item[:2])]


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
