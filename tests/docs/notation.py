"""The short notation of events and matches in the documentation, both ways.

f1 f2 v3 f4 l5 l6, until 10          a failed sign-in at minute 1, …; then time goes on to minute 10
l5 → fail f1 f2 · login l5           what the event l5 brought
v3 → timed out at 3: fail f1
"""

from collections.abc import Iterator
from typing import Any

from percept import Match, MatchResult, Pattern, TimedOutMatch, find_matches

MINUTE_MS = 60_000
ACTIONS = {"f": "fail", "l": "login", "o": "logout", "p": "pay", "v": "view"}


def event_of(text: str) -> dict[str, Any]:
    """Return the event written as `f1`, `p7:250` (an amount) or `f1@ana` (a user)."""
    text, _, user = text.partition("@")
    name, _, amount = text.partition(":")
    event: dict[str, Any] = {
        "id": name,
        "ts": int(name[1:].rstrip("abc")) * MINUTE_MS,
        "action": ACTIONS[name[0]],
    }
    if amount:
        event["amount"] = int(amount)
    if user:
        event["user"] = user
    return event


def found(pattern: Pattern, line: str) -> str:
    """Return the whole block of a first line and what the pattern finds in its events."""
    names, *options = line.split(", ")
    events = [event_of(name) for name in names.split()]
    arguments: dict[str, Any] = {}
    for option in options:
        match option.split():
            case ["until", minute]:
                arguments["final_watermark_ms"] = int(minute) * MINUTE_MS
            case ["key", field]:
                arguments["key_by"] = field
            case ["order", "by", field]:
                arguments["order_by"] = field
            case _:
                raise ValueError(f"no option of this notation: {option}")
    result = find_matches(pattern, events, warn=False, **arguments)
    return "\n".join([line, *_lines(result, events)]) + "\n"


def _lines(result: MatchResult, events: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a line per match and timeout, by the event that brought them."""
    brought: list[Match | TimedOutMatch] = [*result.matches, *result.timed_out]
    for one in sorted(brought, key=lambda one: len(events) if one.at is None else one.at):
        at = "end" if one.at is None else events[one.at]["id"]
        key = "" if one.key is None else f"{one.key}: "
        steps = " · ".join(
            f"{step} {' '.join(event['id'] for event in taken)}"
            for step, taken in one.steps.items()
        )
        late = (
            f"timed out at {one.timeout_ms // MINUTE_MS}: "
            if isinstance(one, TimedOutMatch)
            else ""
        )
        yield f"{at} → {key}{late}{steps}"
    if not brought:
        yield "nothing"
