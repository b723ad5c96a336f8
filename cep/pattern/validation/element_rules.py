"""What Flink's builder refuses immediately: rules on one element and the one before it.

The builder applies them after every call, `validation` to every element of a tree.

Source: Flink 2.3, `Pattern`, `GroupPattern`, `Quantifier`.
"""

from collections.abc import Iterator

from cep.pattern.durations import LONGEST_MS
from cep.pattern.problems import Problem
from cep.pattern.tree import Group, InnerContiguity, Step, WithinType


def element_problems(
    element: Step | Group, previous: Step | Group | None, path: str
) -> Iterator[Problem]:
    """Yield the problems of an element, given the one before it in the same sequence."""
    yield from _position_problems(element, previous, path)
    yield from _times_problems(element, path)
    yield from _window_problems(element, path)
    if element.is_negative:
        yield from _negative_problems(element, path)
    else:
        yield from _quantifier_problems(element, previous, path)


def _position_problems(
    element: Step | Group, previous: Step | Group | None, path: str
) -> Iterator[Problem]:
    if previous is None and element.contiguity is not None:
        yield Problem(
            f"{path}.contiguity",
            f"'{element.contiguity}' on the first step of a sequence, which follows nothing.",
            "Leave it out.",
        )
    if previous is not None and element.contiguity is None:
        yield Problem(
            f"{path}.contiguity",
            "missing; it says how the step follows the one in front of it.",
            "Write next, followed_by, followed_by_any, not_next or not_followed_by.",
        )
    if isinstance(element, Group):
        if not element.elements:
            yield Problem(f"{path}.group.steps", "a group without steps.", "Add a step.")
        if element.is_negative:
            yield Problem(
                f"{path}.contiguity",
                f"'{element.contiguity}' on a group; only a single step can be forbidden.",
                "Forbid one step, or write next, followed_by or followed_by_any.",
            )
    if previous is not None and element.is_negative and previous.is_optional:
        yield Problem(
            f"{path}.contiguity",
            f"'{element.contiguity}' after an optional step; Flink has no optional path to a NOT.",
            "Write two patterns, one with and one without the optional step.",
        )


def _times_problems(element: Step | Group, path: str) -> Iterator[Problem]:
    times = element.times
    if times is None:
        if element.times_within_ms is not None:
            yield Problem(
                f"{path}.times_within",
                "a window between repetitions on a step that does not repeat.",
                "Add times, or use within.",
            )
        return
    if times.minimum < 0 or (times.minimum == 0 and times.maximum is None):
        yield Problem(
            f"{path}.times",
            f"cannot repeat from {times.minimum} times; Flink needs a positive number.",
            "Write 1 or more; for a step that may be absent add optional.",
        )
    elif times.maximum is not None and times.maximum < max(times.minimum, 1):
        shortest = max(times.minimum, 1)
        yield Problem(
            f"{path}.times",
            f"cannot repeat at most {times.maximum} times; that is less than {shortest}.",
            f"Write {shortest} or more.",
        )
    if times.minimum == 0 and times.maximum is not None and element.optional:
        yield Problem(
            f"{path}.optional",
            "already applied: times from 0 makes the step optional.",
            "Leave out optional, or write times from 1.",
        )


def _window_problems(element: Step | Group, path: str) -> Iterator[Problem]:
    for window in element.within:
        yield from _duration_problems(window.duration_ms, f"{path}.within")
    if element.times_within_ms is not None:
        yield from _duration_problems(element.times_within_ms, f"{path}.times_within")
    for within_type in WithinType:
        if sum(window.type is within_type for window in element.within) > 1:
            yield Problem(
                f"{path}.within",
                f"two {within_type} windows; Flink would silently keep the last one.",
                "Keep one.",
            )


def _duration_problems(duration_ms: int, path: str) -> Iterator[Problem]:
    if not 0 <= duration_ms <= LONGEST_MS:
        yield Problem(
            path,
            f"a window of {duration_ms} ms is out of range.",
            f"Write 0 (no window) to {LONGEST_MS} ms.",
        )


def _negative_problems(element: Step | Group, path: str) -> Iterator[Problem]:
    reasons = {
        "times": element.times is not None and "cannot repeat",
        "inner": element.inner is not InnerContiguity.RELAXED and "has no repetitions to order",
        "greedy": element.greedy and "cannot be greedy",
        "optional": element.optional and "cannot be optional",
        "until": element.until is not None and "does not loop, so it has no until",
    }
    for key, reason in reasons.items():
        if reason:
            yield Problem(f"{path}.{key}", f"a {element.contiguity} step {reason}.", f"Drop {key}.")


def _quantifier_problems(
    element: Step | Group, previous: Step | Group | None, path: str
) -> Iterator[Problem]:
    if element.inner is not InnerContiguity.RELAXED and element.times is None:
        yield Problem(
            f"{path}.inner",
            f"'{element.inner}' orders repetitions, but the step does not repeat.",
            "Add times in front of it, or leave it out.",
        )
    if element.greedy:
        yield from _greedy_problems(element, path)
    if element.until is not None and not element.is_looping:
        yield Problem(
            f"{path}.until",
            "only ends loops, but the step does not repeat without end.",
            "Make it one_or_more or times_or_more, or leave out until.",
        )
    if element.optional and previous is not None and previous.greedy:
        yield Problem(
            f"{path}.optional",
            "an optional step cannot follow a greedy one.",
            "Drop greedy in front of it, or optional here.",
        )


def _greedy_problems(element: Step | Group, path: str) -> Iterator[Problem]:
    if isinstance(element, Group):
        yield Problem(f"{path}.greedy", "a group cannot be greedy.", "Make its last step greedy.")
    elif element.times is None:
        yield Problem(
            f"{path}.greedy",
            "greedy needs a step that repeats.",
            "Add times or one_or_more in front of it, or leave it out.",
        )
    elif element.inner is InnerContiguity.ALLOW_COMBINATIONS:
        yield Problem(
            f"{path}.greedy",
            "greedy and allow_combinations exclude each other.",
            "Keep one of them.",
        )
