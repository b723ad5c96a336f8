"""Matches one pattern over a list or stream of events: for tests, documentation and backtests.

Source: the public entry point of the core; semantics as `cep.nfa`.
"""

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from numbers import Integral
from typing import Any, ClassVar, Final

from cep.events.frames import rows_of
from cep.events.order import place_of
from cep.events.values import UnfitValue, column_readers, typed_event
from cep.expression import EvaluationError, Schema, compile_predicate, mapping_reader
from cep.html_tables import events_table, found_table
from cep.instants import epoch_ms
from cep.keyed.event_check import EventCheck, EventWarning
from cep.keyed.matcher import KeyedMatcher
from cep.keyed.shapes import Detection, EventKind
from cep.nfa.errors import (
    ConditionFailed,
    EventKeyError,
    EventTimeError,
    EventValueError,
    SkipTargetMissing,
)
from cep.nfa.limits import Limits
from cep.pattern import Pattern
from cep.row_search.matched import MatchedRows
from cep.windows.running import RunningWindows

TimeField = str | Callable[[Any], Any]
KeyBy = str | Sequence[str] | Callable[[Any], Hashable] | None
OrderBy = str | Sequence[str] | Callable[[Any], Any] | None


@dataclass(frozen=True, slots=True)
class Match:
    """One match: the accepted events (the very objects given) by step name.

    `at` is the index, from 0, of the event whose processing, or whose advance of time, brought the
    match; `None` where the final watermark did. `time_ms` is the event time at which it was found:
    that of the event, or when the window closed. `key` is `None` without `key_by`. `rows` are those
    of a clause, which its measures are computed of; a pattern of steps has none.
    """

    is_timeout: ClassVar[bool] = False

    steps: dict[str, list[Any]]
    at: int | None
    time_ms: int
    key: Hashable = None
    rows: MatchedRows | None = field(default=None, repr=False, compare=False)

    def _repr_html_(self) -> str:
        return events_table(self)


@dataclass(frozen=True, slots=True)
class TimedOutMatch:
    """A partial match whose window closed at `timeout_ms` before it was complete; see `Match`."""

    is_timeout: ClassVar[bool] = True

    steps: dict[str, list[Any]]
    timeout_ms: int
    at: int | None
    key: Hashable = None

    @property
    def time_ms(self) -> int:
        """When the window closed, as for a match that time brings."""
        return self.timeout_ms

    def _repr_html_(self) -> str:
        return events_table(self)


@dataclass(slots=True)
class MatchResult:
    """Everything found, each list in order of emission; its length and items are the matches.

    `open_partial_matches` and `held_back_matches` count what was under way after the last event;
    `open_after_watermark` what still was after the final watermark, `None` without one.
    """

    matches: list[Match] = field(default_factory=list)
    timed_out: list[TimedOutMatch] = field(default_factory=list)
    open_partial_matches: int = 0
    held_back_matches: int = 0
    open_after_watermark: int | None = None

    def __len__(self) -> int:
        return len(self.matches)

    def __iter__(self) -> Iterator[Match]:
        return iter(self.matches)

    def _repr_html_(self) -> str:
        found: list[Match | TimedOutMatch] = [*self.matches, *self.timed_out]
        found.sort(key=lambda each: each.time_ms)
        count = self.open_partial_matches
        message = "1 partial match was" if count == 1 else f"{count:,} partial matches were"
        return found_table(found, f"{message} open" if count else "")


