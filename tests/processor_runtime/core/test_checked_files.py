"""Files of a checkpoint are read as they were written, or not at all."""

import pytest
from pydantic_core import to_json

from contract.snapshot import Snapshot
from processor_runtime.driver.checked_files import CheckedFiles, CheckpointDamaged, required
from processor_runtime.driver.offset_log import BatchStart
from processor_runtime.driver.pinning import BatchPins
from processor_runtime.driver.whole_checkpoint import require_whole
from processor_runtime.rules.loading import RuleDefaults
from tests.letters import stream
from tests.processor_runtime.core.pipeline import DictFiles

NAME = "epochs/7"


@pytest.mark.parametrize("content", [b"", b"{}", b"\n\n", bytes(range(256))])
def test_content_comes_back(content: bytes) -> None:
    files = CheckedFiles(DictFiles())
    files.write(NAME, content)
    assert files.read(NAME) == required(files, NAME) == content
    assert files.names("epochs") == ["7"]
    files.delete(NAME)
    assert files.read(NAME) is None


def test_every_byte_and_the_name_count() -> None:
    stored = DictFiles()
    files = CheckedFiles(stored)
    files.write(NAME, b'{"epoch": 3}')
    written = stored[NAME]
    damaged = [written[:at] + bytes([written[at] ^ 1]) + written[at + 1 :] for at in range(76)]
    damaged += [written[:at] for at in range(len(written))] + [written + b" ", written[65:]]
    assert len(written) == 77
    for data in damaged:
        stored[NAME] = data
        with pytest.raises(CheckpointDamaged, match=f"^checkpoint: {NAME} is not as it was"):
            files.read(NAME)
    stored["epochs/8"] = written
    with pytest.raises(CheckpointDamaged, match="epochs/8 is not as it was written; restore the"):
        files.read("epochs/8")


def test_a_file_that_is_required_is_named() -> None:
    with pytest.raises(CheckpointDamaged, match=f"{NAME} is missing; restore the whole"):
        required(CheckedFiles(DictFiles()), NAME)


def test_files_of_spark_are_as_spark_has_them() -> None:
    stored = DictFiles()
    files = CheckedFiles(stored)
    for name in ("offsets/3", "commits/3", "sources/0/1", "metadata"):
        files.write(name, b"v1\n{}")
        assert stored[name] == files.read(name) == b"v1\n{}"


def test_a_checkpoint_is_whole_wherever_a_job_was_killed() -> None:
    """A batch leaves its parts in one order, and each is there whole or not at all."""
    files = CheckedFiles(DictFiles())
    pins = BatchPins(files, RuleDefaults(), stream(), 0)
    snapshot = Snapshot(format=1, epoch=1, stream=stream(), processors=[])
    files.write("percept.json", b"{}")
    require_whole(files, 2)
    files.write("metadata", b'{"id": "x"}')
    for batch_id in range(3):
        start = {"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}}
        files.write(f"sources/0/{batch_id}", b'v1\n{"path": "a", "batchId": 0}')
        require_whole(files, 2)
        position = to_json({"logOffset": batch_id})
        files.write(f"offsets/{batch_id}", b"\n".join([b"v1", to_json(start), position]))
        require_whole(files, 2)
        pins.pin(BatchStart(batch_id, 0, 1), snapshot)
        require_whole(files, 2)
        for shard in range(2):
            files.write(f"state/0/{shard}/{batch_id + 1}.zip", b"PK")
            require_whole(files, 2)
        files.write(f"commits/{batch_id}", b'v1\n{"nextBatchWatermarkMs": 0}')
        require_whole(files, 2)
