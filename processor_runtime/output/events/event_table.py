"""The different events of a block of finds, whatever shapes found them, and their texts.

    ChainColumns of each shape ──event_table──► EventTable, places in it ──MatchTexts──► rows

An event is in several matches, and in those of several shapes, and is written as JSON once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa

from cep.compiling import Ints
from cep.keyed.event_columns import frame_of
from cep.nfa.chains import ChainColumns
from cep.number_order import ranked
from processor_runtime.output.arrow_texts import series_texts, texts
from processor_runtime.output.events.chained_events import DifferentEvents
from processor_runtime.rows.json_text import NoJson, plain_json_text

_BETWEEN: Final = ","
_END: Final = "]}"

_Selection = tuple[tuple[str, str], ...]
"""Names in an output, and the column of each."""
_ESCAPED: Final = r'[\x00-\x1f"\\]'


@dataclass(slots=True)
class EventTable:
    """Different events.

    `step_names`: those of the steps that they may be of.
    """

    frame: pl.DataFrame
    columns: Sequence[str]
    step_names: Sequence[str]
    _listed: DifferentEvents | None = None
    _pieces: pa.StringArray | None = None
    _values: dict[str, pa.StringArray] = field(default_factory=dict)
    _selections: dict[_Selection, tuple[pa.StringArray, list[int]]] = field(default_factory=dict)

    @property
    def times_ms(self) -> Ints:
        """Return their times."""
        times_ms: Ints = self.frame.to_series(0).to_numpy().astype(np.int64)
        return times_ms

    @property
    def listed(self) -> DifferentEvents:
        """Return them as objects, column by column."""
        if self._listed is None:
            self._listed = DifferentEvents(self.frame, (), self.columns)
        return self._listed

    def pieces(self) -> pa.StringArray:
        """Return events as JSON, and after them what stands between them; see `separator_places`.

        Raises:
            NoJson: there is something in them that JSON has no form for.
            TooLarge: they are.
        """
        if self._pieces is None:
            # Only here, as numba is an extra, and takes half a second to import.
            from processor_runtime.output.events.event_objects import event_objects  # noqa: PLC0415

            of_events = event_objects(self.frame.select(self.columns), self.values)
            names = map(plain_json_text, self.step_names)
            separators = [f"{before}{name}:[" for name in names for before in ("{", "],")]
            self._pieces = pa.concat_arrays([of_events, texts([*separators, _BETWEEN, _END])])
        return self._pieces

    def separator_places(self, step_names: Sequence[str]) -> tuple[Ints, int, int]:
        """Return the places in `pieces` of separators: before steps, between events, at the end.

        That of a step is for the first of a match; after it stands that for a later one.
        """
        begin = len(self.frame)
        numbers = [begin + 2 * self.step_names.index(name) for name in step_names]
        behind = begin + 2 * len(self.step_names)
        return np.array(numbers, np.int64), behind, behind + 1

    def values(self, column: str) -> pa.StringArray:
        """Return the values of a column as JSON.

        Raises:
            NoJson: there is something in them that JSON has no form for.
            TooLarge: they are.
        """
        if column not in self._values:
            values = self.frame.to_series(1 + self.columns.index(column))
            self._values[column] = series_texts(value_texts(values))
        return self._values[column]

    def selection(self, fields: _Selection) -> tuple[pa.StringArray, list[int]]:
        """Return what objects with some values of events are made of; the same for all shapes.

        Of each field the values of its column, then what stands before any of them, and NULL; at
        the end of all, how an object ends. And where each of these begins.

        Raises:
            NoJson: there is something in them that JSON has no form for.
            TooLarge: they are.
        """
        if fields not in self._selections:
            tables = []
            for number, (name, column) in enumerate(fields):
                name_text = f"{',' if number else '{'}{plain_json_text(name)}:"
                tables += [self.values(column), texts([name_text, "null"])]
            begins = np.cumsum([0, *map(len, tables)])[::2].tolist()
            end = texts(["}" if fields else "{}"])
            self._selections[fields] = pa.concat_arrays([*tables, end]), begins
        return self._selections[fields]


def event_table(
    chained: Sequence[ChainColumns], columns: Sequence[str], step_names: Iterable[str]
) -> tuple[EventTable, list[Ints]]:
    """Return all events of some finds, and of each part of them the places of its events.

    `chained`: the parts, of one call. `columns`: those of the stream; an event is the tuple of its
    time and their values.

    Raises:
        NoJson: a value is not of the type of its column, so that events go one by one.
    """
    new = chained[0].by_number.new
    is_new = [each.events < len(new) for each in chained]
    parts = [*zip(chained, is_new, strict=True)]
    different, of_new = ranked(np.concatenate([each.events[are_new] for each, are_new in parts]))
    places = []
    held: list[list[Any]] = []
    for each, are_new in parts:
        of_part = np.empty(len(each.events), np.int64)
        of_part[are_new], of_new = np.split(of_new, [np.count_nonzero(are_new)])
        of_keys, of_held = ranked(each.events[~are_new] - len(new))
        of_part[~are_new] = len(different) + len(held) + of_held
        held += each.by_number.held_at(of_keys)
        places.append(of_part)
    frame = new[different]
    if held:
        try:
            frame = pl.concat([frame, frame_of(held, new.schema, list(new.schema))])
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
            raise NoJson(f"events cannot be put in columns: {error}") from None
    return EventTable(frame, columns, [*dict.fromkeys(step_names)]), places


def value_texts(column: pl.Series) -> pl.Series:
    """Return the values of a column as JSON.

    Raises:
        NoJson: there is something in it that JSON has no form for, or it is nested too deeply.
    """
    if column.dtype.is_integer():
        return column.cast(pl.String).fill_null("null")
    if column.dtype == pl.Boolean:
        return column.cast(pl.String).fill_null("null")
    if column.dtype == pl.String and not column.str.contains(_ESCAPED).any():
        return ('"' + column + '"').fill_null("null")
    if column.dtype == pl.Float64 and column.is_finite().all():
        return column.cast(pl.String).fill_null("null")
    values = column.to_list()
    if column.dtype.is_float() or column.dtype.is_decimal() or column.dtype.is_temporal():
        # No text of these has a comma in it.
        return pl.Series(plain_json_text(values)[1:-1].split(","), dtype=pl.String)
    return pl.Series(map(plain_json_text, values), dtype=pl.String)
