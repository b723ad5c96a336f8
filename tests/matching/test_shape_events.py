"""The events of a shape, picked or filtered, against a loop over all events in order of keys."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.executors.compiled import shape_events
from cep.executors.compiled.shape_events import ShapeEvents
from cep.keyed.event_columns import EventColumns
from cep.keyed.shapes import EventKind
from cep.nfa_kernel.event_filter import of_kinds

KINDS = 5


def columns(events: Sequence[tuple[int, int]]) -> EventColumns[EventKind]:
    """Return events of these keys and kinds, one a millisecond."""
    frame = pl.DataFrame({"key": [key for key, _ in events]}, schema={"key": pl.Int64})
    times = pl.Series(range(len(events)), dtype=pl.Int64)
    numbers = np.array([kind for _, kind in events], np.int64)
    return EventColumns.of(frame, times, [()] * KINDS, numbers, frame, is_single=True)


def expected(events: Sequence[tuple[int, int]], kinds: dict[int, int]) -> dict[int, list[object]]:
    """Return by key, in order of the first event of any kind, places and numbers."""
    found: dict[int, list[object]] = {key: [] for key, _ in events}
    for place, (key, kind) in enumerate(events):
        if kind in kinds:
            found[key].append((place, kinds[kind]))
    return {key: moments for key, moments in found.items() if moments}


@pytest.mark.parametrize("most_picked", [0, 1_000_000])
@given(
    events=st.lists(st.tuples(st.integers(0, 4), st.integers(0, KINDS - 1)), min_size=1),
    shapes=st.lists(
        st.dictionaries(st.integers(0, KINDS - 1), st.integers(1, 9), min_size=1),
        min_size=1,
        max_size=4,
    ),
)
def test_each_shape_has_its_events_key_by_key(
    events: list[tuple[int, int]],
    shapes: list[dict[int, int]],
    most_picked: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shape_events, "_MOST_PICKED", most_picked)
    given_events = columns(events)
    of_shape = ShapeEvents(given_events)
    for kinds in shapes:
        found = of_shape.input_for(list(kinds.items()))
        of = found.events
        moments = [*zip(of.order.tolist(), of.kinds.tolist(), strict=True)]
        by_key = [moments[i:j] for i, j in pairwise(of.begin)]
        keys = [given_events.keys[key] for key in found.keys]
        assert list(zip(keys, by_key, strict=True)) == list(expected(events, kinds).items())
        assert of_shape.count(list(kinds)) == len(of.order)
        assert of.times_ms.tolist() == given_events.times_ms[of.order].tolist()
    if most_picked:
        assert len(cast("Any", of_kinds).signatures) == 1
