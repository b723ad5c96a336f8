"""One-letter events, so that a test of the matcher fits on a line."""

from typing import Any

from percept import MatchResult, Pattern, find_matches

Event = dict[str, Any]


def events(letters: str, *, step_ms: int = 1) -> list[Event]:
    """Return one event per letter: id and name from its place, one every `step_ms`."""
    return [
        {"id": index, "name": letter, "ts": index * step_ms, "price": float(index)}
        for index, letter in enumerate(letters)
    ]


def letter(name: str) -> str:
    return f"name = '{name}'"


def found(result: MatchResult) -> list[str]:
    """Return matches as their letters with places, in order of emission: `a0 b2`."""
    return [spelled(match.steps) for match in result.matches]


def spelled(steps: dict[str, list[Event]]) -> str:
    """Return the accepted events of all steps, first event first: `a0 b2`."""
    taken = sorted((event for step in steps.values() for event in step), key=lambda e: e["id"])
    return " ".join(f"{event['name']}{event['id']}" for event in taken)


def match(pattern: Pattern, letters: str) -> list[str]:
    return found(find_matches(pattern, events(letters)))
