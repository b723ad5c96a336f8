"""CSV files as frames of events, where they are so plain that Spark finds the same in them.

    file ──lines──► some megabytes of lines ──events──► frame · NotPlain

Spark takes a value after the other through the JVM, ten times as long as it takes to read them in
columns where they are needed. What the two could read in different ways, such as quotes inside of
quotes, is refused, and left to Spark.

Source: `UnivocityParser` and `CSVOptions` of Spark, whose defaults these are.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Final

import numpy as np
import polars as pl

from cep.expression.types import PolarsType
from processor_runtime.rows.csv_quotes import QUOTE, end_values, mask_quoted
from processor_runtime.rows.plain_form import TIMESTAMP, NotPlain

_CHUNK_BYTES: Final = 16 << 20
_LONGEST_LINE_BYTES: Final = 4 * _CHUNK_BYTES
_BYTES_LOOKED_AT: Final = 1 << 16
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_NOT_PLAIN: Final = {b"\r": "lines that end with a carriage return", b"\0": "a character NUL"}
"""What Spark reads by rules of its own."""
_SPACES: Final = (b" ", b"\t")
"""Before a number, Polars ignores them, Java does not."""


_INSTANT: Final = r"^(19[7-9]|20\d)\d-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{3}|\.\d{6})?Z$"
"""How instants are plain; others depend on settings, or are long past."""


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How the files of a source are written.

    `columns` are two or more, with the types they are read as, in the order of the files. `header`
    is the first line of each file, without its end; `None` if that is an event. All its names may
    be quoted in a file. `separator` is visible.
    """

    columns: Mapping[str, PolarsType]
    separator: str = ","
    header: str | None = None

    def events(self, file: BinaryIO, length: int) -> Iterator[pl.DataFrame]:
        """Yield the events of a file; see `PlainForm`."""
        left, separator = length, self.separator.encode()
        if self.header is not None:
            bare = self.header.encode()
            quoted = QUOTE + bare.replace(separator, QUOTE + separator + QUOTE) + QUOTE
            line = file.readline(len(quoted) + 1)[:left]
            if line and line.removesuffix(b"\n") not in {bare, quoted}:
                raise NotPlain("another header than the columns of the stream")
            left -= len(line)
        for text in _lines(file, left):
            yield self._frame(text)

    def look_into(self, file: BinaryIO) -> None:
        """See whether a file begins plainly; see `PlainForm`."""
        length = file.read(_BYTES_LOOKED_AT).rfind(b"\n") + 1
        file.seek(0)
        for _ in self.events(file, length):
            pass

    def _frame(self, text: bytes) -> pl.DataFrame:
        separator = self.separator.encode()
        has_quotes = QUOTE in text
        seen = mask_quoted(text, separator[0]) if has_quotes else text
        for found, what in _NOT_PLAIN.items():
            if found in text:
                raise NotPlain(what)
        if any(space in seen and _is_padded(seen, space, separator) for space in _SPACES):
            raise NotPlain("a space before a value")
        if text.startswith((b"\n", *_SPACES, _BYTE_ORDER_MARK)):
            raise NotPlain("an empty line, a space or a byte order mark at the beginning")
        try:
            frame = pl.read_csv(
                text,
                schema={
                    name: pl.String() if data_type == TIMESTAMP else data_type
                    for name, data_type in self.columns.items()
                },
                has_header=False,
                separator=self.separator,
                quote_char='"' if has_quotes else None,
                null_values="" if has_quotes else None,  # as Spark takes what is quoted and empty
            )
        except pl.exceptions.PolarsError as error:
            raise NotPlain(f"a value that is not of its column's type ({error})") from None
        # What is missing at the end of a line, or in an empty one, would be read as NULL.
        separators = np.count_nonzero(np.frombuffer(seen, np.uint8) == separator[0])
        if separators != (len(self.columns) - 1) * len(frame):
            raise NotPlain("a line with fewer values than there are columns")
        numbers = frame.select(pl.selectors.float())
        if (
            numbers.width
            and not numbers.select(
                pl.all_horizontal(pl.all().is_finite().fill_null(value=True).all())
            ).item()
        ):
            raise NotPlain("a number that is not finite")
        return frame.with_columns(self._instants(frame))

    def _instants(self, frame: pl.DataFrame) -> Iterator[pl.Series]:
        for name, data_type in self.columns.items():
            if data_type != TIMESTAMP:
                continue
            texts = frame.get_column(name)
            if not texts.str.contains(_INSTANT).all():
                raise NotPlain("an instant that is not written as 2026-05-01T10:00:00Z")
            try:
                yield texts.str.to_datetime(
                    "%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us"
                ).dt.replace_time_zone("UTC")
            except pl.exceptions.PolarsError as error:
                raise NotPlain(f"a day or time that there is not ({error})") from None


def _is_padded(lines: bytes, space: bytes, separator: bytes) -> bool:
    octets = np.frombuffer(lines, np.uint8)
    # To search for two octets takes thirty times as long as for one.
    places = np.flatnonzero(octets[1:] == space[0])
    return bool(end_values(octets[places], separator[0]).any())


def _lines(file: BinaryIO, length: int) -> Iterator[bytes]:
    """Yield whole lines, some megabytes of them at a time."""
    begun = b""
    while data := file.read(min(length, _CHUNK_BYTES)):
        length -= len(data)
        end = data.rfind(b"\n") + 1
        if end:
            yield begun + data[:end]
            begun = data[end:]
            continue
        begun += data
        if len(begun) > _LONGEST_LINE_BYTES:
            raise NotPlain("a very long line")
    if begun:
        yield begun
