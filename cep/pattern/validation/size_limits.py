"""Limits on the size of a pattern, checked before any step whose cost depends on the size.

A few characters can cause much work: `times: 100000` is 100,000 states, and repetitions of groups
in groups multiply.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cep.pattern.problems import Problem
from cep.pattern.tree import Group, PatternTree, Step

MAXIMUM_STEPS: Final = 200
MAXIMUM_DEPTH: Final = 16
MAXIMUM_STATES: Final = 10_000
MAXIMUM_CHARACTERS: Final = 100_000
"""In names and conditions together."""

_TEXT_KEYS: Final = ("name", "where", "until", "subtype")


@dataclass(frozen=True, slots=True)
class PatternTooLarge(Problem):
    """A limit is exceeded: `given` is more than `limit`."""

    given: int = 0
    limit: int = 0


def written_size_problems(document: Any) -> Iterator[PatternTooLarge]:
    """Yield what a document has too much of, before anything is made of it."""
    steps, characters, todo, seen = 0, 0, [document], set[int]()
    while todo:
        holder = todo.pop()
        if id(holder) in seen:
            continue
        seen.add(id(holder))
        elements = holder.get("steps") if isinstance(holder, Mapping) else None
        for element in elements if isinstance(elements, list) else ():
            if isinstance(element, Mapping):
                characters += sum(_characters(element.get(key)) for key in _TEXT_KEYS)
            if isinstance(element, Mapping) and "group" in element:
                todo.append(element["group"])
            else:
                steps += 1
    if steps > MAXIMUM_STEPS:
        yield _too_large("steps", steps, MAXIMUM_STEPS, "Split the pattern.")
    elif characters > MAXIMUM_CHARACTERS:
        what = "characters in all names and conditions together"
        remedy = "Shorten the conditions, or split the pattern."
        yield _too_large(what, characters, MAXIMUM_CHARACTERS, remedy)


def _characters(value: Any) -> int:
    """Return how long a text is, or all texts in a condition, Python code aside."""
    count, todo = 0, [value]
    while todo:
        match todo.pop():
            case str() as text:
                count += len(text)
            case Mapping() as parts:
                todo += [inner for key, inner in parts.items() if key != "python"]
            case list() as parts:
                todo += parts
            case _:
                continue
    return count


def size_problems(tree: PatternTree) -> Iterator[PatternTooLarge]:
    """Yield the first limit that a pattern exceeds, if any."""
    depth = _depth(tree.elements, MAXIMUM_DEPTH + 1)
    if depth > MAXIMUM_DEPTH:
        yield _too_large("levels of groups", depth, MAXIMUM_DEPTH, "Use fewer groups in groups.")
        return
    steps = sum(1 for _ in tree.steps())
    if steps > MAXIMUM_STEPS:
        yield _too_large("steps", steps, MAXIMUM_STEPS, "Split the pattern.")
        return
    states = expanded_states(tree.elements)
    if states > MAXIMUM_STATES:
        yield _too_large(
            "states once repetitions are written out",
            states,
            MAXIMUM_STATES,
            "Repeat less often, or loop without end and count in the condition.",
        )


def expanded_states(elements: tuple[Step | Group, ...]) -> int:
    """Return how many steps a sequence has once its repetitions are written out."""
    return sum(
        repetitions(element)
        * (expanded_states(element.elements) if isinstance(element, Group) else 1)
        for element in elements
    )


def repetitions(element: Step | Group) -> int:
    """Return how many copies of an element are compiled; a loop is one more than its minimum."""
    if element.times is None:
        return 1
    if element.times.maximum is None:
        return element.times.minimum + 1
    return element.times.maximum


def _depth(elements: tuple[Step | Group, ...], stop: int) -> int:
    """Return how deep groups are nested, looking no deeper than `stop`."""
    groups = [element for element in elements if isinstance(element, Group)]
    if stop == 0 or not groups:
        return 0
    return 1 + max(_depth(group.elements, stop - 1) for group in groups)


def _too_large(what: str, given: int, limit: int, remedy: str) -> PatternTooLarge:
    message = f"{given} {what}; the limit is {limit}."
    return PatternTooLarge("", message, remedy, given=given, limit=limit)
