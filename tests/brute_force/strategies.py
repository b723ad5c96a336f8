"""Hypothesis strategies: patterns that brute force covers, and short inputs for them.

One-letter events, few letters and few distinct times, so that steps compete and times tie.
"""

from functools import cache
from typing import Any

from hypothesis import strategies as st

Document = dict[str, Any]

_LETTERS = "abc"
_INNER = st.sampled_from(["relaxed", "consecutive", "allow_combinations"])
_UNTIL = st.sampled_from([{"until": f"name = '{letter}'"} for letter in _LETTERS])
_CONTIGUITY = st.sampled_from(["followed_by", "next", "followed_by_any"])
_SELDOM = st.sampled_from([False, False, True])


@st.composite
def event_lists(draw: st.DrawFn, *, max_size: int = 8) -> list[Document]:
    """Return events in order of time, `id` counting from 0."""
    time_ms = 0
    events: list[Document] = []
    for letter in draw(st.text(_LETTERS, min_size=4, max_size=max_size)):
        time_ms += draw(st.sampled_from([1, 0, 2, 3]))
        price = float(draw(st.integers(1, 3)))
        events.append({"id": len(events), "ts": time_ms, "name": letter, "price": price})
    return events


@st.composite
def patterns(draw: st.DrawFn, *, max_steps: int = 3) -> Document:
    """Return pattern documents; almost all of them are inside the subset."""
    steps: list[Document] = []
    for _ in range(draw(st.integers(1, max_steps))):
        steps.append(draw(_steps_behind(steps)))
    elements = _with_group(draw, _with_nots(draw, steps))
    document: Document = {"steps": elements}
    if _is_not(elements[-1]) or draw(_SELDOM):
        document["within_ms"] = draw(st.integers(3, 10))  # no less than a gap window
    skip_targets = [element["name"] for element in elements if "where" in element]
    if skip_targets and not _is_not(elements[-1]) and draw(st.booleans()):
        document["after_match_skip"] = draw(_skip_strategies(skip_targets))
    return document


def _skip_strategies(targets: list[str]) -> st.SearchStrategy[Document]:
    return st.one_of(
        st.fixed_dictionaries(
            {"strategy": st.sampled_from(["skip_to_next", "skip_past_last_event"])}
        ),
        st.fixed_dictionaries(
            {
                "strategy": st.sampled_from(["skip_to_first", "skip_to_last"]),
                "step": st.sampled_from(targets),
            }
        ),
    )


@st.composite
def _steps_behind(draw: st.DrawFn, before: list[Document]) -> Document:
    step: Document = {"name": f"s{len(before)}", "where": draw(_conditions(len(before)))}
    if before:
        step["contiguity"] = draw(_CONTIGUITY)
        if _is_fixed(before[-1]) and draw(_SELDOM):
            window = {"within_ms": draw(st.integers(1, 3)), "within_type": "previous_and_current"}
            return step | window
    step |= draw(_quantifiers())
    if before and before[-1].get("greedy"):
        step.pop("optional", None)
    return step


@cache
def _quantifiers() -> st.SearchStrategy[Document]:
    # cached because a strategy is costly to build; loops twice because greedy and until need them
    return st.one_of(st.just({}), _ranges(), _loops(), _loops(), _exactly_n_times())


@st.composite
def _exactly_n_times(draw: st.DrawFn) -> Document:
    return {"times": draw(st.integers(1, 3)), "inner": draw(_INNER), "optional": draw(_SELDOM)}


@st.composite
def _ranges(draw: st.DrawFn) -> Document:
    fewest = draw(st.integers(1, 2))
    times = {"from": fewest, "to": fewest + draw(st.integers(0, 2))}
    return {"times": times, "inner": draw(_INNER), "optional": draw(_SELDOM)} | draw(_greed())


@st.composite
def _loops(draw: st.DrawFn) -> Document:
    times = {"from": draw(st.integers(1, 2)), "to": None}
    ending = draw(_greed() | _UNTIL)
    return {"times": times, "inner": draw(_INNER), "optional": draw(_SELDOM)} | ending