def find_matches(  # noqa: PLR0913 - keyword options with defaults
    pattern: Pattern,
    events: Iterable[Any],
    *,
    time_field: TimeField = "ts",
    final_watermark_ms: int | None = None,
    key_by: KeyBy = None,
    order_by: OrderBy = None,
    require_order: bool = False,
    limits: Limits | None = None,
    schema: Schema | None = None,
    warn: bool = True,
) -> MatchResult:
    """Return all matches and timeouts of a pattern over events in order of time.

    Args:
        pattern: what to look for.
        events: mappings, or objects with attributes, in order of time; times may tie. An event
            older than the one before it is processed where it stands and moves no window. A frame
            of Polars, pandas or Arrow is taken as the mappings that its rows are.
        time_field: field (or function) giving the event time: int milliseconds, datetime or ISO
            8601 text. A time without zone is taken as UTC.
        final_watermark_ms: advance time to this after the last event, which closes open windows.
        key_by: field, fields or function giving the key; matches never mix keys. `None` =
            one key, or PARTITION BY of a clause.
        order_by: field, fields or function that order events of equal time; by default they keep
            their order. NULL, or a field that an event lacks, comes first.
        require_order: refuse events that go back in time.
        limits: how much one key may hold.
        schema: the columns of the events and the lists of their stream. Values of events that are
            mappings are read as a job reads them; conditions, keys and functions see them so.
        warn: issue an `EventWarning` of what was most likely meant otherwise: a field that a
            condition reads or a key that an event does not have, seconds that are read as
            milliseconds, events that are not in order of time. Of the fields only those of events
            that are mappings are looked at.

    Raises:
        PatternError: the pattern is not valid.
        UnreadableEvents: the events are a frame that cannot be read.
        EventTimeError: an event has no usable time, or goes back in time and must not.
        EventKeyError: the key of an event is a list or another value that cannot be one.
        EventValueError: a value does not fit its column, or `order_by` cannot order two values.
        TypeError: the pattern is none, or the events cannot be iterated.
        LimitExceeded: a key holds more than its limits allow.
        SkipTargetMissing: throw_on_miss; its `partial_result` holds what came before.
    """
    result = MatchResult()
    scan = _Scan(pattern, limits, _Reading(time_field, key_by, order_by, require_order), schema)
    check = _check(pattern, scan.key_by, time_field)
    rows = rows_of(events)
    try:
        for found in scan.over(_seen(rows, check) if warn else rows):
            _add(result, found)
        result.open_partial_matches = scan.matcher.open_partial_matches()
        result.held_back_matches = scan.matcher.held_back_matches()
        if final_watermark_ms is not None:
            for found in scan.to_watermark(final_watermark_ms):
                _add(result, found)
            result.open_after_watermark = scan.matcher.open_partial_matches()
    except SkipTargetMissing as error:
        error.partial_result = result
        raise
    if not warn:
        return result
    keys = [found.key for found in result.matches] + [found.key for found in result.timed_out]
    of_no_key = sum(map(_has_null, keys))
    for warning in check.warnings(scan.goes_back_at, of_no_key):
        warnings.warn(warning, EventWarning, stacklevel=2)
    return result


def iter_matches(  # noqa: PLR0913 - as find_matches
    pattern: Pattern,
    events: Iterable[Any],
    *,
    time_field: TimeField = "ts",
    final_watermark_ms: int | None = None,
    key_by: KeyBy = None,
    order_by: OrderBy = None,
    require_order: bool = False,
    limits: Limits | None = None,
    schema: Schema | None = None,
    on_last_event: Callable[[int], None] = lambda _open: None,
) -> Iterator[Match | TimedOutMatch]:
    """Yield matches and timeouts as they come, reading events only as needed.

    Arguments and errors are those of `find_matches`; the events may be without end.
    `on_last_event` gets the number of open partial matches before time is advanced further.
    """
    scan = _Scan(pattern, limits, _Reading(time_field, key_by, order_by, require_order), schema)
    yield from scan.over(rows_of(events))
    on_last_event(scan.matcher.open_partial_matches())
    if final_watermark_ms is not None:
        yield from scan.to_watermark(final_watermark_ms)


def _check(pattern: Pattern, key_by: KeyBy, time_field: TimeField) -> EventCheck:
    """Return what looks at the events; a function for a key or the time is not looked into."""
    names = [key_by] if isinstance(key_by, str) else [] if callable(key_by) else key_by or []
    return EventCheck(pattern, names, time_field if isinstance(time_field, str) else "")


def _seen(events: Iterable[Any], check: EventCheck) -> Iterator[Any]:
    for event in events:
        if isinstance(event, Mapping):
            check.see(event)
        yield event


def _add(result: MatchResult, found: Match | TimedOutMatch) -> None:
    if isinstance(found, Match):
        result.matches.append(found)
    else:
        result.timed_out.append(found)


@dataclass(frozen=True, slots=True)
class _Reading:
    """How to read time, key and order of an event; see `find_matches`."""

    time_field: TimeField
    key_by: KeyBy
    order_by: OrderBy
    require_order: bool


