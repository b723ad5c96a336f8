"""What Flink accepts and then ignores or mangles; refused unless the pattern sets `flink_quirks`.

Each message says what Flink would do, each remedy what to write instead.

Source: runs of Flink CEP 2.3 and its `NFACompiler`, where the documentation is silent.
"""

from collections.abc import Iterator

from cep.pattern.problems import Problem
from cep.pattern.tree import Contiguity, Group, PatternTree, Step, WithinType
from cep.pattern.validation.pattern_rules import GROUP_NAME, may_match_nothing
from cep.pattern.validation.places import Place, places


def quirk_problems(tree: PatternTree) -> Iterator[Problem]:
    """Yield what Flink would do differently from what the pattern says."""
    for place in places(tree):
        yield from _name_quirks(place)
        yield from _times_window_quirks(place)
        yield from _gap_window_quirks(place)
        yield from _whole_window_quirks(place)
        yield from _not_quirks(place)
        yield from _group_head_quirks(place)
    yield from _end_quirks(tree)
    yield from _skip_quirks(tree)


def _quirk(path: str, flink: str, instead: str) -> Problem:
    return Problem(path, flink, f"{instead} With flink_quirks it is accepted as Flink runs it.")


def _name_quirks(place: Place) -> Iterator[Problem]:
    if not isinstance(place.element, Step):
        return
    name, path = place.element.name, f"{place.path}.name"
    if ":" in name:
        kept = name.partition(":")[0]
        yield _quirk(
            path,
            f"Flink cuts '{name}' at the ':' and reports its events as '{kept}', together with "
            "those of other steps cut to the same name.",
            f"Write '{name.replace(':', '_')}'.",
        )
    elif not name.strip():
        yield _quirk(path, "an empty name cannot be told apart in a match.", "Name the step.")
    elif name == GROUP_NAME:
        yield _quirk(path, f"Flink calls every group '{name}' internally.", "Choose another name.")


def _times_window_quirks(place: Place) -> Iterator[Problem]:
    if not place.element.times_within_ms:
        return
    if isinstance(place.element, Group):
        flaw = "ignores the window between the repetitions of a group"
    else:
        flaw = (
            "leaves the gap before the last repetition unlimited, in an endless loop every gap, "
            "and limits the gap in front of the first repetition instead"
        )
    yield _quirk(
        f"{place.path}.times_within",
        f"Flink {flaw}.",
        "Put a first_and_last window on the pattern, or write every repetition as a step of its "
        "own with a previous_and_current window.",
    )


def _gap_window_quirks(place: Place) -> Iterator[Problem]:
    if place.element.window_ms(WithinType.PREVIOUS_AND_CURRENT) and (flaw := _gap_flaw(place)):
        yield _quirk(
            f"{place.path}.within",
            f"Flink {flaw}.",
            "Put the previous_and_current window on a single mandatory step behind an element that "
            "comes a fixed number of times, or a first_and_last window on the pattern.",
        )


def _gap_flaw(place: Place) -> str | None:
    """Return what Flink does wrong with an element's previous_and_current window, if anything."""
    element = place.element
    in_the_middle = element.contiguity is Contiguity.NOT_FOLLOWED_BY and not place.is_last
    flaws = (
        (isinstance(element, Group), "ignores a previous_and_current window on a group"),
        (element.times is not None, "ignores a previous_and_current window on a step with times"),
        (
            element.optional,
            "loses a previous_and_current window on an optional step once an event was ignored",
        ),
        (place.is_first_of_pattern, "limits no gap in front of the first step"),
        (in_the_middle, "ignores a previous_and_current window on a not_followed_by in the middle"),
        (
            not _is_awaited_alone(place),
            "does not limit the gap behind an element that may be absent or repeat again",
        ),
    )
    return next((flaw for is_met, flaw in flaws if is_met), None)


def _is_awaited_alone(place: Place) -> bool:
    """Return whether a partial match always waits in this step's own state for its event."""
    for previous in reversed(place.in_front):
        if previous.contiguity is not Contiguity.NOT_FOLLOWED_BY:  # which has no state to wait in
            return _ends_for_good(previous)
    if not place.groups:
        return True
    group = place.groups[-1]
    if group.element.is_optional or group.element.is_looping:
        return False
    if group.element.times is not None and not _ends_for_good(place.sequence[-1]):
        return False
    return group.is_first_of_pattern or _is_awaited_alone(group)


def _ends_for_good(element: Step | Group) -> bool:
    """Return whether an element's last event always moves the match on to what follows."""
    times = element.times
    if element.is_optional or (times is not None and times.minimum != times.maximum):
        return False
    if element.is_negative:
        return False
    return _ends_for_good(element.elements[-1]) if isinstance(element, Group) else True


def _whole_window_quirks(place: Place) -> Iterator[Problem]:
    if place.groups and place.is_last and place.element.window_ms(WithinType.FIRST_AND_LAST):
        yield _quirk(
            f"{place.path}.within",
            "Flink ignores a first_and_last window on the last step of a group.",
            "Put it on the pattern.",
        )


def _group_head_quirks(place: Place) -> Iterator[Problem]:
    """The repetitions of a group's first step follow each other as the group's repetitions do."""
    element = place.element
    if not place.groups or place.index or isinstance(element, Group) or element.times is None:
        return
    used = place.groups[-1].element.inner
    if used is not element.inner:
        yield _quirk(
            f"{place.path}.inner",
            f"Flink repeats the first step of a group as the group is repeated: {used}, not "
            f"{element.inner}.",
            "Give the group the same inner contiguity, or put a step in front.",
        )


def _not_quirks(place: Place) -> Iterator[Problem]:
    path = f"{place.path}.contiguity"
    if (
        place.element.contiguity is Contiguity.NOT_FOLLOWED_BY
        and place.groups
        and place.is_last
        and not _is_pending_at_end(place)
    ):
        yield _quirk(
            path, "Flink drops a not_followed_by at the end of a group.", "Put it behind the group."
        )
    if (
        place.element.is_negative
        and isinstance(place.previous, Group)
        and may_match_nothing(place.previous)
    ):
        yield _quirk(
            path,
            "after a group in which every step may be absent Flink crashes on a forbidden event.",
            "Make a step of the group mandatory.",
        )


def _is_pending_at_end(place: Place) -> bool:
    """Return whether a not_followed_by that ends a group is awaited at the end of the pattern."""
    if any(not group.is_last or group.element.times is not None for group in place.groups):
        return False
    whole_ms = place.groups[0].element.window_ms(WithinType.FIRST_AND_LAST)
    return bool(whole_ms or place.element.window_ms(WithinType.PREVIOUS_AND_CURRENT))


def _end_quirks(tree: PatternTree) -> Iterator[Problem]:
    last = tree.elements[-1]
    if last.contiguity is Contiguity.NOT_FOLLOWED_BY and not any(
        window.duration_ms for window in last.within
    ):
        yield _quirk(
            f"steps[{len(tree.elements) - 1}].within",
            "Flink drops a not_followed_by at the end if the window stands on an earlier step.",
            "Put the window on the pattern.",
        )


def _skip_quirks(tree: PatternTree) -> Iterator[Problem]:
    target = tree.after_match_skip.step
    path = "after_match_skip.step"
    if target == GROUP_NAME:
        yield _quirk(
            path,
            f"Flink calls every group '{GROUP_NAME}' internally, but no match has such a step.",
            "Name a step.",
        )
    if any(step.name == target and step.is_negative for step in tree.steps()):
        yield _quirk(
            path,
            f"'{target}' is a NOT step, which is never in a match; Flink would skip nothing.",
            "Name a step that takes events.",
        )
