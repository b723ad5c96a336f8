"""What many rows of matches are made of: the versions that found them, and the matches.

finds of a shape ──► Finders, Matches ──RowPlan──► rows · ──MatchPieces──► ids · lines
"""

from dataclasses import dataclass

import pyarrow as pa

from cep.compiling import Ints


@dataclass(frozen=True, slots=True)
class Finders:
    """The versions that have found matches.

    Args:
        processors: ids of their processors.
        versions: their numbers.
        heads: how `repr` of the identity of what each has found begins; see
            `output_rows.Identity`.
    """

    processors: pa.StringArray
    versions: pa.Int32Array
    heads: pa.StringArray


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches, each of which several versions may have found.

    Args:
        moments: when each came out.
        keys: its key as JSON.
        spelled: `repr` of that.
        start_ms: the time of its first event.
        end_ms: the time at which it was found.
        events: its events as JSON.
    """

    moments: Ints
    keys: pa.StringArray
    spelled: pa.StringArray
    start_ms: Ints
    end_ms: Ints
    events: pa.StringArray

    def __len__(self) -> int:
        """Return the number of matches."""
        return len(self.moments)
