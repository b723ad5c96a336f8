"""The events of thousands of matches as JSON at once, and what is selected of them.

    ChainColumns, EventTable ──MatchTexts──► `events` of each match · `output` of each

All texts are pieces of a few: an event is written once, and whatever has it takes a copy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from cep.compiling import Ints
from cep.nfa.chains import ChainColumns
from cep.number_order import stable_order
from cep.processor import SelectedField
from processor_runtime.output.arrow_texts import join_pieces
from processor_runtime.output.events.event_table import EventTable


@dataclass(frozen=True)
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
    def of(cls, chained: ChainColumns, places: Ints, step_names: Sequence[str]) -> "_Steps":
        """Return events step by step, steps in the order of their first events.

        Of two steps that are written alike the events are together.
        """
        step_labels = [*map(written_name, step_names)]
        names = list(dict.fromkeys(step_labels))
        codes = np.array([names.index(name) for name in step_labels], np.int64)[chained.steps]
        if _come_again(chained.begin, codes):
            _, firsts, same = np.unique(
                _matches_of(chained.begin) * len(names) + codes,
                return_index=True,
                return_inverse=True,
            )
            order = stable_order(firsts[same])
            codes, places = codes[order], places[order]
        return cls(names, chained.begin, codes, places)

    @cached_property
    def matches(self) -> Ints:
        """Of each event, the number of its match."""
        return _matches_of(self.begin)

    def do_begin(self) -> "tuple[Any, Any]":
        """Return whether each event is the first of its match, and whether it is of its step."""
        of_match = np.zeros(len(self.codes), np.bool_)
        of_match[self.begin[:-1]] = True
        of_step = of_match.copy()
        of_step[1:] |= self.codes[1:] != self.codes[:-1]
        return of_match, of_step


def _matches_of(begin: Ints) -> Ints:
    """Return the number of the match of each event, given where those of each begin."""
    return np.repeat(np.arange(len(begin) - 1), np.diff(begin))


def _come_again(begin: Ints, codes: Ints) -> bool:
    """Return whether events of an earlier step may come after those of a later one."""
    falls = codes[1:] < codes[:-1]
    falls[begin[1:-1] - 1] = False
    return bool(falls.any())


@dataclass(slots=True)
class MatchTexts:
    """Writes matches.

    `chained`: their events; each has one at least. `places`: where these are in `table`. `table`:
    all events, and the names of all steps as `written_name` has them.
    """

    chained: ChainColumns
    places: Ints
    step_names: tuple[str, ...]
    table: EventTable
    _steps: _Steps = field(init=False)

    def __post_init__(self) -> None:
        self._steps = _Steps.of(self.chained, self.places, self.step_names)

    @property
    def columns(self) -> Sequence[str]:
        """The columns of the stream; an event is the tuple of its time and their values."""
        return self.table.columns

    def start_ms(self) -> Ints:
        """Return the time of the first event of each match."""
        found: Ints = self.table.times_ms[self.places[self.chained.begin[:-1]]]
        return found

    def events(self) -> pa.StringArray:
        """Return the events of each match by step.

        Raises:
            NoJson: there is something in them that JSON has no form for.
            TooLarge: they are.
        """
        steps = self._steps
        firsts, between, end = self.table.separator_places(steps.names)
        of_match, of_step = steps.do_begin()
        before = np.where(of_step, firsts[steps.codes] + ~of_match, between)
        # Each event has two pieces, and one more stands at the end of each match.
        count = len(steps.begin) - 1
        pieces = np.full(2 * len(steps.places) + count, end, np.int64)
        where = 2 * np.arange(len(steps.places)) + steps.matches
        pieces[where], pieces[where + 1] = before, steps.places
        begin = 2 * steps.begin + np.arange(count + 1)
        return join_pieces(self.table.pieces(), pieces, begin)

    def selected(self, fields: Sequence[SelectedField]) -> pa.StringArray:
        """Return what is selected of each match, from columns of the stream.

        Raises:
            NoJson: there is something in them that JSON has no form for.
            TooLarge: they are.
        """
        count = len(self._steps.begin) - 1
        table, begins = self.table.selection(tuple((each.name, each.column) for each in fields))
        pieces = []
        for each, begin, end in zip(fields, begins, begins[1:], strict=False):
            places = self._places_of(each)
            name, null = end - 2, end - 1
            pieces += [np.full(count, name), np.where(places < 0, null, begin + places)]
        pieces.append(np.full(count, begins[-1]))
        begin_of_match = np.arange(count + 1) * len(pieces)
        return join_pieces(table, np.stack(pieces, axis=1).ravel(), begin_of_match)

    def _places_of(self, selected: SelectedField) -> Ints:
        """Return the place of the event of each match that a field is of; -1 if it has none."""
        steps = self._steps
        found = np.full(len(steps.begin) - 1, -1, np.int64)
        if selected.step not in steps.names:
            return found
        events = np.flatnonzero(steps.codes == steps.names.index(selected.step))
        matches = steps.matches[events]
        if selected.is_first:
            events, matches = events[::-1], matches[::-1]
        found[matches] = steps.places[events]  # of several the last stays
        return found


def written_name(step_name: str) -> str:
    """Return a step's name as matches have it: with Flink's quirks up to its first ":" only."""
    return step_name.partition(":")[0]
