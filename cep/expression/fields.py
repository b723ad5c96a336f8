"""Reads a field of an event: events can be mappings, objects, or any type of the caller."""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

Event = Any
"""An event of the caller; only field readers access its content."""

FieldReader = Callable[[tuple[str, ...]], Callable[[Event], Any]]
"""Takes a path of names and returns the function that reads it; a missing field is `None`."""


def mapping_reader(path: tuple[str, ...]) -> Callable[[Event], Any]:
    """Return the reader of a path in events that are mappings, else objects with attributes.

    The same applies to every value along the path: in a mapping the name is a key, in any other
    object an attribute, and a missing one is `None`.
    """
    if len(path) == 1:
        return _one(path[0])
    steps = [_one(name) for name in path]

    def read(event: Event) -> Any:
        for step in steps:
            event = step(event)
            if event is None:
                return None
        return event

    return read


def _one(name: str) -> Callable[[Event], Any]:
    def read(event: Event) -> Any:
        if type(event) is dict:  # by far the most frequent, and the test is cheap
            return event.get(name)
        if isinstance(event, Mapping):
            return event.get(name)
        return getattr(event, name, None)

    return read


def row_reader(columns: Sequence[str]) -> FieldReader:
    """Return how to read a field of an event that is the tuple of its values, named in order.

    A field inside a column is read from a mapping.
    """
    positions = {name: position for position, name in enumerate(columns)}

    def reader(path: tuple[str, ...]) -> Any:
        column = itemgetter(positions[path[0]])
        if len(path) == 1:
            return column
        inner = mapping_reader(path[1:])
        return lambda event: inner(column(event))

    return reader
