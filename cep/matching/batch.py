"""Feeds the matcher from Polars frames: conditions columnar, matching row by row where it matters.

    frame ──tests, columnar──► rows that concern a rule ──► KeyedMatcher ──► detections

Every distinct test on the event alone is evaluated once per frame, whatever the number of rules. A
row for which no rule can react never leaves the frame.
"""

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import polars as pl

from cep.executors.column_matcher import ColumnMatcher
from cep.expression import EvaluationError, Schema, row_reader, short_sql
from cep.keyed.event_columns import EventColumns
from cep.keyed.matcher import KeyedMatcher
from cep.keyed.predicate_index import PredicateIndex
from cep.keyed.row_kinds import Concerned
from cep.keyed.shapes import Detection, EventKind
from cep.nfa.errors import EventTimeError
from cep.nfa.limits import Limits
from cep.pattern import Pattern

_ROWS_AT_ONCE = 262_144
"""Bounds the memory for the outcomes of the tests: 32 KiB per test."""


class BatchMatcher:
    """Runs many rules over frames of events in order of time.

    Args:
        rules: pattern by rule id.
        schema: the columns of the frames; conditions are checked and compiled against it.
        time_field: column with the event time: integer milliseconds, or Datetime (without zone:
            UTC).
        key_by: columns of the key; `None` = one key.
        limits: what each rule may hold for one key.
        compiles: whether compiled code may be used, where the machine has numba.

    Raises:
        PatternError: a pattern is not valid, or does not fit the schema.
        ExpressionError: a condition has a window, which `find_matches` and jobs know.
    """

    def __init__(  # noqa: PLR0913 - independent options, by name
        self,
        rules: Mapping[str, Pattern],
        *,
        schema: Schema,
        time_field: str = "ts",
        key_by: Sequence[str] | None = None,
        limits: Limits | None = None,
        compiles: bool = True,
    ) -> None:
        for pattern in rules.values():
            pattern.validate(schema)
        self._columns = tuple(name for name, _ in schema.columns)
        self.matcher = KeyedMatcher(
            rules,
            field_reader=row_reader(self._columns),
            schema=schema,
            limits=limits,
            in_deadline_order=True,
        )
        self._at_once = ColumnMatcher(self.matcher, compiles=compiles)
        self._time_name = time_field
        self._key_by = tuple(key_by) if key_by is not None else None
        self._index = PredicateIndex(self.matcher.tests.nodes, schema)
        self._kinds = self.matcher.kinds()
        self._latest_ms: int | None = None

    def process(self, frame: pl.DataFrame) -> list[Detection]:
        """Match the events of a frame; return what was found, in order of event time.

        An accepted event is kept as the tuple of its values in the order of the schema.

        Raises:
            EventTimeError: an event has no time or is older than one before it.
            EvaluationError: a condition cannot be evaluated on an event; says which.
            LimitExceeded: a key holds too much.
        """
        detections: list[Detection] = []
        with no_cycle_collection():
            for part in frame.select(self._columns).iter_slices(_ROWS_AT_ONCE):
                detections += self._process(part)
        return detections

    def advance_to(self, time_ms: int) -> list[Detection]:
        """Close every window up to `time_ms`; return matches this brings, and timeouts."""
        return self.matcher.advance_to(time_ms)

    def _process(self, frame: pl.DataFrame) -> list[Detection]:
        times = self._times(frame)
        rows, kinds, kind_numbers = self._classified(frame)
        relevant = frame[rows]
        events = EventColumns.of(
            relevant,
            times[rows],
            kinds,
            kind_numbers,
            relevant.select(self._key_by or ()),
            is_single=self._key_by is not None and len(self._key_by) == 1,
            only_key=None,
        )
        return [one for found in self._at_once.process(events) for one in found]

    def _classified(self, frame: pl.DataFrame) -> Concerned[EventKind]:
        try:
            return self._index.classify(frame, self._kinds.__getitem__)
        except EvaluationError:
            failure = self._index.first_failure(frame, ())
            if failure is None:
                raise
            row, errors = failure
            test, error = next(iter(errors.items()))
            condition = short_sql(self._index.tests[test])
            raise EvaluationError(f"condition {condition!r}, row {row}: {error}") from error

    def _times(self, frame: pl.DataFrame) -> pl.Series:
        time = frame.get_column(self._time_name)
        times = time if time.dtype.is_integer() else time.dt.epoch("ms")
        if times.null_count():
            raise EventTimeError(f"{times.null_count()} events have no {self._time_name}")
        if len(times) and (
            not times.is_sorted() or (self._latest_ms is not None and times[0] < self._latest_ms)
        ):
            raise EventTimeError(f"events are not in order of {self._time_name}; sort them first")
        self._latest_ms = times[-1] if len(times) else self._latest_ms
        return times


@contextmanager
def no_cycle_collection() -> Iterator[None]:
    """Matching makes many objects and no cycles; looking for some takes a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
