"""Whether the first stage can read the files of a source itself: CSV, Parquet on this machine.

    source, columns ──plain_form──► PlainForm ──plain_files──► frame of paths and lengths

Which files there are, and which of them a batch takes, Spark decides in any case, with the same log
in the checkpoint, so that a job may change at any batch from one way of reading to the other.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from cep.expression.types import PolarsType
from processor_runtime.job_file.source import Source
from processor_runtime.rows.plain_csv import CsvForm
from processor_runtime.rows.plain_form import LOCAL, TIMESTAMP, NotPlain, PlainForm
from processor_runtime.rows.plain_parquet import ParquetForm

_TYPES: Final[Mapping[T.DataType, PolarsType]] = {
    T.StringType(): pl.String(),
    T.ShortType(): pl.Int16(),
    T.IntegerType(): pl.Int32(),
    T.LongType(): pl.Int64(),
    T.DoubleType(): pl.Float64(),
    T.BooleanType(): pl.Boolean(),
    T.TimestampType(): TIMESTAMP,
}
"""Types whose values Spark and Polars read alike, where both read them."""
_SEPARATORS: Final = frozenset(",;|")
_QUOTING: Final = '"\\\n'
_FORM_OPTIONS: Final = frozenset({"header", "sep", "delimiter"})
_LISTING_OPTIONS: Final = frozenset(
    {
        "cleansource",
        "filenameonly",
        "latestfirst",
        "maxbytespertrigger",
        "maxcachedfiles",
        "maxfileage",
        "maxfilespertrigger",
        "modifiedafter",
        "modifiedbefore",
        "pathglobfilter",
        "recursivefilelookup",
        "sourcearchivedir",
    }
)
"""Options about which files are read, in small letters; others are about how."""
_FILES: Final = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
_FILES_LOOKED_AT: Final = 3


def plain_form(source: Source, schema: T.StructType, time_column: str) -> PlainForm | None:
    """Return how the files of a source are read without Spark; `None` if Spark is to read them.

    Some files that are there are looked into, so that a job whose files are not plain does not
    begin with a batch that fails.
    """
    types = {each.name: _TYPES.get(each.dataType) for each in schema}
    columns = {name: found for name, found in types.items() if found is not None}
    is_local = source.path is not None and ":" not in source.path.removeprefix(LOCAL)
    if (
        not is_local
        or len(columns) < len(types)
        or columns.get(time_column) not in {pl.Int64(), TIMESTAMP}
    ):
        return None
    names = tuple(source.columns.get(name, name) for name in columns)
    form = _form(source, columns, names)
    return (
        form
        if form is not None and all(_seems_plain(form, path) for path in _some_files(source))
        else None
    )


def _form(
    source: Source, columns: Mapping[str, PolarsType], names: tuple[str, ...]
) -> PlainForm | None:
    options = {name.lower(): value for name, value in source.options.items()}
    how = options.keys() - _LISTING_OPTIONS
    if source.format == "parquet" and not how and not source.parses_value:
        return ParquetForm(columns, names)
    # A visible separator stands in every line of several columns, and in no empty line.
    separator = options.get("sep", options.get("delimiter", ","))
    header = options.get("header", "false").lower()
    is_plain = (
        source.format == "csv"
        and how <= _FORM_OPTIONS
        and separator in _SEPARATORS
        and header in {"true", "false"}
        and not set("".join(names)) & {separator, *_QUOTING}
        and len(columns) > 1
    )
    first_line = separator.join(names) if header == "true" else None
    return CsvForm(columns, separator, first_line) if is_plain else None


def plain_files(spark: SparkSession, source: Source) -> DataFrame:
    """Return the files of a source as a streaming frame: columns `path` and `length`."""
    options = {
        name: value
        for name, value in source.reader_options.items()
        if name.lower() in _LISTING_OPTIONS
    }
    reader = spark.readStream.format("binaryFile").options(**options).schema(_FILES)
    return reader.load(source.path).select("path", "length")


def _some_files(source: Source) -> Iterator[Path]:
    folder = Path((source.path or "").removeprefix(LOCAL))
    try:
        files = (each for each in folder.iterdir() if each.is_file() and each.name[0] not in "._")
        yield from islice(files, _FILES_LOOKED_AT)
    except OSError:  # a pattern, or nothing yet
        return


def _seems_plain(form: PlainForm, path: Path) -> bool:
    try:
        with path.open("rb") as file:
            form.look_into(file)
    except (NotPlain, OSError):
        return False
    return True
