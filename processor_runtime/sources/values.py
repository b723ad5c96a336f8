"""What readers of values and of files give: columns of a stream, and which rows are malformed.

values of records ──ValueReader──┐
files ──────────────FileReader───┴──► Decoded: a row a value, or a line
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Final, NamedTuple, Protocol

import polars as pl

NULL_VALUE: Final = "the value is NULL"
"""Why a record without a value is malformed."""


class Malformed(NamedTuple):
    """Why a row is no event, and as what it was written, if it was."""

    reason: str
    raw: bytes | None


@dataclass(frozen=True, slots=True)
class Decoded:
    """What was read: `columns` with a row for each value, and by row which are `malformed`."""

    columns: pl.DataFrame
    malformed: Mapping[int, Malformed] = field(default_factory=dict)


class ValueReader(Protocol):
    """How values of one format are read, each of which holds an event."""

    def read(self, values: Sequence[bytes | None]) -> Decoded:
        """Return the columns of some values.

        Raises:
            KafkaFailed: a registry of schemas does not answer.
        """


class UnreadableFile(ValueError):
    """A file cannot be read, or not to its end; says why."""


class FileReader(Protocol):
    """How files of one format are read."""

    def read(
        self, file: BinaryIO, length: int, directories: Mapping[str, str | None], /
    ) -> Iterator[Decoded]:
        """Yield the events of a file in their order, some ten thousand at a time.

        Args:
            file: at its beginning.
            length: how many bytes of it count; what is written after them later does not.
            directories: what they give, by names of columns in small letters.

        Raises:
            UnreadableFile: it is not as it should be.
        """


def joined(parts: Sequence[Decoded]) -> Decoded:
    """Return what was read part by part as one; there is a part."""
    if len(parts) == 1:
        return parts[0]
    malformed: dict[int, Malformed] = {}
    count = 0
    for part in parts:
        malformed |= {count + row: why for row, why in part.malformed.items()}
        count += len(part.columns)
    return Decoded(pl.concat([part.columns for part in parts]), malformed)


def misfit_reason(names: Sequence[str], misfits: Iterable[str]) -> str:
    """Return why a row is malformed some of whose columns do not fit, in the order of all names."""
    found = set(misfits)
    return f"does not fit the stream's schema: {', '.join(each for each in names if each in found)}"
