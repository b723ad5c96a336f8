"""Which files a batch reads, as Spark has written it in the checkpoint before the batch runs.

    <checkpoint>/offsets/<batch id>        how far the log of the source goes for the batch
    <checkpoint>/sources/0/<number>        lines of the log: files that have arrived
    <checkpoint>/sources/0/<number>.compact    the same, with all lines before

The source of events is the first of the plan, so its log is that of number 0.
"""

from typing import Any, Final
from urllib.parse import unquote

from pydantic_core import from_json

from processor_runtime.driver.checked_files import Files
from processor_runtime.driver.offset_log import source_position

_LOG: Final = "sources/0"


def files_of_batch(files: Files, batch_id: int) -> list[str]:
    """Return the files that a batch reads, as URIs without escapes, in the order they arrived in.

    `files`: the checkpoint of a query whose events come from files.
    """
    begin, end = _logged(files, batch_id - 1), _logged(files, batch_id)
    return [path for number in range(begin + 1, end + 1) for path in _entries(files, number)]


def _logged(files: Files, batch_id: int) -> int:
    """Return the number of the last entry of the log that a batch and those before have read."""
    position = source_position(files, batch_id)
    return -1 if position is None else int(from_json(position)["logOffset"])


def _entries(files: Files, number: int) -> list[str]:
    """Return the files in one entry of the log; none if Spark has cleaned it up."""
    data = files.read(f"{_LOG}/{number}") or files.read(f"{_LOG}/{number}.compact") or b""
    # The first line is the version of the format.
    lines: list[dict[str, Any]] = [from_json(line) for line in data.splitlines()[1:] if line]
    return [unquote(line["path"]) for line in lines if line["batchId"] == number]
