"""What a job has written to its output of files; knows the documented form of rows and no code."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS = ["match", "timeout", "side", "late", "error"]

Row = dict[str, Any]


def written_batches(folder: Path) -> Iterator[list[Row]]:
    """Yield the rows of each batch that has some, in order."""
    directories = (folder / "out").glob("batch=*")
    for directory in sorted(directories, key=lambda path: int(path.name.removeprefix("batch="))):
        lines = [
            line
            for path in sorted(directory.glob("*.json"))
            for line in path.read_text(encoding="utf-8").splitlines()
        ]
        yield [json.loads(line) for line in lines]


def written(folder: Path) -> list[Row]:
    """Return the rows of all batches."""
    return [row for rows in written_batches(folder) for row in rows]
