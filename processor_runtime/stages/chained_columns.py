"""The events of thousands of matches as JSON at once, and what is selected of them.

    ChainColumns, names of steps ──MatchTexts──► `events` of each match · `output` of each

All texts are pieces of a few: an event is written once, and whatever has it takes a copy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from cep.compiling import Ints
from cep.matching.event_columns import frame_of
from cep.nfa.chains import ChainColumns
from cep.processor import SelectedField
from processor_runtime.rows.arrow_texts import joined, series_texts, texts
from processor_runtime.rows.event_texts import event_text_column, value_texts
from processor_runtime.rows.json_text import NoJson, plain_json_text


@dataclass(frozen=True, slots=True)
class _Steps:
    """In which order the events of matches are written.

    Args:
        names: of steps, different ones.
        begin: where the events of each match begin in the next two; one more at the end.
        codes: the step of each event, a place in `names`; those of one stand together.
        places: its place among the different events.
    """

    names: Sequence[str]
    begin: Ints
    codes: Ints
    places: Ints

    @classmethod
    def of(cls, chained: ChainColumns, step_names: Sequence[str]) -> "_Steps":
        """Return events step by step, steps in the order of their first events.

        With Flink's quirks a name counts up to its first ":" only, so that two steps may be one.
        """
        spelled = [name.partition(":")[0] for name in step_names]
        names = list(dict.fromkeys(spelled))
        codes = np.array([names.index(name) for name in spelled], np.int64)[chained.steps]
        places = chained.places
        if _come_again(chained.begin, codes):
            matches = np.repeat(np.arange(len(chained.begin) - 1), np.diff(chained.begin))
            _, firsts, same = np.unique(
                matches * len(names) + codes, return_index=True, return_inverse=True
            )
            order = np.argsort(firsts[same], kind="stable")
            codes, places = codes[order], places[order]
        return cls(names, chained.begin, codes, places)

    def do_begin(self) -> "tuple[Any, Any]":
        """Return whether each event is the first of its match, and whether it is of its step."""
        of_match = np.zeros(len(self.codes), np.bool_)
        of_match[self.begin[:-1]] = True
        of_step = of_match.copy()
        of_step[1:] |= self.codes[1:] != self.codes[:-1]
        return of_match, of_step


def _come_again(begin: Ints, codes: Ints) -> bool:
    """Return whether events of an earlier step may come after those of a later one."""
    falls = codes[1:] < codes[:-1]
    falls[begin[1:-1] - 1] = False
    return bool(falls.any())


@dataclass(slots=True)
class MatchTexts:
    """Writes matches.

    Args:
        chained: their events; each has one at least.
        step_names: the names of the steps of their rule.
        columns: the columns of the stream; an event is the tuple of its time and their values.

    Raises:
        NoJson: their events cannot be put in columns.
    """

    chained: ChainColumns
    step_names: tuple[str, ...]
    columns: Sequence[str]
    _steps: _Steps = field(init=False)
    _different: pl.DataFrame = field(init=False)
    _values: dict[str, pa.StringArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._steps = _Steps.of(self.chained, self.step_names)
        self._different = _different_events(self.chained)

    def start_ms(self) -> Ints:
        """Return the time of the first event of each match."""
        times = self._different.to_series(0).to_numpy().astype(np.int64)
        found: Ints = times[self.chained.places[self.chained.begin[:-1]]]
        return found

    def events(self) -> pa.StringArray:
        """Return the events of each match by step.

        Raises:
            NoJson: there is something in them that JSON has no form for.
            TooLarge: they are.
        """
        of_events = series_texts(event_text_column(self._different.select(self.columns)))
        steps = self._steps
        begins, between = len(of_events), len(of_events) + 2 * len(steps.names)
        signs = [f"{sign}{plain_json_text(name)}:[" for name in steps.names for sign in ("{", "],")]
        signs += [",", "]}"]
        of_match, of_step = steps.do_begin()
        before = np.where(of_step, begins + 2 * steps.codes + ~of_match, between)
        # Each event has two pieces, and one more stands at the end of each match.
        count = len(steps.begin) - 1
        pieces = np.full(2 * len(steps.places) + count, between + 1, np.int64)
        where = 2 * np.arange(len(steps.places)) + np.repeat(np.arange(count), np.diff(steps.begin))
        pieces[where], pieces[where + 1] = before, steps.places
        begin = 2 * steps.begin + np.arange(count + 1)
        return joined(pa.concat_arrays([of_events, texts(signs)]), pieces, begin)

    def selected(self, fields: Sequence[SelectedField]) -> pa.StringArray:
        """Return what is selected of each match, from columns of the stream.

        Raises:
            NoJson: there is something in them that JSON has no form for.
            TooLarge: they are.
        """
        count = len(self._steps.begin) - 1
        tables, pieces, size = [], [], 0
        for number, each in enumerate(fields):
            sign = f"{',' if number else '{'}{plain_json_text(each.name)}:"
            table = pa.concat_arrays([self._value_texts(each.column), texts([sign, "null"])])
            places = self._places_of(each)
            pieces += [
                np.full(count, size + len(table) - 2),
                size + np.where(places < 0, len(table) - 1, places),
            ]
            tables.append(table)
            size += len(table)
        tables.append(texts(["}" if fields else "{}"]))
        pieces.append(np.full(count, size))
        begin = np.arange(count + 1) * len(pieces)
        return joined(pa.concat_arrays(tables), np.stack(pieces, axis=1).ravel(), begin)

    def _value_texts(self, column: str) -> pa.StringArray:
        if column not in self._values:
            values = self._different.to_series(1 + self.columns.index(column))
            self._values[column] = series_texts(value_texts(values))
        return self._values[column]

    def _places_of(self, selected: SelectedField) -> Ints:
        """Return the place of the event of each match that a field is of; -1 if it has none."""
        steps = self._steps
        found = np.full(len(steps.begin) - 1, -1, np.int64)
        if selected.step not in steps.names:
            return found
        events = np.flatnonzero(steps.codes == steps.names.index(selected.step))
        matches = np.searchsorted(steps.begin, events, side="right") - 1
        if selected.is_first:
            events, matches = events[::-1], matches[::-1]
        found[matches] = steps.places[events]  # of several the last stays
        return found


def _different_events(chained: ChainColumns) -> pl.DataFrame:
    """Return new events, and after them those that keys have held.

    Raises:
        NoJson: a value is not of the type of its column, so that events go one by one.
    """
    if not chained.held:
        return chained.new
    try:
        schema = chained.new.schema
        return pl.concat([chained.new, frame_of(chained.held, schema, list(schema))])
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise NoJson(f"events cannot be put in columns: {error}") from None
