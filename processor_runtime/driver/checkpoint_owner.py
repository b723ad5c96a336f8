"""Which start of a job a checkpoint is with: the newest takes it over, the one before ends.

    start ──take──► <checkpoint>/owner.json ──require──► before each batch is pinned

Spark lets two queries run on one checkpoint until both plan the same batch; what they do until then
would be done twice. So an earlier start notices at its next batch that it has been superseded.
"""

import uuid
from dataclasses import dataclass
from typing import Final

from pydantic_core import from_json, to_json

from processor_runtime.driver.checked_files import Files

_NAME: Final = "owner.json"


class CheckpointTaken(RuntimeError):
    """Another start of a job, perhaps of another job file, has taken over the checkpoint."""


@dataclass(frozen=True, slots=True)
class CheckpointOwner:
    """One start of a job, as long as no other takes over its checkpoint.

    `start_id`: the name of this start, which no other has.
    """

    files: Files
    start_id: str

    def require(self) -> None:
        """Return if the checkpoint is still with this start.

        Raises:
            CheckpointTaken: it is with another one.
        """
        data = self.files.read(_NAME)
        owner = None if data is None else from_json(data)
        # While somebody is replacing the file there may be none, for a moment.
        if owner is not None and owner["start_id"] != self.start_id:
            raise CheckpointTaken(
                f"checkpoint: another job has taken it over ({owner['who']}), so this one ends. "
                "Each job needs a checkpoint of its own, and runs once at a time"
            )


def take_over(files: Files, who: str) -> CheckpointOwner:
    """Make a new start the owner of a checkpoint, instead of any before it.

    `who`: where it runs, for people.
    """
    owner = CheckpointOwner(files, uuid.uuid4().hex)
    files.write(_NAME, to_json({"start_id": owner.start_id, "who": who}))
    return owner