class _Scan:
    """One pass over events: times, keys and tests read from each, fed to a matcher."""

    def __init__(
        self,
        pattern: Pattern,
        limits: Limits | None,
        reading: _Reading,
        schema: Schema | None = None,
    ) -> None:
        if not isinstance(pattern, Pattern):
            raise TypeError(
                f"the first argument is the pattern, not a {type(pattern).__name__}: "
                "find_matches(pattern, events)"
            )
        pattern.validate()
        time_field, order_by = reading.time_field, reading.order_by
        self.matcher = KeyedMatcher({"": pattern}, limits=limits, schema=schema)
        self._time_of = _reader(time_field)
        self._time_name = time_field if isinstance(time_field, str) else "the time function"
        key_by = reading.key_by
        if key_by is None and pattern.query is not None:
            key_by = pattern.partition_by or None
        self.key_by = key_by
        self._key_of = _key_reader(key_by)
        self._order_of = None if order_by is None else _order_reader(order_by)
        self._readers = None if schema is None else column_readers(schema)
        most_events = (limits or Limits()).events
        self._windows = RunningWindows(self.matcher.tests.nodes, mapping_reader, most_events)
        reader = self._windows.field_reader if self._windows else mapping_reader
        self._tests = [compile_predicate(n, reader, _no_aggregates) for n in self._windows.tests]
        self._require_order = reading.require_order
        self._kinds = self.matcher.kinds()
        self.goes_back_at: int | None = None
        """The first event, from 1, that is older than the one before it."""

    def over(self, events: Iterable[Any]) -> Iterator[Match | TimedOutMatch]:
        for time_ms, index, event in self._windows.over(self._in_order(events)):
            for detection in self.matcher.advance_to(time_ms):
                yield _found(detection, index)
            for detection in self._detections(time_ms, index, event):
                yield _found(detection, index)

    def _detections(self, time_ms: int, index: int, event: Any) -> list[Detection]:
        try:
            kind = self._kind(event)
            if not kind:
                return []
            key = self._key_of(event)
            try:
                return self.matcher.process(key, kind, event, time_ms)
            except TypeError:
                _check_key(key, index)  # only now: to hash each key twice would take time
                raise
        except EvaluationError as error:
            raise EvaluationError(f"event {index + 1}: {error}") from error
        except ConditionFailed as failure:
            raise failure.at(f"event {index + 1}") from failure.__cause__

    def to_watermark(self, time_ms: int) -> Iterator[Match | TimedOutMatch]:
        for detection in self.matcher.advance_to(time_ms):
            yield _found(detection, None)

    def _in_order(self, events: Iterable[Any]) -> Iterator[tuple[int, int, Any]]:
        timed = self._timed(events)
        if self._order_of is None:
            yield from timed
            return
        order_of = self._order_of
        for time_ms, ties in groupby(timed, key=lambda item: item[0]):
            try:
                in_order = sorted(ties, key=lambda item: order_of(item[2]))
            except TypeError as error:
                raise EventValueError(f"events at {time_ms} ms have no order: {error}") from None
            yield from in_order

    def _typed(self, event: Any, index: int) -> Any:
        if self._readers is None or not isinstance(event, Mapping):
            return event
        try:
            return _TypedEvent(event, typed_event(event, self._readers))
        except UnfitValue as unfit:
            raise EventValueError(f"event {index + 1}: {unfit.column}: {unfit}") from None

    def _timed(self, events: Iterable[Any]) -> Iterator[tuple[int, int, Any]]:
        latest_ms: int | None = None
        for index, given in enumerate(events):
            event = self._typed(given, index)
            time_ms = self._time_ms(event, index)
            if latest_ms is not None and time_ms < latest_ms and self.goes_back_at is None:
                self.goes_back_at = index + 1
            if self._require_order and self.goes_back_at:
                raise EventTimeError(
                    f"event {index + 1} ({self._time_name} = {time_ms} ms) is older than the one "
                    f"before it ({latest_ms} ms); sort the events by time first"
                )
            latest_ms = time_ms
            yield time_ms, index, event

    def _time_ms(self, event: Any, index: int) -> int:
        value = self._time_of(event)
        try:
            return to_time_ms(value)
        except ValueError as error:
            hint = ""
            if value is None and isinstance(event, Mapping):
                names = ", ".join(map(str, event))
                hint = f"; the event has {names}: name the field, time_field=..."
            raise EventTimeError(f"event {index + 1}: {self._time_name} {error}{hint}") from None

    def _kind(self, event: Any) -> EventKind:
        true_tests = tuple(number for number, test in enumerate(self._tests) if test(event, ()))
        return self._kinds[true_tests]


