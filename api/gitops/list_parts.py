"""Differences of a list that are more than one proposal has, divided into several.

values there · values wanted ──parts──► what is proposed now, and how many proposals more

People look through every value of a proposal, so one has so many at most. What it leaves is
proposed once it is published: a proposal beside another one of the same list would become stale.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from pydantic_core import to_json

from contract.service.proposals import MOST_SHOWN

MOST_BYTES: Final = 700_000
"""Size of what is added or removed as JSON; both fit into a request, of 2,000,000 bytes."""


@dataclass(frozen=True, slots=True)
class Part:
    """Values that one proposal adds and removes, in order."""

    add: list[str]
    remove: list[str]


def parts(add: Iterable[str], remove: Iterable[str]) -> list[Part]:
    """Return changes that come one after the other to what all of it together does."""
    nothing: list[str] = []
    pairs = zip_longest(_divided(add), _divided(remove), fillvalue=nothing)
    return [Part(list(added), list(removed)) for added, removed in pairs]


def _divided(values: Iterable[str]) -> Iterator[list[str]]:
    part: list[str] = []
    size = 0
    for value in sorted(values):
        more = len(to_json(value)) + 1
        if part and (len(part) == MOST_SHOWN or size + more > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(value)
        size += more
    if part:
        yield part
