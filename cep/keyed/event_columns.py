"""Relevant events in columns, grouped by key: what a matcher takes at once.

    relevant rows, kinds ──► EventColumns ──► KeyedMatcher.process_columns

Rows become objects only where one is asked for.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import polars as pl

from cep.compiling import Ints
from cep.keyed.shapes import Detection

Moment = tuple[int, bool]
"""When a detection is emitted: the index of the event, and whether it was emitted by the event (or
as time advanced to it)."""
DetectionsAt = tuple[Moment, list[Detection]]
"""The detections emitted at one moment, or some of them."""
Kind = TypeVar("Kind")
Other = TypeVar("Other")


@dataclass(frozen=True)
class EventColumns(Generic[Kind]):
    """Events in order of time.

    Args:
        frame: the events.
        times_ms: their times.
        kinds: what there are among `kind_numbers`.
        kind_numbers: of each event, the place of its kind in `kinds`.
        keys: the keys, in order of their first events.
        key_begin: where the events of each key begin in `order`; one more at the end.
        order: places of events, key by key.
    """

    frame: pl.DataFrame
    times_ms: Ints
    kinds: tuple[Kind, ...]
    kind_numbers: Ints
    keys: Sequence[Any]
    key_begin: Ints
    order: Ints

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self.times_ms)

    @cached_property
    def key_numbers(self) -> Ints:
        """Of each event, the place of its key in `keys`."""
        numbers = np.empty(len(self.order), np.int64)
        numbers[self.order] = np.repeat(np.arange(len(self.keys)), np.diff(self.key_begin))
        return numbers

    def with_kinds(self, kinds: tuple[Other, ...]) -> "EventColumns[Other]":
        """Return the same events, each of the kind at the same place among others."""
        return EventColumns(
            self.frame,
            self.times_ms,
            kinds,
            self.kind_numbers,
            self.keys,
            self.key_begin,
            self.order,
        )

    def events_at(self, places: Ints) -> list[tuple[Any, ...]]:
        """Return some of the events."""
        return self.frame[places].rows()

    @classmethod
    def of(  # noqa: PLR0913 - what makes up events
        cls,
        frame: pl.DataFrame,
        times_ms: pl.Series,
        kinds: Sequence[Kind],
        kind_numbers: Ints,
        key_columns: pl.DataFrame,
        *,
        is_single: bool = False,
        only_key: Hashable = (),
    ) -> "EventColumns[Kind]":
        """Return events, which are put together by key, of which `key_columns` are the parts.

        A key of one part is the value itself if `is_single`, else a tuple; without columns all
        events have `only_key`.
        """
        if key_columns.width:
            keys, begin, order = _by_key(key_columns, is_single=is_single)
        else:
            keys, begin, order = [only_key], np.array([0, len(frame)]), np.arange(len(frame))
        times = times_ms.cast(pl.Int64).to_numpy()
        return cls(frame, times, tuple(kinds), kind_numbers, keys, begin, order)


def _by_key(columns: pl.DataFrame, *, is_single: bool) -> tuple[list[Any], Ints, Ints]:
    """Return the keys, where the events of each begin, and their places key by key."""
    names = [f"{number}" for number in range(columns.width)]
    numbered = columns.rename(dict(zip(columns.columns, names, strict=True)))
    groups = (
        numbered.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("place"))
        .group_by(names, maintain_order=True)
        .agg("place")
    )
    places = groups.get_column("place")
    begin = np.concatenate([[0], np.cumsum(places.list.len().to_numpy())]).astype(np.int64)
    order = places.explode().to_numpy() if len(places) else np.empty(0, np.int64)
    keys = groups.select(names)
    return keys.to_series().to_list() if is_single else keys.rows(), begin, order


def frame_of(
    events: Sequence[Sequence[Any]], schema: pl.Schema, order: Sequence[str]
) -> pl.DataFrame:
    """Return some columns of events, each the list of its values in the order of `order`.

    Raises:
        TypeError, ValueError, OverflowError, polars.exceptions.PolarsError: a value is not of the
            type of its column.
    """
    columns = []
    for name, data_type in schema.items():
        place = order.index(name)
        columns.append(pl.Series(name, [event[place] for event in events], data_type, strict=True))
    return pl.DataFrame(columns)
