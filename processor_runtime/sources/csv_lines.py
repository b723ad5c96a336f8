"""CSV files → the columns of a stream, by RFC 4180, but that a line end always ends a row.

    file ──lines──► blocks ──all at once──► columns
                      └─ not surely right ──halves──► a few lines ──► columns, or why not

So a quote too many costs its own row. `cep.events.values` says what the text of a value means.

Source: RFC 4180.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Final

import numpy as np
import polars as pl
import pyarrow as pa

from cep.expression.types import PolarsType
from cep.pattern.problems import did_you_mean
from processor_runtime.sources.column_values import Misfits
from processor_runtime.sources.csv_quotes import QUOTE, end_values, outside_of_quotes
from processor_runtime.sources.directories import NO_DIRECTORIES, column_value
from processor_runtime.sources.lines import line_blocks
from processor_runtime.sources.text_columns import TextReader, text_column
from processor_runtime.sources.time_patterns import ISO, TimePatterns
from processor_runtime.sources.values import (
    Decoded,
    Malformed,
    UnreadableFile,
    joined,
    misfit_reason,
)

_FEW_LINES: Final = 256
_SPACES: Final = b" \t\r\v\f"
_PADDING: Final = b" \t"
"""Before a number Polars ignores them."""
_AT_BEGINNING: Final = (b"\n", BOM_UTF8)
"""What Polars leaves out there."""
_READ_AS: Final[Mapping[PolarsType, PolarsType]] = {
    **{each: each for each in (pl.Int8(), pl.Int16(), pl.Int32(), pl.Int64(), pl.Float64())},
    pl.Boolean(): pl.Boolean(),
    pl.Float32(): pl.Float64(),  # and rounded then, as everywhere
}
"""As what Polars reads a column; others are texts at first."""


class _BrokenLine(ValueError):
    """A line is no row; says why."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the stream: its `name`, its `type`, and how it is read from texts.

    `place` is where it is in a row; `None` if `value` is its value in all rows.
    """

    name: str
    type: PolarsType
    read: TextReader
    place: int | None = None
    value: pl.Series | None = None


@dataclass(frozen=True, slots=True)
class CsvLines:
    """Reads files of CSV; empty lines are skipped.

    Args:
        columns: of the stream, with their types.
        names: what they are called in a header, in the same order; empty = the same.
        separator: the character between values, of ASCII.
        has_header: whether the first line names the columns; otherwise they are those of the
            stream, in their order.
        times: how times are written.

    Raises:
        UnknownType: values of a column cannot be read from text; names the column.
    """

    columns: pa.Schema
    names: tuple[str, ...] = ()
    separator: str = ","
    has_header: bool = False
    times: TimePatterns = ISO
    _columns: tuple[_Column, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        types = pl.DataFrame(pl.from_arrow(self.columns.empty_table())).schema
        columns = (
            _Column(each.name, types[each.name], text_column(each, self.times), place)
            for place, each in enumerate(self.columns)
        )
        object.__setattr__(self, "_columns", tuple(columns))

    def read(
        self, file: BinaryIO, length: int, directories: Mapping[str, str | None] = NO_DIRECTORIES
    ) -> Iterator[Decoded]:
        """Yield the events of a file; see `FileReader`."""
        rows = None if self.has_header else self._rows(self._columns, len(self._columns))
        for block in line_blocks(file, length):
            lines = block.replace(b"\r\n", b"\n") if b"\r" in block else block
            while rows is None and lines:
                line, _, lines = lines.partition(b"\n")
                if line.strip(_SPACES):
                    rows = self._under(line, directories)
            if rows is not None and lines:
                yield rows.read(lines)

    def _rows(self, columns: Iterable[_Column], width: int) -> "_Rows":
        names = self.names or tuple(self.columns.names)
        return _Rows(tuple(columns), names, self.separator, width)

    def _under(self, header: bytes, directories: Mapping[str, str | None]) -> "_Rows":
        """Return how the rows under a header are read."""
        try:
            found = [text or "" for text in _texts(header, _value_pattern(self.separator))]
        except _BrokenLine as broken:
            raise UnreadableFile(f"its header cannot be read: {broken}") from None
        names = zip(self._columns, self.names or self.columns.names, strict=True)
        return self._rows((_placed(*each, found, directories) for each in names), len(found))


def _placed(
    column: _Column, name: str, header: Sequence[str], directories: Mapping[str, str | None]
) -> _Column:
    """Return a column with its place under a header, or with its value.

    `name`: what it is called there.
    """
    places = [place for place, each in enumerate(header) if each.lower() == name.lower()]
    if len(places) > 1:
        raise UnreadableFile(
            f"its header names the column '{name}' {len(places)} times, capital letters aside"
        )
    if places:
        return replace(column, place=places[0])
    if name.lower() in directories:
        return replace(column, place=None, value=column_value(directories, name, column.read))
    raise UnreadableFile(
        f"its header has no column '{name}'. {did_you_mean(name, header)} A column with another "
        f"name is told under source.columns: {{{column.name}: …}}"
    )


@dataclass(slots=True)
class _Rows:
    """Reads the rows of one file.

    Args:
        columns: of the stream.
        names: what they are called in the file.
        separator: between values.
        width: how many values a row has.
    """

    columns: tuple[_Column, ...]
    names: tuple[str, ...]
    separator: str
    width: int
    schema: dict[str, PolarsType] = field(init=False)
    pattern: re.Pattern[str] = field(init=False)
    blanks: bytes = field(init=False)
    padding: bytes = field(init=False)

    def __post_init__(self) -> None:
        read_as = {each.place: _READ_AS.get(each.type, pl.String()) for each in self.columns}
        self.schema = {f"{place}": read_as.get(place, pl.String()) for place in range(self.width)}
        self.pattern = _value_pattern(self.separator)
        own = self.separator.encode()
        self.blanks = _SPACES.replace(own, b"")
        has_numbers = any(each.is_numeric() for each in self.schema.values())
        self.padding = _PADDING.replace(own, b"") if has_numbers else b""

    def read(self, lines: bytes) -> Decoded:
        """Return what some lines hold."""
        parts: list[Decoded] = []
        odd: list[bytes] = []
        for piece, found in self._pieces(lines):
            if found is None:
                odd.append(piece)
                continue
            if odd:
                parts.append(self._one_by_one(b"".join(odd)))
                odd.clear()
            parts.append(found)
        if odd:
            parts.append(self._one_by_one(b"".join(odd)))
        return joined(parts)

    def _pieces(self, lines: bytes) -> Iterator[tuple[bytes, Decoded | None]]:
        """Yield what lines hold: all at once, or half by half where that is not sure.

        Beside it are the lines; `None` if they are to be read one by one.
        """
        found = self._at_once(lines)
        if found is not None or lines.count(b"\n") <= _FEW_LINES:
            yield lines, found
            return
        half = len(lines) // 2
        end = lines.find(b"\n", half, -1)
        middle = (lines.rindex(b"\n", 0, half) if end < 0 else end) + 1
        yield from self._pieces(lines[:middle])
        yield from self._pieces(lines[middle:])

    def _is_row(self, line: bytes) -> bool:
        return bool(line.strip(self.blanks))

    def _at_once(self, lines: bytes) -> Decoded | None:
        if lines.startswith(_AT_BEGINNING) or b"\r" in lines or b"\0" in lines:
            return None
        separator = ord(self.separator)
        seen = outside_of_quotes(lines, separator)
        if seen is None or not self._are_rows(seen, separator):
            return None
        if self.width == 1 and not all(map(self._is_row, lines.removesuffix(b"\n").split(b"\n"))):
            return None
        frame = None if self._is_padded(lines, seen) else self._frame(lines, self.schema)
        if frame is None:
            # Of texts, each column is read by itself.
            frame = self._frame(lines, dict.fromkeys(self.schema, pl.String()))
        if frame is None:
            return None
        return self._decoded(frame.get_columns(), len(frame), lambda: lines.split(b"\n"), {})

    def _frame(self, lines: bytes, schema: dict[str, PolarsType]) -> pl.DataFrame | None:
        has_quotes = QUOTE in lines
        try:
            return pl.read_csv(
                lines,
                schema=schema,
                has_header=False,
                separator=self.separator,
                quote_char='"' if has_quotes else None,
                null_values="" if has_quotes else None,
            )
        except pl.exceptions.PolarsError:  # a value of another type, or no UTF-8
            return None

    def _are_rows(self, seen: Any, separator: int) -> bool:
        """Return whether each line has as many values as there are columns, so that none is empty.

        Polars takes lines with fewer.
        """
        if seen[-1] != ord("\n"):
            seen = np.append(seen, np.uint8(ord("\n")))
        ends = seen[np.flatnonzero(end_values(seen, separator))]
        if len(ends) % self.width:
            return False
        is_line_end = (ends == ord("\n")).reshape(-1, self.width)
        return bool(is_line_end[:, -1].all()) and not is_line_end[:, :-1].any()

    def _is_padded(self, lines: bytes, seen: Any) -> bool:
        """Return whether a value may begin with a space."""
        octets = np.frombuffer(lines, np.uint8)
        if lines[0] in self.padding:
            return True
        for space in self.padding:
            # To search for two octets takes thirty times as long as for one.
            places = np.flatnonzero(octets[1:] == space)
            if (
                end_values(seen[places], ord(self.separator)) | (octets[places] == ord(QUOTE))
            ).any():
                return True
        return False

    def _one_by_one(self, lines: bytes) -> Decoded:
        kept = [line for line in lines.split(b"\n") if self._is_row(line)]
        rows: list[list[str | None]] = []
        malformed: dict[int, Malformed] = {}
        for row, line in enumerate(kept):
            try:
                texts = _texts(line, self.pattern, self.width)
            except _BrokenLine as broken:
                malformed[row] = Malformed(str(broken), line)
                texts = [None] * self.width
            rows.append(texts)
        columns = list(zip(*rows, strict=True)) if rows else [()] * self.width
        return self._decoded(columns, len(kept), lambda: kept, malformed)

    def _decoded(
        self,
        found: Sequence[Any],
        count: int,
        lines: Callable[[], Sequence[bytes]],
        malformed: dict[int, Malformed],
    ) -> Decoded:
        """Return the columns of the stream.

        Args:
            found: the columns of the file, of texts or of the types in `_READ_AS`.
            count: of rows.
            lines: gives the lines that the rows were.
            malformed: what is known by now.
        """
        series: list[pl.Series] = []
        unfit: dict[int, set[str]] = {}
        for column, name in zip(self.columns, self.names, strict=True):
            values, misfits = _values(column, found, count)
            for row in misfits:
                unfit.setdefault(row, set()).add(name)
            series.append(values.cast(column.type).alias(column.name))
        if unfit:
            written = lines()
            for row, wrong in unfit.items():
                malformed[row] = Malformed(misfit_reason(self.names, wrong), written[row])
        return Decoded(pl.DataFrame(series), malformed)


def _values(column: _Column, row: Sequence[Any], count: int) -> tuple[pl.Series, Misfits]:
    """Return the values of a column in so many rows, which it has as texts or as its type."""
    if column.value is not None:
        return column.value.new_from_index(0, count), []
    found = row[column.place or 0]
    is_read = isinstance(found, pl.Series) and found.dtype in {
        column.type,
        _READ_AS.get(column.type),
    }
    return (found, []) if is_read else column.read(found)


def _value_pattern(separator: str) -> re.Pattern[str]:
    """Return what finds one value, in quotes or not, with what ends it."""
    end = re.escape(separator)
    return re.compile(rf'(?:"([^"]*(?:""[^"]*)*)"|((?!")[^{end}]*))({end}|\Z)')


def _texts(line: bytes, pattern: re.Pattern[str], width: int | None = None) -> list[str | None]:
    """Return the texts of a line, `width` of them if it is given; NULL for those that are empty.

    Raises:
        _BrokenLine: they cannot be told from each other.
    """
    if b"\0" in line:
        raise _BrokenLine("it has a character NUL")
    text = line.decode(errors="replace")
    texts: list[str | None] = []
    place = 0
    while found := pattern.match(text, place):
        quoted, bare, end = found.groups()
        texts.append((bare if quoted is None else quoted.replace('""', '"')) or None)
        place = found.end()
        if end:
            continue
        if width is not None and len(texts) != width:
            raise _BrokenLine("it has not as many values as there are columns")
        return texts
    raise _BrokenLine("a value in quotes does not end with a quote, and with it the value")
