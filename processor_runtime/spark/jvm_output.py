"""Sends what the Spark JVM prints to a file, so that the job's own lines stay readable.

job terminal ◄── percept run ──starts──► JVM ──its stdout and stderr──► file
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def jvm_output_to(path: Path) -> Iterator[None]:
    """Append the output of processes that are started inside the block to a file.

    They write to it until they end; this process prints as before after the block.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    try:
        with path.open("ab") as target:
            os.dup2(target.fileno(), 1)
            os.dup2(target.fileno(), 2)
        yield
    finally:
        for number, original in zip((1, 2), kept, strict=True):
            os.dup2(original, number)
            os.close(original)
