"""What a job has written to its output of files; knows the documented form of rows and no code."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

KINDS = ["match", "timeout", "side", "late", "error"]

Row = dict[str, Any]
Steps = tuple[tuple[str, tuple[int, ...]], ...]
"""The ids of events by step, without steps that took none."""


def written_batches(folder: Path) -> dict[int, list[Row]]:
    """Return the rows of each batch that has some, in order."""
    batches = {}
    for directory in (folder / "out").glob("batch=*"):
        texts = [path.read_text(encoding="utf-8") for path in sorted(directory.glob("*.json"))]
        rows = [json.loads(line) for text in texts for line in text.splitlines()]
        batches[int(directory.name.removeprefix("batch="))] = rows
    return dict(sorted(batches.items()))


def written(folder: Path) -> list[Row]:
    return [row for rows in written_batches(folder).values() for row in rows]


def ids_by_step(row: Row) -> Steps:
    taken = ((step, tuple(e["event_id"] for e in of)) for step, of in row["events"].items() if of)
    return tuple(taken)


def differences(wanted: Iterable[object], given: Iterable[object]) -> list[str]:
    """Return a few lines about what is missing and what should not be there; none if equal."""
    wanted, given = Counter(wanted), Counter(given)
    missing, extra = wanted - given, given - wanted
    lines = [f"lost: {item}" for item in list(missing.elements())[:3]]
    lines += [f"too much: {item}" for item in list(extra.elements())[:3]]
    if lines:
        lines.append(f"{missing.total()} lost, {extra.total()} too much, of {wanted.total()}")
    return lines
