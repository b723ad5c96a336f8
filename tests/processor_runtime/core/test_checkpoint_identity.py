"""A checkpoint is used by the job that made it, in the format that it was made in, or refused."""

from importlib.metadata import version
from typing import Any

import pytest
from pydantic_core import from_json, to_json

from processor_runtime.driver.checkpoint_identity import (
    CheckpointIdentity,
    CheckpointMismatch,
    checkpoint_identity,
)
from tests.processor_runtime.core.pipeline import DictFiles

NAME = "percept.json"


def identity(files: DictFiles, shards: int | None = None) -> CheckpointIdentity:
    return checkpoint_identity(files, "payments", shards, 8)


def changed(files: DictFiles, **values: Any) -> DictFiles:
    """Change what a checkpoint says of itself."""
    files.write(NAME, to_json(from_json(files[NAME]) | values))
    return files


def test_a_checkpoint_is_the_same_at_every_start() -> None:
    files = DictFiles()
    made = identity(files)
    assert (made.stream, made.shards) == ("payments", 8)
    assert identity(files) == identity(files, 8) == made


@pytest.mark.parametrize("made_in", [3, 5])
def test_a_checkpoint_of_another_format_is_refused_with_both_versions_and_what_to_do(
    made_in: int,
) -> None:
    files = DictFiles()
    identity(files)
    changed(files, format=made_in, percept="0.0.7")
    before = dict(files)
    with pytest.raises(CheckpointMismatch) as raised:
        identity(files)
    assert str(raised.value) == (
        f"checkpoint: it has format {made_in}, made by Percept 0.0.7; this is Percept "
        f"{version('percept')}, which reads format 4 only; run the version that made it, or "
        "choose another directory and begin anew"
    )
    assert files == before


def test_a_checkpoint_that_does_not_say_which_version_made_it_is_refused() -> None:
    files = DictFiles()
    files.write(NAME, to_json({"format": 1, "id": "x", "stream": "payments", "shards": 8}))
    with pytest.raises(CheckpointMismatch, match="format 1, made by Percept of an earlier build"):
        identity(files)


def test_a_directory_of_another_query_is_refused() -> None:
    files = DictFiles()
    files.write("offsets/0", b"v1")
    with pytest.raises(CheckpointMismatch, match="a query that is not Percept's"):
        identity(files)
