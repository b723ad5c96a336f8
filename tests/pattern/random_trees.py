"""Random pattern trees that Flink accepts, every option of the language among them."""

from dataclasses import replace
from itertools import count

from hypothesis import strategies as st

from cep.pattern.conditions import condition_of
from cep.pattern.tree import (
    Contiguity,
    Group,
    InnerContiguity,
    PatternTree,
    SkipKind,
    SkipStrategy,
    Step,
    Subtype,
    Times,
    Window,
    WithinType,
)
from cep.pattern.validation.element_rules import element_problems
from cep.pattern.validation.validate import problems

CONDITIONS = [
    "name = 'a'",
    "price > 1 AND volume < 2",
    "name = 'say \"hi\" \\ or\nnot: # {x} é 语'",
    "(name = 'a') OR NOT price <= 3",
]

names = st.text(max_size=8) | st.sampled_from(["a", "fail", "no", "null", "1", "a: b", "~", "'"])
conditions = st.sampled_from(CONDITIONS).map(condition_of)
gaps_ms = st.integers(min_value=0, max_value=10**6)
whole_windows_ms = st.integers(min_value=10**6, max_value=10**15)


@st.composite
def quantified(draw: st.DrawFn, element: Step | Group) -> Step | Group:
    element = replace(
        element,
        times=draw(
            st.none()
            | st.builds(Times, st.integers(1, 4), st.none())
            | st.tuples(st.integers(0, 3), st.integers(1, 3)).map(lambda t: Times(t[0], sum(t)))
        ),
        optional=draw(st.booleans()),
        within=draw(windows()),
    )
    if element.times is None:
        return element
    if element.times.minimum == 0:
        element = replace(element, optional=False)
    element = replace(
        element,
        inner=draw(st.sampled_from(InnerContiguity)),
        times_within_ms=draw(st.none() | gaps_ms),
        until=draw(st.none() | conditions) if element.is_looping else None,
    )
    may_be_greedy = isinstance(element, Step) and element.inner != "allow_combinations"
    return replace(element, greedy=may_be_greedy and draw(st.booleans()))


@st.composite
def windows(draw: st.DrawFn) -> tuple[Window, ...]:
    kinds = draw(st.sets(st.sampled_from(WithinType)))
    lengths = {
        WithinType.FIRST_AND_LAST: whole_windows_ms,
        WithinType.PREVIOUS_AND_CURRENT: gaps_ms,
    }
    return tuple(Window(draw(lengths[kind]), kind) for kind in sorted(kinds))


@st.composite
def steps(draw: st.DrawFn) -> Step:
    subtype = draw(st.none() | st.builds(Subtype, names, names | st.just("type")))
    return Step(name=draw(names), where=draw(st.none() | conditions), subtype=subtype)


@st.composite
def sequences(draw: st.DrawFn, depth: int = 2) -> tuple[Step | Group, ...]:
    elements: list[Step | Group] = []
    for index in range(draw(st.integers(1, 3))):
        contiguity = draw(st.sampled_from(Contiguity)) if index else None
        element: Step | Group = draw(steps())
        if contiguity is not None and contiguity.is_negative:
            element = replace(element, within=draw(windows()))
        else:
            if depth and draw(st.integers(0, 3)) == 0:
                element = Group(elements=draw(sequences(depth - 1)))
            element = draw(quantified(element))
        element = replace(element, contiguity=contiguity)
        previous = elements[-1] if elements else None
        if not any(element_problems(element, previous, "")):
            elements.append(element)
    return tuple(elements) or (draw(steps()),)


@st.composite
def candidates(draw: st.DrawFn) -> PatternTree:
    elements = _distinct(draw(sequences()), count())
    targets = [element.name for element in elements if isinstance(element, Step)]
    skips = st.builds(
        SkipStrategy,
        st.sampled_from(
            [SkipKind.NO_SKIP, SkipKind.SKIP_TO_NEXT, SkipKind.SKIP_PAST_LAST_EVENT],
        ),
    )
    if targets:
        to_step = st.sampled_from([SkipKind.SKIP_TO_FIRST, SkipKind.SKIP_TO_LAST])
        skips |= st.builds(SkipStrategy, to_step, st.sampled_from(targets), st.booleans())
    return PatternTree(elements=elements, after_match_skip=draw(skips), flink_quirks=True)


def trees() -> st.SearchStrategy[PatternTree]:
    return candidates().filter(lambda tree: not problems(tree))


def _distinct(
    elements: tuple[Step | Group, ...], numbers: "count[int]"
) -> tuple[Step | Group, ...]:
    return tuple(
        replace(element, name=f"{element.name}{next(numbers)}")
        if isinstance(element, Step)
        else replace(element, elements=_distinct(element.elements, numbers))
        for element in elements
    )
