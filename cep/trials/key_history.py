"""The events of one key in files of the past, as far as they bear on a span of time.

    rule, span ──► from when on events can matter · files ──key_history──► events of the key

What is open at the beginning of the span began before it: at most a window before. Where matches
drop what overlaps them (`after_match_skip`), what began there depends on what was before in turn,
back to a pause of the key as long as the window: nothing outlasts that.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from cep.definition.keys import key_text
from cep.events.table import EventRows
from cep.events.values import Reader, UnfitValue, typed_event
from cep.expression import EvaluationError, Expression, columns_of, resolve
from cep.instants import instant_ms, iso_text
from cep.matching.find_matches import to_time_ms
from cep.pattern.problems import type_remedy
from cep.pattern.tree import SkipKind
from cep.pattern.validation.window_rules import windows_in
from cep.trials.events import TimedEvent, key_values
from cep.trials.rule import Rule
from cep.trials.tracing import Tracer

MOST_READ: Final = 5_000_000
MOST_OF_KEY: Final = 20_000
_MOST_HELD: Final = 10 * MOST_OF_KEY
_WINDOWS_BEFORE: Final = 20
"""So many windows before the span a pause is looked for."""
_ROWS_BEHIND: Final = 100
"""So many rows after a match a clause may still ask for with NEXT."""
_KEY: Final = TypeAdapter(list[str | int | float | bool | None])


class BeyondReading(Exception):
    """There are more events than may be read; says of what, and what to do."""


class BadQuestion(ValueError):
    """A key or a span cannot be asked about; says why."""


@dataclass(frozen=True, slots=True)
class KeySpan:
    """A key, as people write it or as a JSON array, and the span of event time asked about.

    `until_ms` is exclusive.
    """

    key: str
    from_ms: int
    until_ms: int

    def __post_init__(self) -> None:
        if self.from_ms >= self.until_ms:
            span = f"{iso_text(self.from_ms)} to {iso_text(self.until_ms)}"
            raise BadQuestion(f"the span {span} is empty: its end must come after its beginning")


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """How many events may be read within the reach of the question, and looked at of the key."""

    read: int = MOST_READ
    of_key: int = MOST_OF_KEY


@dataclass(frozen=True, slots=True)
class KeyHistory:
    """The events of a key in their order, with the values of their columns.

    `key` has its values as JSON has them. `why_unusable` tells of the first event that could not be
    read. Time passes to `end_ms` behind the last event. `is_exact` is false if what came before the
    first one could change what is found.
    """

    key: list[Any]
    events: list[dict[str, Any]]
    read: int
    unusable: int
    why_unusable: str
    end_ms: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class _Reach:
    """From when on, and until when, events are read; what a pause must last to end everything."""

    begin_ms: int | None
    end_ms: int | None
    window_ms: int | None
    is_chained: bool


@dataclass(frozen=True, slots=True)
class _Placed:
    time_ms: int
    event: dict[str, Any]
    key: list[Any]


def key_history(
    rule: Rule, files: Iterable[EventRows], span: KeySpan, limits: ReadingLimits = ReadingLimits()
) -> KeyHistory:
    """Return the events of a key that bear on a span, out of those of all keys in any order.

    Raises:
        BadQuestion: the key is not one of the rule.
        BeyondReading: there are more events than the limits say.
    """
    reach = _reach(rule, span)
    reading = _Reading(rule, span, reach, limits)
    for events in files:
        reading.take(events)
    placed = _in_order(reading.found, rule)
    keys = {tuple(map(repr, each.key)) for each in placed}
    if len(keys) > 1:
        raise BadQuestion(
            f"several keys are written '{span.key}'; write the values of one as a JSON array, such "
            'as ["eve", 7]'
        )
    times_ms = [each.time_ms for each in placed]
    end = _end(times_ms, reach, span)
    begin, is_exact = _begin(times_ms, end, reach, span, limits.of_key)
    end_ms = span.until_ms + (reach.window_ms or 0)
    return KeyHistory(
        key=placed[0].key if placed else reading.wanted_values,
        events=[each.event for each in placed[begin:end]],
        read=reading.read,
        unusable=reading.unusable,
        why_unusable=reading.why_unusable,
        end_ms=end_ms if reading.newest_ms is None else min(end_ms, reading.newest_ms),
        is_exact=is_exact,
    )


class _Reading:
    """Takes events of all keys and keeps those of one."""

    def __init__(self, rule: Rule, span: KeySpan, reach: _Reach, limits: ReadingLimits) -> None:
        self._is_wanted, self.wanted_values = _key_test(span.key, rule.content.key_by or ())
        self._reach = reach
        self._limits = limits
        self._time_column = rule.time.column
        self._key = key_values(rule)
        self._key_columns = _key_columns(rule)
        self._key_text = span.key
        self.found: list[_Placed] = []
        self.read = self.unusable = 0
        self.why_unusable = ""
        self.newest_ms: int | None = None

    def take(self, events: EventRows) -> None:
        """Take the events of the next file."""
        for event in events.rows:
            self._take(event, events.readers)

    def _take(self, event: dict[str, Any], readers: Mapping[str, Reader]) -> None:
        begin_ms, end_ms = self._reach.begin_ms, self._reach.end_ms
        try:
            time_ms = self._time_ms(event, readers)
            self.newest_ms = time_ms if self.newest_ms is None else max(self.newest_ms, time_ms)
            if begin_ms is not None and time_ms < begin_ms:
                return
            if end_ms is not None and time_ms >= end_ms:
                return
            self._count()
            # Of most events no more is looked at than their key.
            key = self._key(TimedEvent(0, 0, typed_event(_only(event, self._key_columns), readers)))
            if not self._is_wanted(key):
                return
            columns = typed_event(event, readers)
        except (ValueError, EvaluationError) as error:
            self.unusable += 1
            self.why_unusable = self.why_unusable or _reason(error)
            return
        self.found.append(_Placed(time_ms, columns, key))
        if len(self.found) > max(_MOST_HELD, self._limits.of_key):
            raise _too_many_of_key(self._key_text, max(_MOST_HELD, self._limits.of_key))

    def _time_ms(self, event: dict[str, Any], readers: Mapping[str, Reader]) -> int:
        column = self._time_column
        value, reader = event.get(column), readers.get(column)
        try:
            return instant_ms(to_time_ms(value if reader is None else reader(value)))
        except ValueError as error:
            raise UnfitValue(column, f"{error}") from None

    def _count(self) -> None:
        self.read += 1
        if self.read > self._limits.read:
            raise BeyondReading(
                f"there are more than {self._limits.read:,} events in the time that bears on the "
                "span: shorten it, or name fewer files"
            )


def _reach(rule: Rule, span: KeySpan) -> _Reach:
    query = rule.pattern.query
    if query is not None:
        # A clause may look at any row before and behind, and count its matches.
        within_ms = query.clause.within_ms
        end_ms = span.until_ms if within_ms is None else None
        return _Reach(None, end_ms, within_ms, is_chained=True)
    window_ms = Tracer(rule.pattern, rule.schema).window_ms
    if any(windows_in(rule.pattern.tree)):
        # A window in a condition may count any event before.
        return _Reach(None, span.until_ms + (window_ms or 0), window_ms, is_chained=True)
    if window_ms is None:
        return _Reach(None, span.until_ms, None, is_chained=True)
    is_chained = rule.pattern.tree.after_match_skip.kind is not SkipKind.NO_SKIP
    windows = _WINDOWS_BEFORE if is_chained else 1
    begin_ms, end_ms = span.from_ms - windows * window_ms, span.until_ms + window_ms
    return _Reach(begin_ms, end_ms, window_ms, is_chained)


def _end(times_ms: Sequence[int], reach: _Reach, span: KeySpan) -> int:
    end = bisect_left(times_ms, span.until_ms + (reach.window_ms or 0))
    return end if reach.end_ms is not None else min(end + _ROWS_BEHIND, len(times_ms))


def _begin(
    times_ms: Sequence[int], end: int, reach: _Reach, span: KeySpan, most: int
) -> tuple[int, bool]:
    """Return the first event to look at, and whether what came before it makes no difference."""
    latest = bisect_left(times_ms, span.from_ms - (reach.window_ms or 0))
    if end - latest > most:
        raise _too_many_of_key(span.key, most)
    begin, is_exact = latest, True
    if reach.is_chained:
        begin, is_exact = _last_pause(times_ms, latest, reach)
    return (begin, is_exact) if end - begin <= most else (end - most, False)


def _last_pause(times_ms: Sequence[int], latest: int, reach: _Reach) -> tuple[int, bool]:
    if reach.begin_ms is None or reach.window_ms is None:
        return 0, True
    if latest == len(times_ms):
        return latest, True
    for place in range(latest, 0, -1):
        if times_ms[place] - times_ms[place - 1] >= reach.window_ms:
            return place, True
    return 0, times_ms[0] - reach.begin_ms >= reach.window_ms


def _in_order(found: Iterable[_Placed], rule: Rule) -> list[_Placed]:
    place = rule.time.order_reader(rule.schema)
    try:
        return sorted(found, key=lambda each: (each.time_ms, place(each.event)))
    except TypeError as error:
        raise BadQuestion(f"events of one time have no order: {error}") from None


def _key_test(
    written: str, key_by: Sequence[str]
) -> tuple[Callable[[Sequence[Any]], bool], list[Any]]:
    """Return whether a key is the one that is written, and its values as they are written."""
    if not written.startswith("["):
        values = [written] if key_by else []
        return (lambda key: key_text(key) == written), values
    try:
        wanted = _KEY.validate_json(written)
    except ValidationError as error:
        reason = type_remedy(error.errors()[0]).rstrip(".")
        raise BadQuestion(f"the key begins like a JSON array and is none: {reason}") from None
    if len(wanted) != len(key_by):
        columns = ", ".join(key_by) or "empty"
        raise BadQuestion(f"the key of the rule is {columns}; these are {len(wanted)} values")
    texts = [key_text([value]) for value in wanted]
    return (lambda key: [key_text([value]) for value in key] == texts), wanted


def _key_columns(rule: Rule) -> tuple[str, ...]:
    names = {
        name
        for text in rule.content.key_by or ()
        for name in columns_of(resolve(Expression.parse(text), (), rule.schema))
    }
    return tuple(names)


def _only(event: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: event[name] for name in names if name in event}


def _reason(error: Exception) -> str:
    return f"{error.column}: {error}" if isinstance(error, UnfitValue) else f"{error}"


def _too_many_of_key(key: str, most: int) -> BeyondReading:
    return BeyondReading(
        f"the key {key[:200]} has more than {most:,} events in the time that bears on the span: "
        "shorten it"
    )
