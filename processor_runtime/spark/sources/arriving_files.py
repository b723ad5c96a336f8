"""Checks the files of each batch before it runs, so that nothing is read as what it is not.

    files of a batch ──ArrivingFiles.check──► error rows about files · SourceError
                                                  └──► log

A file lacks a column: its rows have NULL there, and an error row says so. A file has a column of
another type, cannot be read, or is gone: the job ends and says which file it is. Where an option of
Spark says that such files are skipped, an error row tells of them.
"""

import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from cep.pattern.problems import did_you_mean
from processor_runtime.driver.checked_files import Files
from processor_runtime.driver.offset_log import files_of_batch
from processor_runtime.job_file.source import Source
from processor_runtime.rows.json_text import json_text
from processor_runtime.rows.output_rows import OutputRow, error_json
from processor_runtime.sources.directories import directory_texts
from processor_runtime.spark.sources.errors import MEND, SourceError
from processor_runtime.spark.sources.file_fit import file_misfits
from processor_runtime.spark.sources.file_schemas import (
    EmptyFile,
    FileSchemas,
    MissingFile,
    UnreadableFile,
)

_log = logging.getLogger("percept.job")
_AT_ONCE: Final = 8
_SHOWN: Final = 5
_CORRUPT, _MISSING = "ignoreCorruptFiles", "ignoreMissingFiles"
_TOO_EARLY: Final = (
    "What is written into it from now on is not read: write files elsewhere and rename them"
)


def skips_corrupt(spark: SparkSession, source: Source) -> bool:
    """Return whether files that cannot be read are skipped."""
    return _skips(spark, source, _CORRUPT)


def _skips(spark: SparkSession, source: Source, option: str) -> bool:
    options = {name.lower(): value for name, value in source.options.items()}
    return options.get(option.lower(), spark.conf.get(f"spark.sql.files.{option}")) == "true"


class ArrivingFiles:
    """The files of a source, batch by batch.

    `read`: the columns that are read from the files, with the types they are read as. `number`: of
    the source in its query.
    """

    def __init__(
        self,
        spark: SparkSession,
        source: Source,
        files: Files,
        read: T.StructType,
        number: int = 0,
    ) -> None:
        self._number = number
        # Percept's own readers report a file that they skip, and may have read a part of it.
        self._reports_corrupt = not source.is_read_without_spark
        self._format = source.format
        self._names: Mapping[str, str] = {name: own for own, name in source.columns.items()}
        self._files = files
        self._read = read
        self._schemas = FileSchemas(spark, source.format)
        self._skips = {name: _skips(spark, source, name) for name in (_CORRUPT, _MISSING)}

    def check(self, batch_id: int) -> list[OutputRow]:
        """Return error rows about files of a batch that lack a column or are skipped.

        `batch_id`: the batch, which Spark has planned and not read yet.

        Raises:
            SourceError: a file would not be read as it is meant; says which, why, and what to do.
        """
        uris = files_of_batch(self._files, batch_id, self._number)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = list(pool.map(self._findings, uris))
        refused = [
            f"{uri}: {told}"
            for uri, findings in zip(uris, found, strict=True)
            for told, ends in findings
            if ends
        ]
        if refused:
            more = len(refused) - _SHOWN
            shown = refused[:_SHOWN] + ([f"and {more} more"] if more > 0 else [])
            raise SourceError("the source has files that cannot be read:\n  " + "\n  ".join(shown))
        return [
            _error_row(uri, told)
            for uri, findings in zip(uris, found, strict=True)
            for told, _ in findings
        ]

    def _findings(self, uri: str) -> list[tuple[str, bool]]:
        """Return what is wrong with a file, and whether it ends the job."""
        try:
            columns = self._schemas.read(uri)
        except EmptyFile as error:
            return [(f"{error}. {_TOO_EARLY}", False)]
        except UnreadableFile as error:
            return self._unread(error)
        return [] if columns is None else list(self._misfits(uri, columns))

    def _unread(self, error: UnreadableFile) -> list[tuple[str, bool]]:
        option = _MISSING if isinstance(error, MissingFile) else _CORRUPT
        if self._skips[option]:
            if option == _CORRUPT and not self._reports_corrupt:
                return []
            return [(f"{error}. It is skipped, as {option} says", False)]
        mend = "Put it back" if option == _MISSING else MEND
        remedy = f"{mend}; or have it skipped with source.options: {{{option}: true}}"
        return [(f"{error}. {remedy}", True)]

    def _misfits(self, uri: str, columns: T.StructType) -> Iterator[tuple[str, bool]]:
        misfits = file_misfits(columns, self._read, self._format, frozenset(directory_texts(uri)))
        for wrong in misfits.wrong:
            message = f"{wrong}. {MEND}; or remove it and set source.options: {{{_MISSING}: true}}"
            yield f"{message}; or change the stream's schema", True
        for name in misfits.missing:
            column = name.partition(".")[0]
            message = f"it has no column '{name}', which is NULL in its rows."
            other = (
                f"{did_you_mean(column, columns.names)} A column with another name is told under"
            )
            yield (
                f"{message} {other} source.columns: {{{self._names.get(column, column)}: …}}",
                False,
            )


def _error_row(uri: str, told: str) -> OutputRow:
    _log.warning("%s: %s", uri, told)
    error = error_json("file", message=f"{uri}: {told}")
    return OutputRow("error", events=json_text({"reason": told, "file": uri}), error=error)
