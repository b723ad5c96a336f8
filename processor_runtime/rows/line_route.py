"""Which lines of a shard do not go through Spark, and the directory that they go to.

outputs of the job ──LineRoute──► ShardMatcher ──► LineFiles
"""

from dataclasses import dataclass
from pathlib import Path


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
