"""Which files a batch reads, by what Spark has written in the checkpoint."""

import json

from processor_runtime.driver.source_log import files_of_batch
from tests.processor_runtime.core.pipeline import DictFiles


def offsets(position: str) -> bytes:
    return f'v1\n{{"batchWatermarkMs":0}}\n{position}\n'.encode()


def entry(*found: tuple[str, int]) -> bytes:
    lines = [json.dumps({"path": path, "timestamp": 5, "batchId": n}) for path, n in found]
    return "\n".join(["v1", *lines]).encode()


def test_the_files_of_a_batch_are_those_logged_since_the_batch_before() -> None:
    files = DictFiles()
    files.write("offsets/0", offsets('{"logOffset":0}'))
    files.write("offsets/1", offsets('{"logOffset":0}'))
    files.write("offsets/2", offsets('{"logOffset":2}'))
    files.write("sources/0/0", entry(("file:///in/a%20b%25.json", 0)))
    files.write("sources/0/1", entry(("file:///in/c", 1)))
    files.write(
        "sources/0/2.compact", entry(("file:///in/a", 0), ("file:///in/c", 1), ("file:///in/d", 2))
    )

    assert files_of_batch(files, 0) == ["file:///in/a b%.json"]
    assert files_of_batch(files, 1) == []
    assert files_of_batch(files, 2) == ["file:///in/c", "file:///in/d"]


def test_a_source_of_files_that_has_read_nothing_yet_has_no_position() -> None:
    files = DictFiles()
    files.write("offsets/0", offsets("-"))
    files.write("offsets/1", offsets('{"logOffset":0}'))
    files.write("sources/0/0", entry(("file:///in/a", 0)))

    assert files_of_batch(files, 0) == []
    assert files_of_batch(files, 1) == ["file:///in/a"]
