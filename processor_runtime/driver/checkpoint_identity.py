"""Whose checkpoint it is, and in which format: written once, compared at every start.

job file, checkpoint ──► CheckpointIdentity, or a refusal: of another job, or of another format

There is one number for the format of everything in a checkpoint: state, records, timelines.
"""

import uuid
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Final

from pydantic_core import from_json, to_json

from processor_runtime.driver.checked_files import CheckpointDamaged, Files

_NAME: Final = "percept.json"
_FORMAT: Final = 5
"""To be raised with every change of what a checkpoint holds. Earlier formats are not read."""


class CheckpointMismatch(ValueError):
    """The checkpoint is of another format or stream, or was made with other settings."""


@dataclass(frozen=True, slots=True)
class CheckpointIdentity:
    """What a checkpoint was made for, and into how many shards its keys are divided.

    `sources` are the names of several sources in their order; empty if there is one.
    """

    id: str
    stream: str
    shards: int
    sources: tuple[str, ...] = ()

    @property
    def source_count(self) -> int:
        """How many sources of events there are."""
        return len(self.sources) or 1


def checkpoint_identity(
    files: Files,
    stream: str,
    shards: int | None,
    default_shards: int,
    sources: tuple[str, ...] = (),
) -> CheckpointIdentity:
    """Return the identity of a checkpoint; a new one if it is new.

    `shards`: how many the job file wants; `None` = as the checkpoint has it. `default_shards`: how
    many a new checkpoint gets if the job file does not say. `sources`: the names of several.

    Raises:
        CheckpointDamaged: the file that tells is missing, or not as it was written.
        CheckpointMismatch: it is of another format or stream, or has another number of shards,
            or other sources.
    """
    data = files.read(_NAME)
    if data is None:
        if files.names("epochs") or files.names("rules"):
            raise CheckpointDamaged(_NAME, "is missing")
        if files.names("offsets"):
            raise CheckpointMismatch(
                "checkpoint: the directory holds the checkpoint of a query that is not Percept's; "
                "choose another"
            )
        identity = CheckpointIdentity(uuid.uuid4().hex, stream, shards or default_shards, sources)
        made_by = {"format": _FORMAT, "percept": version("percept")}
        files.write(_NAME, to_json(made_by | asdict(identity)))
        return identity
    content = from_json(data)
    made_in, made_by = content.pop("format"), content.pop("percept", "of an earlier build")
    if made_in != _FORMAT:
        raise CheckpointMismatch(
            f"checkpoint: it has format {made_in}, made by Percept {made_by}; this is Percept "
            f"{version('percept')}, which reads format {_FORMAT} only; run the version that made "
            "it, or choose another directory and begin anew"
        )
    identity = CheckpointIdentity(**content | {"sources": tuple(content.get("sources", ()))})
    if identity.stream != stream:
        raise CheckpointMismatch(
            f"checkpoint: it belongs to the stream {identity.stream}, this job reads {stream}; "
            "choose another directory"
        )
    if identity.sources != sources:
        raise CheckpointMismatch(
            f"checkpoint: it belongs to {_told(identity.sources)}, this job reads "
            f"{_told(sources)}; positions belong to sources by number, so write the same in the "
            "same order, or choose another directory and begin anew"
        )
    if shards not in {None, identity.shards}:
        raise CheckpointMismatch(
            f"shards: the checkpoint has {identity.shards}, the job file wants {shards}; keys are "
            f"where they are, so write {identity.shards}, or begin with a new checkpoint"
        )
    return identity


def _told(sources: tuple[str, ...]) -> str:
    return f"the sources {', '.join(sources)}" if sources else "one source"
