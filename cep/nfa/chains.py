"""The events of many finds at once, in columns, until somebody wants one of them as objects.

    compiled code ──FoundChains──► Chain, in the place of a linked cell ──► events by step

Source: `cep.nfa.runs`, whose linked cells it stands for.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import polars as pl

from cep.nfa.runs import Cell


class FoundChains:
    """What some finds have accepted.

    Args:
        begin: where the events of each find begin in the next two; one more at the end.
        steps: the step of each event, in order of acceptance.
        places: its place among the different events.
        new: the different events that came with this call.
        held: those that keys have held since earlier calls, whose places come after them.
    """

    def __init__(
        self,
        begin: Sequence[int],
        steps: Sequence[int],
        places: Sequence[int],
        new: pl.DataFrame,
        held: Sequence[tuple[Any, ...]],
    ) -> None:
        self.begin = begin
        self.steps = steps
        self.places = places
        self.new = new
        self.held = held

    @cached_property
    def events(self) -> list[tuple[Any, ...]]:
        """The different events, by place."""
        return [*self.new.rows(), *self.held]

    def column(self, number: int) -> list[Any]:
        """Return the values of a column, by place."""
        return [*self.new.to_series(number).to_list(), *[event[number] for event in self.held]]


class Chain:
    """The events of one find; takes next to nothing until it is looked at."""

    __slots__ = ("found", "number")

    def __init__(self, found: FoundChains, number: int) -> None:
        self.found = found
        self.number = number

    @property
    def places(self) -> Sequence[int]:
        """The places of its events in `found`, in order of acceptance."""
        begin = self.found.begin
        return self.found.places[begin[self.number] : begin[self.number + 1]]

    @property
    def steps(self) -> Sequence[int]:
        """The steps of its events."""
        begin = self.found.begin
        return self.found.steps[begin[self.number] : begin[self.number + 1]]

    @property
    def events(self) -> list[tuple[Any, ...]]:
        """Its events, in order of acceptance."""
        events = self.found.events
        return [events[place] for place in self.places]

    def linked(self) -> Cell:
        """Return the last of the linked cells that it stands for, without their numbers."""
        cell: Cell | None = None
        for step, event in zip(self.steps, self.events, strict=True):
            cell = (cell, step, 0, event, None)
        if cell is None:
            raise ValueError("a find has an event")
        return cell
