"""The events of many finds at once, in columns, until somebody wants one of them as objects.

    compiled code ──FoundChains──► Chain, in the place of a linked cell ──ChainBlock──► events

Source: `cep.nfa.runs`, whose linked cells it stands for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from cep.compiling import Ints
from cep.nfa.runs import Cell


@dataclass(frozen=True, slots=True)
class EventsByNumber:
    """The events behind finds.

    Args:
        new: those that came with the call, by number.
        held_at: from numbers to those that keys have held, which begin with 0 after the new ones.
    """

    new: pl.DataFrame
    held_at: Callable[[Ints], list[list[Any]]]

    def at(self, numbers: Ints) -> tuple[pl.DataFrame, list[tuple[Any, ...]]]:
        """Return events by numbers, ascending and each once: the new ones, then the held ones."""
        first_held = int(np.searchsorted(numbers, len(self.new)))
        held = self.held_at(numbers[first_held:] - len(self.new))
        return self.new[numbers[:first_held]], [tuple(event) for event in held]


class ChainColumns(NamedTuple):
    """The events of some finds in arrays, find by find in order of acceptance.

    Args:
        begin: where the events of each find begin in the next two; one more at the end.
        steps: the step of each event.
        events: its number.
        by_number: the events; shapes of one call have the new ones in common, not the held ones.
    """

    begin: Ints
    steps: Ints
    events: Ints
    by_number: EventsByNumber


@dataclass(eq=False)
class ChainBlock:
    """What some finds in a row have accepted.

    Args:
        first: the number of the first find.
        begin: where the events of each find begin in the next two; one more at the end.
        every_step: the step of each event, in order of acceptance.
        every_place: its place among the different events.
        new: the different events that came with this call.
        held: those that keys have held since earlier calls, whose places come after them.
        made: what its reader has made of its events, kept as long as it is: blocks come in turns.
    """

    first: int
    begin: Sequence[int]
    every_step: Sequence[int]
    every_place: Sequence[int]
    new: pl.DataFrame
    held: Sequence[tuple[Any, ...]]
    made: object = None

    def __contains__(self, number: int) -> bool:
        """Return whether a find is among these."""
        return 0 <= number - self.first < len(self.begin) - 1

    def places(self, number: int) -> Sequence[int]:
        """Return the places of the events of a find, in order of acceptance."""
        place = number - self.first
        return self.every_place[self.begin[place] : self.begin[place + 1]]

    def steps(self, number: int) -> Sequence[int]:
        """Return the steps of its events."""
        place = number - self.first
        return self.every_step[self.begin[place] : self.begin[place + 1]]

    @cached_property
    def events(self) -> list[tuple[Any, ...]]:
        """The different events, by place."""
        return [*self.new.rows(), *self.held]


class FoundChains:
    """Finds in a row, of which some are laid out at a time, once one of them is looked at.

    `lay_out` takes the number of a find and returns a block that begins with it.
    """

    def __init__(self, lay_out: Callable[[int], ChainBlock]) -> None:
        self._lay_out = lay_out
        self._newest: ChainBlock | None = None

    def block_of(self, number: int) -> ChainBlock:
        """Return a block that a find is in."""
        if self._newest is None or number not in self._newest:
            self._newest = self._lay_out(number)
        return self._newest


class Chain:
    """The events of one find; takes next to nothing until it is looked at."""

    __slots__ = ("_found", "number")

    def __init__(self, found: FoundChains, number: int) -> None:
        self._found = found
        self.number = number

    @property
    def block(self) -> ChainBlock:
        """The block that it is in."""
        return self._found.block_of(self.number)

    @property
    def steps(self) -> Sequence[int]:
        """The steps of its events, in order of acceptance."""
        return self.block.steps(self.number)

    @property
    def events(self) -> list[tuple[Any, ...]]:
        """Its events."""
        block = self.block
        events = block.events
        return [events[place] for place in block.places(self.number)]

    def linked(self) -> Cell:
        """Return the last of the linked cells that it stands for, without their numbers."""
        cell: Cell | None = None
        for step, event in zip(self.steps, self.events, strict=True):
            cell = (cell, step, 0, event, None)
        if cell is None:
            raise ValueError("a find has an event")
        return cell
