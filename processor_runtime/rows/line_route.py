"""Where lines of matches go that workers make, and where they have gone.

outputs of the job ──LineRoute──► second stage ──BatchLines──► outputs of the job
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class LineDirectory:
    """A directory for files that belong to no batch yet, on the machine of the workers.

    Args:
        path: the directory; it need not exist.
        owner_path: the file that says whose the directory around it is.
        owner: what that has to say. The job writes it with its first batch.
    """

    path: str
    owner_path: str
    owner: str

    def is_ours(self) -> bool:
        """Return whether it is known that files may be written."""
        try:
            return Path(self.owner_path).read_text(encoding="utf-8") == self.owner
        except (OSError, UnicodeDecodeError):
            return False


@dataclass(frozen=True, slots=True)
class LineRoute:
    """Where lines of a shard go that are not sent through Spark.

    `directory` is for all of them, as far as it can be written to. Of the others so many bytes go
    with the status of the shard; see `InlineLines`.
    """

    most_bytes_in_hand: int = 0
    directory: LineDirectory | None = None


@dataclass(frozen=True, slots=True)
class BatchLines:
    """Matches of a batch that are lines, and not among its rows.

    Args:
        in_hand: lines of JSON; each text is some of them, without the end of the last.
        files: files of this machine, to be moved, and how many lines each has.
    """

    in_hand: Sequence[bytes] = ()
    files: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of lines."""
        return sum(each.count(b"\n") + 1 for each in self.in_hand) + sum(self.files.values())


NO_LINES: Final = BatchLines()
