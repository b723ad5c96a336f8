"""The events of matches that compiled code has found, as JSON, for thousands of matches at once.

    Chain ──its ChainBlock, once──► texts of events ──by step──► StepEvents

Of a match only what its rows need is put together; its events never become objects one by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple, overload

import polars as pl

from cep.nfa.chains import Chain, ChainBlock
from cep.nfa.runs import by_step
from processor_runtime.rows.event_block import event_time_ms
from processor_runtime.rows.json_text import plain_json_text

EventsByStep = Mapping[str, Sequence[Mapping[str, Any]]]
"""The events of a match by step, each with its values by column."""


class StepEvents(NamedTuple):
    """The events of a match.

    `json` is `steps` as text. `start_ms` is the time of the first.
    """

    steps: EventsByStep
    json: str
    start_ms: int


class ChainedEvents:
    """Gives the events of one match after the other, of which many are found together.

    `columns`: the columns of the stream; an event is the tuple of its time and their values.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._names: dict[tuple[str, ...], dict[str, str]] = {}

    def events_of(self, chain: Chain, step_names: tuple[str, ...]) -> StepEvents:
        """Return the events of a match.

        Raises:
            NoJson: there is something in them that JSON has no form for.
        """
        block = chain.block
        found = block.made
        if not isinstance(found, _FoundEvents):
            found = block.made = _found_events(block, self._columns)
        places = block.places(chain.number)
        steps = by_step(block.steps(chain.number), places, step_names)
        names = self._names.get(step_names)
        if names is None:
            names = self._names[step_names] = {
                name: f"{plain_json_text(name)}:["
                for name in (each.partition(":")[0] for each in step_names)
            }
        texts = found.texts
        json = ",".join(
            [
                names[name] + ",".join([texts[place] for place in of_step]) + "]"
                for name, of_step in steps.items()
            ]
        )
        return StepEvents(found.events.by_step(steps), "{" + json + "}", found.times_ms[places[0]])


@dataclass(frozen=True, slots=True)
class _FoundEvents:
    """The different events of some finds, by place, with what is in rows of them."""

    events: "DifferentEvents"
    times_ms: list[int]
    texts: list[str]


@dataclass(slots=True)
class DifferentEvents:
    """The different events of some finds, by place; values of a column once it is asked for."""

    new: pl.DataFrame
    held: Sequence[tuple[Any, ...]]
    columns: Sequence[str]
    values: dict[str, list[Any]] = field(default_factory=dict)

    def by_step(self, steps: Mapping[str, Sequence[int]]) -> EventsByStep:
        """Return the events at these places."""
        return MappingProxyType({name: _Events(self, places) for name, places in steps.items()})

    def value(self, name: str, place: int) -> Any:
        """Return a value of an event."""
        values = self.values.get(name)
        if values is None:
            if name not in self.columns:
                raise KeyError(name)
            number = 1 + self.columns.index(name)
            values = self.new.to_series(number).to_list()
            values += [event[number] for event in self.held]
            self.values[name] = values
        return values[place]


def _found_events(block: ChainBlock, columns: Sequence[str]) -> _FoundEvents:
    every = chain(block.new.iter_rows(), block.held)
    texts = [plain_json_text(dict(zip(columns, event[1:], strict=True))) for event in every]
    times_ms = block.new.to_series(0).to_list() + [event_time_ms(event) for event in block.held]
    events = DifferentEvents(block.new, block.held, columns)
    return _FoundEvents(events, times_ms, texts)


class _Events(Sequence[Mapping[str, Any]]):
    """The events of a step."""

    __slots__ = ("_found", "_places")

    def __init__(self, found: DifferentEvents, places: Sequence[int]) -> None:
        self._found = found
        self._places = places

    @overload
    def __getitem__(self, place: int) -> Mapping[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Mapping[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return _Events(self._found, self._places[place])
        return _Event(self._found, self._places[place])

    def __len__(self) -> int:
        return len(self._places)


class _Event(Mapping[str, Any]):
    """The values of an event by column."""

    __slots__ = ("_found", "_place")

    def __init__(self, found: DifferentEvents, place: int) -> None:
        self._found = found
        self._place = place

    def __getitem__(self, name: str) -> Any:
        return self._found.value(name, self._place)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, a default without such a column."""
        values = self._found.values.get(name)
        return values[self._place] if values is not None else super().get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._found.columns)

    def __len__(self) -> int:
        return len(self._found.columns)
