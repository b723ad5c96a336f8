"""The lists of a stream: which values they have from which event time on.

    contents ──► ValueList, in the Schema ──resolve──► InList nodes of a tree ──► evaluators

`user IN LIST('vip')` asks for the version that is in effect at the time of the event that is
tested. A tree knows lists by name alone until it is resolved with the schema of its stream.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Final

import polars as pl

from cep.expression.types import BIGINT, DATE, STRING, DataType, Kind, to_polars

Member = str | int | date

LIST_TYPES: Final = (STRING, BIGINT, DATE)
"""The types of values: two are equal only if they are the same, and NULL is none."""
DATA_TYPES: Final[Mapping[str, DataType]] = {str(each): each for each in LIST_TYPES}
"""The same by name."""


class ListContent:
    """The values of one version, read when they are first looked at; equal by digest.

    Args:
        digest: names the content for all time.
        data_type: one of `LIST_TYPES`.
        read: returns the values, of Python's types: `str`, `int` or `date`.
    """

    def __init__(
        self, digest: str, data_type: DataType, read: Callable[[], Iterable[Member]]
    ) -> None:
        self.digest = digest
        self.data_type = data_type
        self._read = read

    @cached_property
    def members(self) -> frozenset[Member]:
        """The values."""
        return frozenset(self._read())

    def among(self, column: pl.Series) -> pl.Series:
        """Return which values of a column are members; NULL is unknown.

        Each distinct value is looked up once, so the cost does not grow with the list.
        """
        distinct = column.drop_nulls().unique()
        known = self.members.intersection(distinct.to_list())
        return column.is_in(pl.Series(list(known), dtype=to_polars(self.data_type)).implode())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ListContent):
            return NotImplemented
        return (self.digest, self.data_type) == (other.digest, other.data_type)

    def __hash__(self) -> int:
        return hash(self.digest)


@dataclass(frozen=True, slots=True)
class ValueList:
    """A list of a stream.

    Args:
        name: as `LIST('name')` has it.
        data_type: of its values, one of `LIST_TYPES`.
        versions: from which event time on, in milliseconds, which content is in effect, the oldest
            first; before it has begun the first one is, too. Without any, only the type is known.
        time_column: where the time of an event stands among its columns, in milliseconds; it is
            read only if there are several versions.
    """

    name: str
    data_type: DataType
    versions: tuple[tuple[int, ListContent], ...] = ()
    time_column: str = ""


def fits(data_type: DataType, value: object) -> bool:
    """Whether a value is of the type of a list."""
    match data_type.kind:
        case Kind.STRING:
            return isinstance(value, str)
        case Kind.BIGINT:
            return isinstance(value, int) and not isinstance(value, bool)
        case _:
            return isinstance(value, date) and not isinstance(value, datetime)
