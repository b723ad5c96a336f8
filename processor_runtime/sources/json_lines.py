"""Files of JSON Lines → columns of a stream: an object in each line.

file ──lines──► values ──JsonValues──► columns
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from processor_runtime.sources.directories import NO_DIRECTORIES
from processor_runtime.sources.json_values import JsonValues
from processor_runtime.sources.lines import line_blocks
from processor_runtime.sources.values import Decoded


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Reads files of JSON Lines; empty lines are skipped."""

    values: JsonValues

    def read(
        self,
        file: BinaryIO,
        length: int,
        _directories: Mapping[str, str | None] = NO_DIRECTORIES,
    ) -> Iterator[Decoded]:
        """Yield the events of a file; see `FileReader`. Of directories nothing is taken."""
        for block in line_blocks(file, length):
            lines = [line for line in block.split(b"\n") if line and not line.isspace()]
            if lines:
                yield self.values.read(lines)
