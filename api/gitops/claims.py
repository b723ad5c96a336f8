"""Documents that exclude each other: two of one id that begin at the same time, or on two streams.

documents ──claim_of──► Claim ──claim_problems──► which of them, and where
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from cep.definition.rule_files import FileDocument, FileProblem
from cep.instants import instant_ms


@dataclass(frozen=True, slots=True)
class Claim:
    """A document that has an id for itself, from some time on."""

    place: FileDocument
    stream: Any
    begin: tuple[bool, int]


def claim_of(place: FileDocument) -> Claim | None:
    """Return what a document claims, `None` if that cannot be read."""
    data = place.data
    try:
        given = data.get("effective_from")
        begin_ms = None if given is None else instant_ms(given)
    except ValueError:
        return None
    begin = (begin_ms is not None, begin_ms or 0)
    return Claim(place, data.get("stream"), begin) if isinstance(data.get("id"), str) else None


def claim_problems(name: str, claims: list[Claim]) -> Iterator[FileProblem]:
    """Yield which documents exclude each other; claims of one id are in order of their begin."""
    for earlier, later in pairwise(claims):
        if earlier.stream != later.stream:
            message = f"'{name}' is also of stream '{earlier.stream}', in {earlier.place.file}"
            yield later.place.problem("stream", message, "Choose another id.")
        elif earlier.begin == later.begin:
            message = f"'{name}' is also in {earlier.place.file}, with the same effective_from"
            yield later.place.problem("id", message, "Keep one, or change when it begins.")
