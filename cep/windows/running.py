"""Windows over events that are objects, as they come: for tests, documentation and traces.

events in order, some at a time ──RunningWindows──► values of windows, read as fields
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Final

import numpy as np

from cep.expression import EvaluationError, FieldReader, Node, compile_scalar
from cep.expression.values import Value
from cep.nfa.errors import LimitExceeded
from cep.windows.columns import WindowColumns
from cep.windows.rows import WindowRows

_AT_ONCE: Final = 1_024
"""How many events are read at least before the first of them is looked at; as many as are kept, so
that to go through these costs each event the same.
"""


def kept_too_many(kept: int, limit: int) -> LimitExceeded:
    """Return the error of a rule whose windows keep too many events of one key."""
    remedy = "shorten the windows, filter more narrowly, or give them an end in time"
    return LimitExceeded("events kept for windows of one key", kept, limit, remedy)


class RunningWindows:
    """The windows of some tests over events in order of time; all events are of one key.

    Args:
        tests: those that may have windows.
        field_reader: how to read a field of an event.
        most_events: how many events may be kept; more raise `LimitExceeded`.
    """

    def __init__(self, tests: Sequence[Node], field_reader: FieldReader, most_events: int) -> None:
        self._columns = WindowColumns.of(tests)
        self._reader = field_reader
        self._most_events = most_events
        self._kept = WindowRows.empty(list(self._columns.parts))
        self.current: dict[str, Value] = {}
        """The values of windows at the event that `over` has yielded last, by their columns."""
        self._parts = {
            part: compile_scalar(part, self.field_reader) for part in self._columns.parts.values()
        }
        self.tests = [self._columns.replaced(test) for test in tests]
        """The tests without windows, to be compiled with `field_reader`."""

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self._columns)

    def field_reader(self, path: tuple[str, ...]) -> Callable[[Any], Any]:
        """Return what reads a field of the event that `over` has yielded last."""
        name = path[0]
        if name not in self._columns.names.values():
            return self._reader(path)
        return lambda _event: self.current[name]

    def over(self, timed: Iterable[tuple[int, int, Any]]) -> Iterator[tuple[int, int, Any]]:
        """Return events, which are time, index and event, once the values of windows are theirs.

        Raises:
            EvaluationError: an event is older than the one before it, or a window cannot be
                computed.
            LimitExceeded: more events are kept than may be.
        """
        return self._over(timed) if self else iter(timed)

    def _over(self, timed: Iterable[tuple[int, int, Any]]) -> Iterator[tuple[int, int, Any]]:
        waiting: list[tuple[int, int, Any]] = []
        for _, peers in groupby(timed, key=lambda each: each[0]):
            waiting += peers
            if len(waiting) >= max(_AT_ONCE, len(self._kept)):
                yield from self._computed(waiting)
                waiting = []
        yield from self._computed(waiting)

    def _computed(self, events: list[tuple[int, int, Any]]) -> Iterator[tuple[int, int, Any]]:
        times_ms = np.array([time_ms for time_ms, _, _ in events], np.int64)
        newest_ms = self._kept.times_ms[-1:]
        falls = np.diff(np.concatenate([newest_ms, times_ms])) < 0
        if falls.any():
            index = events[int(np.argmax(falls)) + 1 - len(newest_ms)][1]
            raise EvaluationError(
                f"event {index + 1} is older than the one before it; a rule with windows needs "
                "events in order of time: sort them first"
            )
        new = WindowRows.unread(times_ms)
        rows, columns = self._columns.values(self._kept, new, partial(self._evaluated, events))
        self._keep(rows)
        for place, event in enumerate(events):
            self._stand_at(place, columns)
            yield event

    def _evaluated(
        self,
        events: Sequence[tuple[int, int, Any]],
        part: Node,
        columns: Mapping[str, Sequence[Value]],
    ) -> list[Value]:
        values = []
        for place, (_, _, event) in enumerate(events):
            self._stand_at(place, columns)
            values.append(self._parts[part](event, ()))
        return values

    def _stand_at(self, place: int, columns: Mapping[str, Sequence[Value]]) -> None:
        self.current = {name: column[place] for name, column in columns.items()}

    def _keep(self, rows: WindowRows) -> None:
        if not len(rows):
            return
        chosen = np.zeros(len(rows), np.bool_)
        newest_ms = int(rows.times_ms[-1])
        for needed in self._columns.needed(rows, newest_ms).values():
            chosen |= needed
        count = int(chosen.sum())
        if count > self._most_events:
            raise kept_too_many(count, self._most_events)
        self._kept = rows.where(chosen)
