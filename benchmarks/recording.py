"""Figures of a run as lines of JSON, from which the plots of the documentation are drawn."""

import json
from pathlib import Path


def record(file: Path | None, **figures: object) -> None:
    """Add a line to a file, if there is one."""
    if file is not None:
        with file.open("a") as lines:
            lines.write(json.dumps(figures) + "\n")
