"""Whose checkpoint it is: written once, compared at every start.

job file, checkpoint ──► CheckpointIdentity, or a refusal to mix two jobs' memory
"""

import uuid
from dataclasses import asdict, dataclass
from typing import Final

from pydantic_core import from_json, to_json

from processor_runtime.driver.batch_record import Files

_NAME: Final = "percept.json"
_FORMAT: Final = 1


class CheckpointMismatch(ValueError):
    """The checkpoint belongs to another stream, or was made with other settings."""


@dataclass(frozen=True, slots=True)
class CheckpointIdentity:
    """What a checkpoint was made for, and into how many shards its keys are divided."""

    id: str
    stream: str
    shards: int


def checkpoint_identity(
    files: Files, stream: str, shards: int | None, default_shards: int
) -> CheckpointIdentity:
    """Return the identity of a checkpoint; a new one if it is new.

    Args:
        files: the checkpoint.
        stream: the stream of the job.
        shards: how many the job file wants; `None` = as the checkpoint has it.
        default_shards: how many a new checkpoint gets if the job file does not say.

    Raises:
        CheckpointMismatch: it is of another stream, has another number of shards, or is of a newer
            format.
    """
    data = files.read(_NAME)
    if data is None:
        if files.names("offsets"):
            raise CheckpointMismatch(
                "checkpoint: the directory holds the checkpoint of a query that is not Percept's; "
                "choose another"
            )
        identity = CheckpointIdentity(uuid.uuid4().hex, stream, shards or default_shards)
        files.write(_NAME, to_json({"format": _FORMAT, **asdict(identity)}))
        return identity
    content = from_json(data)
    if content.pop("format") != _FORMAT:
        raise CheckpointMismatch("checkpoint: written by a newer version of Percept; upgrade")
    identity = CheckpointIdentity(**content)
    if identity.stream != stream:
        raise CheckpointMismatch(
            f"checkpoint: it belongs to the stream {identity.stream}, this job reads {stream}; "
            "choose another directory"
        )
    if shards not in {None, identity.shards}:
        raise CheckpointMismatch(
            f"shards: the checkpoint has {identity.shards}, the job file wants {shards}; keys are "
            f"where they are, so write {identity.shards}, or begin with a new checkpoint"
        )
    return identity
