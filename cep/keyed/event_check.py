"""What events show of a rule or a command that was most likely meant otherwise.

    pattern + each event ──see──► EventCheck ──once all were seen──► warnings

A field that no event has is NULL everywhere, so a condition with a slip in a name holds for
nothing, and nothing says so.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from cep.expression import Expression, resolve
from cep.expression.errors import near_name
from cep.expression.tree import aggregates_of, columns_of
from cep.instants import epoch_ms
from cep.pattern import Pattern
from cep.pattern.tree import SkipKind

SECONDS: Final = range(10**8, 10**10)
"""Days of the years 1973 to 2286 in seconds, which in milliseconds are days of early 1970."""


class EventWarning(UserWarning):
    """Events show that a pattern, a key or a time was most likely meant otherwise."""


class EventCheck:
    """Looks at the events that a pattern is given."""

    def __init__(self, pattern: Pattern, keys: Iterable[str], time_field: str) -> None:
        self._reads = dict(_fields_read(pattern))
        self._keys = tuple(keys)
        self._time_field = time_field
        self._names: set[str] = set()
        self._are_seconds = True

    def see(self, event: Mapping[str, Any]) -> None:
        """Look at an event."""
        self._names.update(event)
        if self._are_seconds:
            time = event.get(self._time_field)
            time_ms = epoch_ms(time) if isinstance(time, datetime) else time
            self._are_seconds = type(time_ms) is int and time_ms in SECONDS

    def warnings(self, goes_back_at: int | None = None, of_no_key: int = 0) -> Iterator[str]:
        """Yield what to tell; nothing if there was no event.

        `goes_back_at` is the first event, from 1, that is older than the one before it;
        `of_no_key` how many matches and timeouts have NULL in their key.
        """
        if goes_back_at is not None:
            yield (
                f"event {goes_back_at} is older than the one before it; events are matched in the "
                "order in which they are given: sort them by time"
            )
        if not self._names:
            return
        for name, step in self._reads.items():
            if name not in self._names:
                so = f"which the condition of {step} reads, so it is NULL there"
                yield self._message(name, so)
        for key in self._keys:
            if key not in self._names and (name := key.split(".")[0]) not in self._names:
                yield self._message(name, "which is of the key, so all events have the same one")
                of_no_key = 0
        if of_no_key and self._keys:
            matches = "match has" if of_no_key == 1 else "matches have"
            yield (
                f"{of_no_key:,} {matches} NULL in the key: events without {', '.join(self._keys)} "
                "are matched together; leave them out, or add a condition IS NOT NULL"
            )
        if self._are_seconds:
            yield warning_of_seconds(self._time_field)

    def _message(self, name: str, so: str) -> str:
        hint = near_name(name, self._names)
        return f"no event has the field {name}, {so}{'; ' if hint else ''}{hint}"


def warning_of_seconds(name: str) -> str:
    """Return what to tell of a time that is in `SECONDS` in all events."""
    return (
        f"{name} reads as a day of early 1970: times are milliseconds, and these look like "
        "seconds; multiply them by 1000"
    )


def warning_of_open(pattern: Pattern, were: str) -> Iterator[str]:
    """Yield what to tell of partial matches that are open at the end, if time can close them.

    `were` says how many they were, with the verb.
    """
    query = pattern.query
    if query is None:
        has_window = any(element.within for element in pattern.tree.elements)
    else:
        has_window = query.clause.within_ms is not None
    if has_window:
        brings = ", which may bring matches" if _ends_bring_matches(pattern) else ""
        yield f"{were} open after the last event; --until closes windows{brings}"


def _ends_bring_matches(pattern: Pattern) -> bool:
    """Return whether a match can come, or be let go, as the window of another one closes."""
    if pattern.query is not None:
        return True
    *_, last = pattern.tree.steps()
    return last.is_negative or pattern.tree.after_match_skip.kind is not SkipKind.NO_SKIP


def _fields_read(pattern: Pattern) -> Iterator[tuple[str, str]]:
    """Yield the fields of events that conditions in SQL read, each with its step."""
    if pattern.query is not None:
        return
    names = pattern.step_names
    for step in pattern.tree.steps():
        for condition in (step.where, step.until):
            if not isinstance(condition, Expression):
                continue
            node = resolve(condition, names)
            read = columns_of(node)
            for aggregate in aggregates_of(node):
                if aggregate.operand is not None:
                    read |= columns_of(aggregate.operand)
            for name in sorted(read):
                yield name, step.name
