"""Columns that the directories of a file give, as in `…/day=2026-05-01/events.csv`.

URI of a file ──directory_texts──► texts by name ──column_value──► the value in all rows of the file

They are taken where a file has no such column itself.

Source: partitions of tables in Hive, as Spark writes and reads them.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote

import polars as pl

from processor_runtime.sources.text_columns import TextReader
from processor_runtime.sources.values import UnreadableFile

NO_DIRECTORIES: Final[Mapping[str, str | None]] = {}
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"


def directory_texts(uri: str) -> dict[str, str | None]:
    """Return what directories give, by names of columns in small letters."""
    pairs = (part.split("=", 1) for part in uri.split("/")[:-1] if "=" in part)
    return {unquote(name).lower(): None if text == _NULL else unquote(text) for name, text in pairs}


def column_value(directories: Mapping[str, str | None], name: str, read: TextReader) -> pl.Series:
    """Return the one value of a column that directories give.

    Raises:
        UnreadableFile: it does not fit the type of the column.
    """
    text = directories[name.lower()]
    found, misfits = read([text])
    if misfits:
        raise UnreadableFile(
            f"its directory gives '{text}', which does not fit the column '{name}'"
        )
    return found
