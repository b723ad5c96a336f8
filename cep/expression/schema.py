"""The schema of an event: its columns and their types, and the lists of its stream.

Expressions are resolved and checked with it; the columnar evaluator needs it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl
import sqlglot
from sqlglot import exp

from cep.expression.errors import near_name
from cep.expression.lists import ValueList
from cep.expression.types import DataType, PolarsType, bad_ddl, from_polars, named_types, to_polars


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of an event, in order, with their types; and the lists of its stream.

    `lists` is `None` where nobody knows which lists there are.
    """

    columns: tuple[tuple[str, DataType], ...]
    lists: tuple[ValueList, ...] | None = None

    @classmethod
    def from_ddl(cls, ddl: str, lists: tuple[ValueList, ...] | None = None) -> "Schema":
        """Return the schema written as in a Spark DDL, `user STRING, tags ARRAY<STRING>`.

        Without `lists` those of the stream are unknown, which leaves them unchecked.

        Raises:
            ExpressionError: if the text is not such a list, or names a column twice.
        """
        try:
            struct = sqlglot.parse_one(f"STRUCT<{ddl}>", into=exp.DataType, dialect="spark")
            columns = tuple(named_types(struct, ddl))
        except sqlglot.errors.SqlglotError:
            raise bad_ddl(ddl, "this is not a list of columns and types") from None
        except RecursionError:
            raise bad_ddl(ddl, "the types are nested too deeply") from None
        names = [name for name, _ in columns]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise bad_ddl(ddl, f"the column {twice} is there twice")
        return cls(columns, lists)

    @classmethod
    def from_polars(cls, schema: Mapping[str, PolarsType]) -> "Schema":
        """Return the schema of a frame; types expressions cannot read become OTHER."""
        return cls(tuple((name, from_polars(data_type)) for name, data_type in schema.items()))

    def to_polars(self) -> pl.Schema:
        """Return the frame schema this stands for: UTC microseconds for TIMESTAMP, and so on.

        Raises:
            ValueError: if a column is of type OTHER.
        """
        return pl.Schema({name: to_polars(data_type) for name, data_type in self.columns})

    def type_of(self, path: tuple[str, ...]) -> DataType | None:
        """Return the type of a column or of a field inside it, `None` if there is no such path."""
        fields = self.columns
        found: DataType | None = None
        for name in path:
            found = dict(fields).get(name)
            if found is None:
                return None
            fields = found.fields
        return found

    def near(self, path: tuple[str, ...]) -> str:
        """Return a hint for a path that does not exist: the nearest names, else all there are."""
        fields = self.columns
        for name in path:
            found = dict(fields).get(name)
            if found is None:
                names = [known for known, _ in fields]
                there = f"there are: {', '.join(names)}" if names else "it has no fields"
                return near_name(name, names) or there
            fields = found.fields
        return ""

    def __str__(self) -> str:
        return ", ".join(f"{name} {data_type}" for name, data_type in self.columns)
