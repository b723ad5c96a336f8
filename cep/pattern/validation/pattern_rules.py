"""What Flink refuses, or crashes on, once a pattern is complete: names, skip target, windows, end.

Source: Flink 2.3, `NFACompiler.NFAFactoryCompiler`.
"""

from collections.abc import Iterator
from math import prod
from typing import Final

from cep.pattern.problems import Problem, did_you_mean
from cep.pattern.tree import Contiguity, Group, PatternTree, SkipKind, Step, WithinType
from cep.pattern.validation.places import Place, places
from cep.pattern.validation.size_limits import repetitions

END_STATE_NAME: Final = "$endState$"
GROUP_NAME: Final = "GroupPattern"


def pattern_problems(tree: PatternTree) -> Iterator[Problem]:
    """Yield what is wrong with a pattern as a whole."""
    all_places = tuple(places(tree))
    yield from name_problems(all_places)
    yield from skip_problems(tree)
    yield from _not_at_end_problems(tree, all_places)
    yield from _window_problems(all_places)


def whole_window_ms(all_places: tuple[Place, ...]) -> int:
    """Return the `first_and_last` window of the whole pattern: the smallest, 0 if there is none.

    Flink reads that of every element but a group's last.
    """
    windows = (
        place.element.window_ms(WithinType.FIRST_AND_LAST)
        for place in all_places
        if not (place.groups and place.is_last)
    )
    return min((window_ms for window_ms in windows if window_ms is not None), default=0)


def may_match_nothing(element: Step | Group) -> bool:
    """Return whether a pattern can get past an element without an event."""
    if element.is_optional or element.is_negative:
        return True
    return isinstance(element, Group) and all(map(may_match_nothing, element.elements))


def name_problems(all_places: tuple[Place, ...]) -> Iterator[Problem]:
    """Yield the names that are reserved or given twice."""
    first_path: dict[str, str] = {}
    for place in all_places:
        if not isinstance(place.element, Step):
            continue
        name = place.element.name
        if name == END_STATE_NAME:
            yield Problem(f"{place.path}.name", f"'{name}' is reserved.", "Choose another name.")
        elif name in first_path:
            yield Problem(
                f"{place.path}.name",
                f"'{name}' is already the name of {first_path[name]}; names must be unique.",
                "Choose another name.",
            )
        first_path.setdefault(name, place.path)


def skip_problems(tree: PatternTree) -> Iterator[Problem]:
    """Yield what is wrong with what follows a match."""
    skip = tree.after_match_skip
    path = "after_match_skip.step"
    if skip.kind not in {SkipKind.SKIP_TO_FIRST, SkipKind.SKIP_TO_LAST}:
        if skip.step is not None:
            yield Problem(path, f"{skip.kind} goes to no step.", "Leave it out.")
        if skip.throw_on_miss:
            yield Problem(
                "after_match_skip.throw_on_miss", f"{skip.kind} misses no step.", "Leave it out."
            )
        return
    if skip.step is None:
        yield Problem(path, f"{skip.kind} needs a step to go to.", "Name a step.")
        return
    known = [element.name for element in tree.elements if isinstance(element, Step)]
    if skip.step in known or (skip.step == GROUP_NAME and len(known) < len(tree.elements)):
        return
    if any(step.name == skip.step for step in tree.steps()):
        message = f"'{skip.step}' stands in a group; Flink skips to steps outside of groups only."
        yield Problem(path, message, "Name a step outside of groups.")
    else:
        yield Problem(path, f"there is no step '{skip.step}'.", did_you_mean(skip.step, known))


def _not_at_end_problems(tree: PatternTree, all_places: tuple[Place, ...]) -> Iterator[Problem]:
    last = tree.elements[-1]
    if last.contiguity is not Contiguity.NOT_FOLLOWED_BY:
        return
    if not last.window_ms(WithinType.PREVIOUS_AND_CURRENT) and not whole_window_ms(all_places):
        yield Problem(
            f"steps[{len(tree.elements) - 1}].contiguity",
            "not_followed_by at the end needs a window: without one its absence is never certain.",
            "Add within, or a step behind it.",
        )


def _window_problems(all_places: tuple[Place, ...]) -> Iterator[Problem]:
    """Yield the gaps that may be longer than the whole match.

    A whole window of 0, which switches it off, still counts as the shortest here, as in Flink.
    """
    if not any(
        place.element.window_ms(WithinType.FIRST_AND_LAST) is not None
        for place in all_places
        if not (place.groups and place.is_last)
    ):
        return
    whole_ms = whole_window_ms(all_places)
    for place in all_places:
        gap = _gap_window(place, all_places)
        if gap is not None and gap[1] > whole_ms:
            yield Problem(
                f"{place.path}.{gap[0]}",
                f"a gap of {gap[1]} ms is longer than the window of the pattern, {whole_ms} ms.",
                f"Write {whole_ms} ms or less, or widen that window.",
            )


def _gap_window(place: Place, all_places: tuple[Place, ...]) -> tuple[str, int] | None:
    """Return key and length of the window that Flink enforces in front of an element, if any."""
    element = place.element
    if isinstance(element, Group):
        if element.times_within_ms is None or not _is_later_loop(place, all_places):
            return None
        return "times_within", element.times_within_ms
    if element.times is None:
        waits = element.contiguity is not Contiguity.NOT_FOLLOWED_BY or place.is_last
        window_ms = element.window_ms(WithinType.PREVIOUS_AND_CURRENT)
        return ("within", window_ms) if waits and window_ms is not None else None
    copies = repetitions(element) * _copies_around(place)
    # Flink gives the window of times() to every state of the step but the one it builds first.
    if copies == 1 or element.times_within_ms is None:
        return None
    return "times_within", element.times_within_ms


def _is_later_loop(place: Place, all_places: tuple[Place, ...]) -> bool:
    """Whether Flink builds a looping group, or a copy of it, after another looping group.

    Flink builds from the end of the pattern, and a group before what is in it. Only the states of
    loops that it does not build first have a window.
    """
    if not place.element.is_looping:
        return False
    behind = all_places[all_places.index(place) + 1 :]
    loops_behind = (
        each for each in behind if isinstance(each.element, Group) and each.element.is_looping
    )
    is_first = all(place in each.groups for each in loops_behind) and not any(
        group.element.is_looping for group in place.groups
    )
    return not is_first or _copies_around(place) > 1


def _copies_around(place: Place) -> int:
    """Return how many times the groups around an element have it built."""
    return prod(repetitions(group.element) for group in place.groups)


def crash_problems(tree: PatternTree) -> Iterator[Problem]:
    """Yield what Flink accepts and may crash on; Percept can run it, but hardly as it was meant."""
    for place in places(tree):
        element = place.element
        if (
            isinstance(element, Group)
            and element.is_looping
            and all(map(may_match_nothing, element.elements))
        ):
            yield Problem(
                f"{place.path}.times",
                "an endless group in which every step may be absent; Flink loops for ever on it.",
                "Make a step of it mandatory and the group optional instead.",
            )
        if (
            element.is_looping
            and element.greedy
            and element.optional
            and element.until is not None
            and _follows_a_not(place)
        ):
            yield Problem(
                f"{place.path}.until",
                "greedy, optional and until together after a NOT step; Flink crashes on it.",
                "Drop one of the three, or write two patterns.",
            )


def _follows_a_not(place: Place) -> bool:
    """Return whether a not_followed_by stands in front, be it through optional elements."""
    for previous in reversed(place.in_front):
        if previous.contiguity is Contiguity.NOT_FOLLOWED_BY:
            return True
        if not previous.is_optional:
            return False
    return False