@cache
def _greed() -> st.SearchStrategy[Document]:
    # Flink refuses greedy on a step that allows combinations
    greedy = st.sampled_from(
        [{"greedy": True, "inner": inner} for inner in ("relaxed", "consecutive")]
    )
    return st.just({}) | greedy


@cache
def _conditions(index: int) -> st.SearchStrategy[str]:
    letter = st.sampled_from(_LETTERS).map(lambda letter: f"name = '{letter}'")
    seen = st.integers(0, index).map(lambda step: f"s{step}")
    iterative = st.one_of(
        seen.map(lambda step: f"price >= LAST({step}.price)"),
        seen.map(lambda step: f"(COUNT({step}.price) = 0 OR price > FIRST({step}.price))"),
        seen.map(lambda step: f"COUNT({step}.price) < 2"),
        seen.map(lambda step: f"(SUM({step}.price) < 4 OR name = 'a')"),
    )
    return st.one_of(
        letter,
        st.tuples(letter, letter).map(" OR ".join),
        st.sampled_from(["TRUE", "price > 1", "NOT name = 'a'"]),
        st.tuples(letter, iterative).map(" OR ".join),
        st.tuples(letter, letter, iterative).map(lambda each: "({} OR {}) AND {}".format(*each)),
        iterative,
    )


def _with_nots(draw: st.DrawFn, steps: list[Document]) -> list[Document]:
    """Return the steps with NOTs behind some; only where both neighbours must occur."""
    elements: list[Document] = []
    for step, follower in zip(steps, [*steps[1:], None], strict=True):
        elements.append(step)
        neighbours = [step, follower] if follower else [step]
        if (
            not any(each.get("optional") for each in neighbours)
            and not step.get("greedy")
            and not (follower and _is_range(follower))
            and draw(st.booleans())
        ):
            anywhere = follower or all(_is_fixed(each) for each in steps)
            kinds = ["not_followed_by"] * bool(anywhere)
            if not (follower and "within_ms" in follower):
                kinds.append("not_next")
            contiguity, where = draw(st.sampled_from(kinds)), draw(_conditions(0))
            name = f"n{len(elements)}"
            elements.append({"name": name, "contiguity": contiguity, "where": where})
    return elements


def _with_group(draw: st.DrawFn, elements: list[Document]) -> list[Document]:
    """Return the elements, some of them as one group: once, twice or not at all."""
    ranges = [
        (first, end)
        for first in range(len(elements))
        for end in range(first + 1, len(elements) + 1)
        if not _is_not(elements[first])
        and not _is_not(elements[end - 1])
        and not (first and _is_not(elements[first - 1]))
        and not any("within_ms" in element for element in elements[first:end])
    ]
    if not ranges or not draw(st.booleans()):
        return elements
    first, end = draw(st.sampled_from(ranges))
    head, *others = elements[first:end]
    group: Document = {key: head[key] for key in ("contiguity",) if key in head}
    group["group"] = {"steps": [{k: v for k, v in head.items() if k != "contiguity"}, *others]}
    if not _is_not([*elements, {}][end]):
        if draw(st.booleans()):
            group |= {"times": 2, "inner": draw(_INNER)}
        group["optional"] = not _is_greedy_end(elements[:first]) and draw(_SELDOM)
    return [*elements[:first], group, *elements[end:]]


def _is_not(element: Document) -> bool:
    return str(element.get("contiguity", "")).startswith("not_")


def _is_greedy_end(elements: list[Document]) -> bool:
    return bool(elements) and bool(elements[-1].get("greedy"))


def _is_range(step: Document) -> bool:
    times = step.get("times")
    return isinstance(times, dict) and times["to"] is not None


def _is_fixed(step: Document) -> bool:
    """Return whether a step always takes the same number of events."""
    times = step.get("times", 1)
    return not step.get("optional") and (isinstance(times, int) or times["from"] == times["to"])
