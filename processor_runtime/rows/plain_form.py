"""Files that workers read without Spark, where both find the same in them.

PlainForm (`plain_csv`, `plain_parquet`) ──events──► frames · NotPlain: Spark reads the file
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import BinaryIO, Final, Protocol

import polars as pl

from cep.expression.types import PolarsType

LOCAL: Final = "file:"
"""In front of the paths of this machine's own files, in URIs."""
TIMESTAMP: Final = pl.Datetime("us", "UTC")
FIRST_INSTANT: Final = datetime(1970, 1, 1, tzinfo=UTC)
AFTER_LAST_INSTANT: Final = datetime(2100, 1, 1, tzinfo=UTC)
"""Plain instants are from the first to before this one: others may be of another calendar, or none
that Python has."""


class NotPlain(ValueError):
    """A file is to be read by Spark; says why."""


class PlainForm(Protocol):
    """How files are read without Spark."""

    @property
    def columns(self) -> Mapping[str, PolarsType]:
        """The columns of the stream, with the types they are read as."""

    def events(self, file: BinaryIO, length: int) -> Iterator[pl.DataFrame]:
        """Yield the events of a file, some hundred thousand at a time.

        Args:
            file: at its beginning.
            length: how many bytes of it count; what is written after them later does not.

        Raises:
            NotPlain: it has something that Spark could read in another way.
        """

    def look_into(self, file: BinaryIO) -> None:
        """See whether there is nothing at the beginning of a file that is left to Spark.

        Raises:
            NotPlain: there is.
        """
