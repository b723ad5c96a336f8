"""Runs a pattern and a clause over the same events, and tells the matches of both alike."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from cep.expression import Expression
from cep.matching.find_matches import find_matches
from cep.matching.match_recognize import match_recognize
from cep.pattern import Pattern
from cep.pattern.tree import (
    Contiguity,
    InnerContiguity,
    PatternTree,
    SkipKind,
    SkipStrategy,
    Step,
    Times,
    Window,
)
from cep.pattern.validation.validate import problems
from cep.row_pattern.clause import Query
from cep.row_pattern.writing import write_query

SCHEMA = "n BIGINT, ts BIGINT, name STRING, v BIGINT"
END_MS = 10**9

Event = dict[str, Any]
Found = list[tuple[tuple[str, tuple[int, ...]], ...]]


def found_by_pattern(tree: PatternTree, rows: Sequence[Event]) -> Found | None:
    """Return the rows of each match by step; `None` if matches are held back at the end.

    A stream has no end: a match waits for an earlier start that is still open. To SQL the end of
    the rows ends that start.
    """
    result = find_matches(Pattern(tree), rows, final_watermark_ms=END_MS, warn=False)
    if result.held_back_matches and result.open_after_watermark:
        return None
    return sorted(
        tuple(
            sorted(
                (step.upper(), tuple(event["n"] for event in events))
                for step, events in match.steps.items()
                if events
            )
        )
        for match in result.matches
    )


def found_by_clause(query: Query, rows: Sequence[Event]) -> Found:
    """Return the rows of each match by variable; the clause outputs `match_number` and `step`."""
    result = match_recognize(write_query(query), rows, schema=SCHEMA).dicts()
    matches: dict[int, dict[str, list[int]]] = {}
    for row in result:
        steps = matches.setdefault(row["match_number"], {})
        steps.setdefault(row["step"].upper(), []).append(row["n"])
    return sorted(
        tuple(sorted((step, tuple(numbers)) for step, numbers in steps.items()))
        for steps in matches.values()
    )


@st.composite
def events(draw: st.DrawFn, most: int = 9) -> list[Event]:
    """Return events in order of time; times may tie, values may be missing."""
    time_ms = 0
    rows = []
    for number in range(draw(st.integers(1, most))):
        time_ms += draw(st.integers(0, 3))
        name = draw(st.sampled_from("aabbc"))
        value = draw(st.sampled_from([None, 0, 1, 2]))
        rows.append({"n": number, "ts": time_ms, "name": name, "v": value})
    return rows


CONDITIONS = (
    "name = 'a'",
    "name = 'b'",
    "name = 'c'",
    "name <> 'a'",
    "name IN ('a', 'b')",
    "v > 0",
    "v <= 0 OR v IS NULL",
    "name = 'b' AND v >= 1",
)
REFERENCES = (
    "v > S0.v",
    "name = 'b' AND v = LAST(S0.v)",
    "v + COUNT(S0.*) > 2",
    "v >= MIN(S0.v) AND name <> 'c'",
    "SUM(S0.v) >= v AND v <= AVG(S0.v) + FIRST(S0.v)",
)


@st.composite
def steps(draw: st.DrawFn, number: int) -> Step:
    """Return a step of a pattern, named S0 and so on."""
    sources = CONDITIONS + (REFERENCES if number else ())
    where = (
        draw(st.none() | st.sampled_from(sources))
        if draw(st.booleans())
        else draw(st.sampled_from(CONDITIONS[:5]))
    )
    contiguity = None
    if number:
        likely = [Contiguity.NEXT, Contiguity.FOLLOWED_BY] * 2
        contiguity = draw(st.sampled_from([*likely, *Contiguity]))
    step = Step(
        name=f"S{number}",
        where=None if where is None else Expression.parse(where),
        contiguity=contiguity,
    )
    if step.is_negative:
        return step
    times = draw(
        st.none()
        | st.none()
        | st.sampled_from([Times(1, None), Times(2, None), Times(2, 2), Times(1, 2), Times(0, 2)])
    )
    if times is not None:
        inner = draw(st.sampled_from(InnerContiguity))
        greedy = inner is not InnerContiguity.ALLOW_COMBINATIONS and draw(st.booleans())
        step = replace(step, times=times, inner=inner, greedy=greedy)
        if times.maximum is None and draw(st.integers(0, 3)) == 0:
            until = Expression.parse(draw(st.sampled_from(CONDITIONS)))
            step = replace(step, until=until)
    if times is None or times.minimum:
        step = replace(step, optional=draw(st.integers(0, 3)) == 0)
    return step


@st.composite
def sequences(draw: st.DrawFn) -> PatternTree:
    """Return a valid pattern without groups."""
    elements = [draw(steps(number)) for number in range(draw(st.integers(1, 4)))]
    if draw(st.booleans()):
        window = Window(draw(st.integers(1, 8)))
        elements[-1] = replace(elements[-1], within=(window,))
    kind = draw(st.sampled_from(SkipKind))
    target = None
    if kind in {SkipKind.SKIP_TO_FIRST, SkipKind.SKIP_TO_LAST}:
        target = draw(st.sampled_from(elements)).name
    return PatternTree(elements=tuple(elements), after_match_skip=SkipStrategy(kind, target))


def valid_sequences() -> st.SearchStrategy[PatternTree]:
    return sequences().filter(lambda tree: not problems(tree))


DEFINITIONS = (
    *CONDITIONS,
    "name = 'b' AND C.v IS NOT NULL",
    "v > A.v",
    "v = LAST(A.v)",
    "v + COUNT(A.*) > 2",
    "SUM(A.v) >= v",
    "v > PREV(v)",
    "COUNT(B.*) < 2",
)
_QUANTIFIERS = ("", "", "", "+", "*", "?", "{2}", "{1,2}", "{2,}", "{,2}")


@st.composite
def clauses(draw: st.DrawFn) -> str:
    """Return the text of a clause over A to D that outputs `match_number` and `step`."""
    parts: list[str] = []
    definitions: dict[str, str] = {}
    for variable in "ABCD"[: draw(st.integers(1, 4))]:
        condition = draw(
            st.none() | st.sampled_from(DEFINITIONS[:5]) | st.sampled_from(DEFINITIONS)
        )
        if condition is not None:
            definitions[variable] = condition
        quantifier = draw(st.sampled_from(_QUANTIFIERS))
        reluctant = draw(st.sampled_from(["", "?"])) if quantifier else ""
        passed = f"{{- G{variable}*{draw(st.sampled_from(['', '?']))} -}}"
        kind = draw(st.integers(0, 5))
        if kind <= 1 and condition is not None:
            definitions[f"G{variable}"] = f"({condition}) IS NOT TRUE"
        if kind in {0, 2} and parts:
            parts.append(passed)
        if kind == 1 and quantifier:
            parts += [variable, f"({passed} {variable}){quantifier}{reluctant}"]
        else:
            parts.append(f"{variable}{quantifier}{reluctant}")
    return clause_text(draw, " ".join(parts), definitions)


@st.composite
def chains(draw: st.DrawFn) -> str:
    """Return the text of a clause as of `clauses`, with rows of any kind between its variables."""
    definitions = {"GA": "(name = 'a') IS NOT TRUE", "A": "name = 'a'", "B": "name = 'b'"}
    definitions["C"] = draw(st.sampled_from(["name = 'c'", "v > 0", "v > A.v", "v > B.v", "TRUE"]))
    if draw(st.booleans()):
        definitions["B"] = draw(st.sampled_from(CONDITIONS))
    parts = [draw(st.sampled_from(["A", "A", "A A", "A{2}", "A+", "A ({- X*? -} A){2}"]))]
    for variable in draw(st.sampled_from(["A", "AB", "B", "BC", "ABC", "AAB", "BB"])):
        likely = "{- X*? -}"
        gap = draw(st.sampled_from([likely] * 6 + ["", "{- X* -}", "{- Y*? -}", "{- GA* -}"]))
        parts.append(f"{gap} {variable}")
    return clause_text(draw, " ".join(parts), definitions)


def clause_text(draw: st.DrawFn, pattern: str, definitions: dict[str, str]) -> str:
    """Return a clause with these definitions, as far as its pattern has them."""
    used = {name: text for name, text in definitions.items() if name in pattern.replace("*", " ")}
    skip = draw(
        st.sampled_from(["PAST LAST ROW", "PAST LAST ROW", "TO NEXT ROW", "TO FIRST B", "TO B"])
    )
    if skip.endswith("B") and "B" not in pattern:
        skip = "TO NEXT ROW"
    within = draw(
        st.just("") | st.integers(1, 8).map(lambda n: f"WITHIN INTERVAL '{n}' MILLISECOND")
    )
    defined = ", ".join(f"{name} AS {text}" for name, text in used.items()) or "A AS TRUE"
    return (
        "MATCH_RECOGNIZE (ORDER BY ts MEASURES MATCH_NUMBER() AS match_number, CLASSIFIER() AS "
        f"step ALL ROWS PER MATCH AFTER MATCH SKIP {skip} PATTERN ({pattern}) {within} "
        f"DEFINE {defined})"
    )
