"""What many rows of matches are made of: the versions that found them, and the matches.

finds of a shape ──► RuleVersions, Matches ──RowPlan──► rows · ──MatchPieces──► lines
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from cep.compiling import Ints


@dataclass(frozen=True, slots=True)
class RuleVersions:
    """The versions that have found matches.

    Args:
        processors: ids of their processors.
        versions: their numbers.
    """

    processors: pa.StringArray
    versions: pa.Int32Array

    def pairs(self) -> Iterator[tuple[str, int]]:
        """Yield the id and the number of each."""
        return zip(self.processors.to_pylist(), self.versions.to_pylist(), strict=True)


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches, each of which several versions may have found.

    Args:
        emit_order: the position of each in the order in which matches are emitted.
        keys: its key as JSON.
        start_ms: the time of its first event.
        end_ms: the time at which it was found.
        events: its events as JSON.
    """

    emit_order: Ints
    keys: pa.StringArray
    start_ms: Ints
    end_ms: Ints
    events: pa.StringArray

    def __len__(self) -> int:
        """Return the number of matches."""
        return len(self.emit_order)