def to_time_ms(value: object) -> int:
    """Return an event time in milliseconds since 1970-01-01 UTC.

    Raises:
        ValueError: the value is neither int milliseconds, datetime nor ISO 8601 text.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)  # of NumPy
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"is {value!r}, not a time in ISO 8601") from None
    if isinstance(value, datetime):
        return epoch_ms(value)
    if value is None:
        raise ValueError("is missing; every event needs a time")
    raise ValueError(f"is {value!r}; expected int milliseconds, a datetime or ISO 8601 text")


def _check_key(key: Hashable, index: int) -> None:
    try:
        hash(key)
    except TypeError as error:
        raise EventKeyError(
            f"event {index + 1}: its key is {key!r} ({error}); name fields with plain values"
        ) from None


class _TypedEvent(dict[str, Any]):
    """An event with the values of its columns, and as it was `given`."""

    __slots__ = ("given",)

    def __init__(self, given: Mapping[str, Any], columns: Mapping[str, Any]) -> None:
        super().__init__(columns)
        self.given = given


def _found(detection: Detection, at: int | None) -> Match | TimedOutMatch:
    key = _as_given(detection.key)
    steps = {
        name: [each.given if type(each) is _TypedEvent else each for each in events]
        for name, events in detection.steps.items()
    }
    if detection.is_timeout:
        return TimedOutMatch(steps, detection.time_ms, at, key)
    rows = detection.cell if isinstance(detection.cell, MatchedRows) else None
    return Match(steps, at, detection.time_ms, key, rows)


def _reader(field_or_function: str | Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what reads a field: one of this very name, else by the path that its dots make."""
    if not isinstance(field_or_function, str):
        return field_or_function
    exact, path = mapping_reader((field_or_function,)), tuple(field_or_function.split("."))
    if len(path) == 1:
        return exact
    inside = mapping_reader(path)
    return lambda event: inside(event) if (found := exact(event)) is None else found


def _order_reader(order_by: str | Sequence[str] | Callable[[Any], Any]) -> Callable[[Any], Any]:
    if callable(order_by):
        return lambda event: place_of(order_by(event))
    readers = [_reader(name) for name in ([order_by] if isinstance(order_by, str) else order_by)]
    return lambda event: tuple(place_of(read(event)) for read in readers)


def _key_reader(key_by: KeyBy) -> Callable[[Any], Hashable]:
    if key_by is None:
        return lambda _event: None
    if isinstance(key_by, str) or callable(key_by):
        read_one = _reader(key_by)
        return lambda event: _distinct(read_one(event))
    if not isinstance(key_by, Iterable):
        raise TypeError(f"key_by is a field, fields or a function, not {key_by!r}")
    readers = [_reader(name) for name in key_by]
    return lambda event: tuple(_distinct(read(event)) for read in readers)


@dataclass(frozen=True, slots=True)
class _Truth:
    """TRUE or FALSE in a key: to Python they equal 1 and 0."""

    value: bool


_NAN: Final = float("nan")
"""All NaN of keys: one is equal to no other, but is found in a dict if it is the same object."""


def _distinct(key: Any) -> Any:
    """Return a value of a key so that equal ones, and no others, are equal to Python."""
    kind = type(key)
    if kind is bool:
        return _Truth(key)
    if kind is float and key != key:  # noqa: PLR0124 - NaN alone is not equal to itself
        return _NAN
    if kind is tuple:
        return tuple(map(_distinct, key))
    return key


def _has_null(key: Hashable) -> bool:
    return key is None or (type(key) is tuple and None in key)


def _as_given(key: Any) -> Any:
    if type(key) is _Truth:
        return key.value
    if type(key) is tuple:
        return tuple(map(_as_given, key))
    return key


def _no_aggregates(_aggregate: object) -> int:
    raise AssertionError("a test on the event alone has no aggregates")
