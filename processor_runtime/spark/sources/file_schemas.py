"""The columns that a Parquet or ORC file says it has, read from its last bytes.

    URI of a file ──FileSchemas.read──► columns · MissingFile · EmptyFile · UnreadableFile

Spark itself reads them for one file of a source, and only when a query starts.
"""

import json
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812 - as all of Spark's documentation has it

from processor_runtime.spark.failure_text import failure_text

SELF_DESCRIBING: Final = frozenset({"parquet", "orc"})
"""Formats whose files contain their schema."""
_GLOB: Final = str.maketrans({char: f"\\{char}" for char in "\\*?{}[]"})


class UnreadableFile(ValueError):
    """A file cannot be read; says why."""


class MissingFile(UnreadableFile):
    """A file is not there any more."""


class EmptyFile(UnreadableFile):
    """A file has not a byte, not even the end that says what its columns are."""


class FileSchemas:
    """Reads the columns of files.

    Args:
        spark: the session, whose file systems and credentials are used.
        file_format: parquet, orc, or another format of files, of which only the presence is
            checked.
    """

    def __init__(self, spark: SparkSession, file_format: str) -> None:
        # The JVM side has no types in Python. To read one footer as Spark's reader does starts a
        # job of Spark; the same by its own parts takes a tenth of the time.
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark offers no other way
        context: Any = spark.sparkContext._jsc  # noqa: SLF001 - as above
        session: Any = spark._jsparkSession  # noqa: SLF001 - as above
        formats = jvm.org.apache.spark.sql.execution.datasources.parquet
        parquet = jvm.org.apache.parquet
        self._spark = spark
        self._format = file_format
        self._configuration = context.hadoopConfiguration()
        self._path = jvm.org.apache.hadoop.fs.Path
        self._read_footer = parquet.hadoop.ParquetFileReader.readFooter
        self._footer = parquet.hadoop.Footer
        self._without_rows = parquet.format.converter.ParquetMetadataConverter.SKIP_ROW_GROUPS
        self._to_spark = formats.ParquetToSparkSchemaConverter(session.sessionState().conf())
        self._schema_of = formats.ParquetFileFormat.readSchemaFromFooter

    def read(self, uri: str) -> T.StructType | None:
        """Return the columns of a file; `None` if files of the format do not say.

        `uri`: of the file, without escapes.

        Raises:
            MissingFile: it is not there.
            EmptyFile: Spark skips it silently.
            UnreadableFile: it cannot be read.
        """
        try:
            path = self._path(uri)
            system = path.getFileSystem(self._configuration)
            if not system.exists(path):
                raise MissingFile("it is not there any more")
            if self._format not in SELF_DESCRIBING:
                return None
            if not system.getFileStatus(path).getLen():
                raise EmptyFile("it is empty")
            return self._parquet(path) if self._format == "parquet" else self._orc(uri)
        except (PySparkException, Py4JJavaError) as error:
            raise UnreadableFile(failure_text(error, ())) from error

    def _parquet(self, path: Any) -> T.StructType:
        metadata = self._read_footer(self._configuration, path, self._without_rows)
        schema = self._schema_of(self._footer(path, metadata), self._to_spark)
        return T.StructType.fromJson(json.loads(schema.json()))

    def _orc(self, uri: str) -> T.StructType:
        return self._spark.read.format("orc").load(uri.translate(_GLOB)).schema
