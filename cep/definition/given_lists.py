"""Lists whose values come from files: those that rules name, where there is no service.

    --list vip=vip.csv, --list ids:BIGINT=ids.csv ──read_list_options──► GivenList ──► Schema

A list that is given so has the same values at all times.
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TextIO, cast

from cep.expression.lists import DATA_TYPES, ListContent, ValueList
from cep.file_trouble import file_trouble
from cep.list_content import (
    LIST_TYPES,
    MOST_BYTES,
    MOST_VALUES,
    ListType,
    ListValue,
    list_content,
    list_digest,
    list_values,
    value_in_cell,
    written_value,
)

LARGEST_FILE: Final = 2 * MOST_BYTES
"""Size of a file of values in bytes; quotes and carriage returns are no part of a content."""
_GIVEN: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})(?::([A-Za-z]+))?=(.+)")


class UnreadableList(ValueError):
    """A list cannot be read; says where and why, `line` counts from 1."""

    def __init__(self, path: Path, told: str, line: int | None = None) -> None:
        super().__init__(f"{path}{f', line {line}' if line else ''}: {told}")
        self.path, self.told, self.line = path, told, line


class UnknownLists(ValueError):
    """A rule names lists whose values are not known; says how to give them."""

    def __init__(self, names: Sequence[str]) -> None:
        several = "s" if len(names) > 1 else ""
        given = " ".join(f"--list {name}={name}.csv" for name in names[:3])
        super().__init__(
            f"the values of the list{several} {', '.join(names)} are not known here; give files of "
            f"CSV with one value on each line: {given}"
        )


@dataclass(frozen=True, slots=True)
class GivenList:
    """A list with its values, as canonical content; see `cep.list_content`."""

    name: str
    data_type: ListType
    content: bytes

    @property
    def digest(self) -> str:
        """The name of its content."""
        return list_digest(self.content)

    def value_list(self) -> ValueList:
        """Return the list as rules look into it."""
        data_type = DATA_TYPES[self.data_type]
        read = partial(list_values, self.data_type, self.content)
        return ValueList(self.name, data_type, ((0, ListContent(self.digest, data_type, read)),))


def read_list_options(options: Iterable[str]) -> dict[str, GivenList]:
    """Return the lists that options name, each `NAME=FILE` or `NAME:TYPE=FILE`, by name.

    Files are CSV of one column, without a header; empty lines are left out.

    Raises:
        ValueError: an option or a file is not of that form; of a file with the line.
    """
    named: dict[str, GivenList] = {}
    for option in options:
        found = _GIVEN.fullmatch(option)
        data_type = (found[2] or "STRING").upper() if found else ""
        if found is None or data_type not in LIST_TYPES:
            types = ", ".join(LIST_TYPES)
            raise ValueError(
                f"--list {option}: write NAME=FILE, or NAME:TYPE=FILE with one of {types}"
            )
        if found[1] in named:
            raise ValueError(f"--list {option}: {found[1]} is given twice")
        kind = cast(ListType, data_type)
        named[found[1]] = GivenList(found[1], kind, read_list_file(Path(found[3]), kind))
    return named


def read_list_file(path: Path, data_type: ListType) -> bytes:
    """Return the content of a list from a file of CSV, one value on each line.

    Raises:
        UnreadableList: it cannot be read, is too large, or a line is no value of the type.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list_content(_distinct(path, data_type, file))
    except OSError as error:
        raise UnreadableList(path, f"cannot be read: {file_trouble(error)}") from None
    except UnreadableList:
        raise
    except UnicodeDecodeError as error:
        raise UnreadableList(path, f"it is not UTF-8: {error.reason}") from None
    except ValueError as error:
        raise UnreadableList(path, f"{error}") from None


def named_lists(names: Iterable[str], known: Mapping[str, GivenList]) -> tuple[GivenList, ...]:
    """Return the lists that a rule names; raises `UnknownLists` if some are not known."""
    named = list(names)
    if missing := [name for name in named if name not in known]:
        raise UnknownLists(missing)
    return tuple(known[name] for name in named)


def _distinct(path: Path, data_type: ListType, file: TextIO) -> set[ListValue]:
    """Return the values in a file; what is beyond the limit is not read."""
    if path.stat().st_size > LARGEST_FILE:
        raise UnreadableList(path, f"it is too large; the limit is {LARGEST_FILE:,} bytes")
    values: set[ListValue] = set()
    reader = csv.reader(file, strict=True)
    try:
        for row in reader:
            values.update(_values(data_type, row, MOST_VALUES - len(values)))
    except UnicodeDecodeError:
        raise
    except (csv.Error, ValueError) as error:
        raise UnreadableList(path, f"{error}", reader.line_num) from None
    return values


def _values(data_type: ListType, row: list[str], left: int) -> list[ListValue]:
    """Return the value on a line, none if it is empty."""
    if len(row) > 1:
        raise ValueError(f"{len(row)} columns; a list has one")
    if row and not left:
        raise ValueError(f"a list holds {MOST_VALUES:,} values")
    return [written_value(data_type, value_in_cell(cell)) for cell in row]
