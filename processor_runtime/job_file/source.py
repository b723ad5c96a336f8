"""`source:` of a job file: where events are read from, and how they become the stream's columns.

`processor_runtime.spark.sources` reads what this describes; the columns themselves are the
stream's.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from cep.file_trouble import file_trouble
from cep.pattern.problems import did_you_mean
from processor_runtime.job_file.field_types import JobFilePart, KafkaConnector, Options, Packages
from processor_runtime.kafka.settings import (
    BOOTSTRAP_SERVERS,
    SUBSCRIPTIONS,
    KafkaOptionError,
    check_source_options,
)
from processor_runtime.sources.time_patterns import TimePattern, TimePatterns

FILE_FORMATS: Final = frozenset({"json", "csv", "parquet", "orc", "text", "delta"})
TEXT_FORMATS: Final = frozenset({"json", "csv"})
"""Files of text."""
_READ_WITHOUT_SPARK: Final = {"json": "JSON", "csv": "CSV", "parquet": "Parquet"}
KNOWN_FORMATS: Final = (*sorted(FILE_FORMATS), "kafka", "rate", "rate-micro-batch", "socket")
KAFKA_COLUMNS: Final = (
    "key",
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestampType",
    "headers",
)

_PLACE_IN_KAFKA: Final = ("partition", "offset")
_MAX_FILES: Final = "maxFilesPerTrigger"
# Malformed rows are kept with their text; these options would lose them or end the job.
_RESERVED_OPTIONS: Final = ("mode", "columnNameOfCorruptRecord")


_TIME_OPTIONS: Final = ("timestampFormat", "timestampNTZFormat", "dateFormat")
_TIMES: Final = [name.lower() for name in _TIME_OPTIONS]
_OF_FILE_SYSTEMS: Final = "fs."
LISTING_OPTIONS: Final = (
    "cleanSource",
    "fileNameOnly",
    "ignoreCorruptFiles",
    "ignoreMissingFiles",
    "latestFirst",
    "maxBytesPerTrigger",
    "maxCachedFiles",
    "maxFileAge",
    "maxFilesPerTrigger",
    "modifiedAfter",
    "modifiedBefore",
    "pathGlobFilter",
    "recursiveFileLookup",
    "sourceArchiveDir",
)
"""Options of Spark about which files are read; others are about how."""
_CSV_OPTIONS: Final = ("header", "sep", "delimiter")
_NO_SEPARATORS: Final = '"\r\n\0\x7f'
_SCHEMAS_OF: Final = ("avro", "protobuf")


def _check_options(
    place: str, options: Mapping[str, str], known: Sequence[str], what: str = "JSON"
) -> None:
    """Check the options of what Percept reads itself, such as JSON.

    Raises:
        ValueError: one is not known, or its pattern of times cannot be used.
    """
    small = {each.lower() for each in known}
    for name, value in options.items():
        if name.lower() not in small and not name.startswith(_OF_FILE_SYSTEMS):
            raise ValueError(
                f"{place}: Percept reads {what} itself and has no option '{name}'. "
                f"{did_you_mean(name, known)}"
            )
        if name.lower() in _TIMES:
            try:
                TimePattern(value)
            except ValueError as error:
                raise ValueError(f"{place}: {name}: {error}") from None


class Source(JobFilePart):
    """Where events are read from."""

    name: str | None = Field(default=None, pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,49}$")
    """What it is called; each of several sources has a name of its own."""
    format: str = Field(pattern=r"^[\w.-]{1,200}$")
    """kafka, json, csv, parquet, orc, text, delta, rate, socket, or another streaming source of
    Spark."""
    path: str | None = Field(default=None, min_length=1)
    """For files and tables: the directory, as a path or a URI."""
    options: Options = Field(default={})
    """Options of Spark's reader of this format."""
    packages: Packages = Field(default=[])
    """Maven coordinates of what Spark needs to read it."""
    connector: KafkaConnector | None = None
    """What reads Kafka: percept, or spark, which is Spark's own with its package. Left out: spark
    if the job file names its package, percept if not."""
    max_files_per_batch: int | None = Field(default=None, ge=1)
    """For files: how many new ones a batch takes."""
    value_format: Literal["json", "avro", "protobuf"] | None = None
    """What the column `value` holds, if events are in it: json, or for kafka avro or protobuf, by
    the schema each value names. For kafka json if left out."""
    schema_registry: Options = Field(default={})
    """For avro and protobuf: `url` of the registry, and settings of Confluent's client."""
    schema_file: Path | None = None
    """Or a file of schemas with their ids, as JSON."""
    value_options: Options = Field(default={})
    """How times are written in values of JSON: timestampFormat, timestampNTZFormat, dateFormat."""
    null_values: Literal["malformed", "skip"] = "malformed"
    """What becomes of values that are NULL, as tombstones of Kafka: error rows, or nothing."""
    columns: dict[str, str] = Field(default={})
    """Columns of the stream that have another name at the source: {stream column: source column}.
    """
    values: dict[str, Annotated[str, Field(min_length=1, max_length=10_000)]] = Field(default={})
    """Columns of the stream that are computed: {stream column: SQL expression over what is read}.
    A constant is one, too: "'login'"."""
    fields: dict[str, str] = Field(default={})
    """What is read for `values` alone, with its type: {field of the source: BIGINT}."""

    @property
    def parses_value(self) -> bool:
        """Whether events are in a column `value` and parsed from it."""
        return self.value_format is not None or self.format == "kafka"

    @property
    def has_schemas(self) -> bool:
        """Whether values are read by schemas that they name."""
        return self.value_format in _SCHEMAS_OF

    def written_schemas(self) -> str | None:
        """Return what is in the file of schemas, `None` if there is none.

        Raises:
            KafkaOptionError: it cannot be read.
        """
        if self.schema_file is None:
            return None
        try:
            return self.schema_file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise KafkaOptionError(
                f"schema_file: {self.schema_file} cannot be read: {file_trouble(error)}"
            ) from None

    @property
    def uses_own_kafka(self) -> bool:
        """Whether it is Kafka, read without Spark's connector."""
        return self.format == "kafka" and self.connector == "percept"

    @property
    def is_read_without_spark(self) -> bool:
        """Whether it is of files that Spark only finds."""
        return self.format in _READ_WITHOUT_SPARK and not self.parses_value

    @property
    def separator(self) -> str:
        """What stands between the values of CSV."""
        written = self._option("sep") or self._option("delimiter") or ","
        return "\t" if written == "\\t" else written

    @property
    def has_header(self) -> bool:
        """Whether the first line of a file of CSV names its columns."""
        return self._option("header") == "true"

    def _option(self, name: str) -> str | None:
        """Return an option, whose name may be written with capital letters or without."""
        found = (value for each, value in self.options.items() if each.lower() == name)
        return next(found, None)

    @property
    def time_patterns(self) -> TimePatterns:
        """How times are written in JSON and CSV."""
        given = self.options if self.format in TEXT_FORMATS else self.value_options
        small = {name.lower(): value for name, value in given.items()}
        return TimePatterns(*map(small.get, _TIMES))

    @property
    def listing_options(self) -> dict[str, str]:
        """Options for Spark about which files there are, and how it comes to them."""
        small = {name.lower() for name in LISTING_OPTIONS}
        return {
            name: value
            for name, value in self.reader_options.items()
            if name.lower() in small or name.startswith(_OF_FILE_SYSTEMS)
        }

    @property
    def reader_options(self) -> dict[str, str]:
        """All options for Spark's reader."""
        options = dict(self.options)
        if self.max_files_per_batch is not None:
            options[_MAX_FILES] = str(self.max_files_per_batch)
        if self.format == "kafka" and "headers" in self.columns.values():
            options["includeHeaders"] = "true"
        return options

    @property
    def default_order_by(self) -> list[str]:
        """Columns that order events of equal time if no order is set; possibly none.

        For Kafka partition and offset, if the stream has columns for both.
        """
        columns = {at_source: name for name, at_source in self.columns.items()}
        if self.format != "kafka" or not all(name in columns for name in _PLACE_IN_KAFKA):
            return []
        return [columns[name] for name in _PLACE_IN_KAFKA]

    @field_validator("options", "value_options")
    @classmethod
    def _leaves_malformed_rows(cls, options: dict[str, str]) -> dict[str, str]:
        reserved = {name.lower() for name in _RESERVED_OPTIONS}
        if taken := [name for name in options if name.lower() in reserved]:
            raise ValueError(
                f"{taken[0]} is set by the job, which keeps malformed rows with their text. "
                "Leave it out"
            )
        return options

    @model_validator(mode="after")
    def _reads_or_computes(self) -> Self:
        if twice := next((name for name in self.values if name in self.columns), None):
            raise ValueError(f"columns: {twice} is read here and computed under values. Choose one")
        if twice := next((name for name in self.values if name in self.fields), None):
            raise ValueError(f"fields: {twice} is computed under values. Give the field its name")
        return self

    @model_validator(mode="after")
    def _fits_its_format(self) -> Self:
        is_file = self.format in FILE_FORMATS
        if is_file and self.path is None:
            raise ValueError(f"path: missing. Write which directory to read {self.format} from")
        if not is_file and self.max_files_per_batch is not None:
            raise ValueError(
                f"max_files_per_batch is for files, not for {self.format}. Use an option of the "
                "source, such as maxOffsetsPerTrigger for kafka"
            )
        if self.max_files_per_batch is not None and _MAX_FILES in self.options:
            raise ValueError(f"give either max_files_per_batch or the option {_MAX_FILES}")
        if self.parses_value and self.format in TEXT_FORMATS:
            raise ValueError(
                f"value_format: {self.format} files have no column value. Leave it out, or write "
                "format: text for lines of JSON"
            )
        if self.value_options and not self.parses_value:
            raise ValueError("value_options: nothing is parsed from a value; use options")
        if self.null_values == "skip" and not self.parses_value:
            raise ValueError("null_values: this is for events in a value. Leave it out")
        if self.format == "kafka":
            self._check_kafka()
        elif self.connector is not None:
            raise ValueError("connector: this is for kafka alone. Leave it out")
        return self

    @model_validator(mode="after")
    def _has_known_options(self) -> Self:
        if self.is_read_without_spark:
            own = {"json": _TIME_OPTIONS, "csv": (*_CSV_OPTIONS, *_TIME_OPTIONS)}
            known = (*own.get(self.format, ()), *LISTING_OPTIONS)
            _check_options("options", self.options, known, _READ_WITHOUT_SPARK[self.format])
        if self.format == "csv":
            self._check_csv()
        if self.value_format in {None, "json"}:
            _check_options("value_options", self.value_options, _TIME_OPTIONS)
        return self

    @model_validator(mode="after")
    def _knows_its_schemas(self) -> Self:
        given = [bool(self.schema_registry), self.schema_file is not None]
        if not self.has_schemas:
            if any(given):
                raise ValueError(
                    "schema_registry and schema_file are for value_format avro or protobuf"
                )
            return self
        if not self.uses_own_kafka:
            raise ValueError(
                f"value_format: {self.value_format} is read by Percept's own Kafka connector "
                "alone. Have it written as JSON, or use a Spark source that gives its columns"
            )
        if sum(given) != 1:
            raise ValueError(
                f"value_format: {self.value_format} needs one of schema_registry and schema_file"
            )
        if self.schema_registry and "url" not in self.schema_registry:
            raise ValueError("schema_registry: url is missing, such as https://registry:8081")
        if self.value_options:
            raise ValueError("value_options are for json")
        return self

    def _check_csv(self) -> None:
        if self._option("header") not in {None, "true", "false"}:
            raise ValueError("options: header: write true or false")
        if self._option("sep") and self._option("delimiter"):
            raise ValueError("options: give either sep or delimiter, which are the same")
        separator = self.separator
        if len(separator) != 1 or not separator.isascii() or separator in _NO_SEPARATORS:
            raise ValueError(
                f"options: sep: '{separator}' cannot be between values. Write one character of "
                "ASCII, no quote and no line end"
            )

    def _check_kafka(self) -> None:
        if self.path is not None:
            raise ValueError("path: Kafka has none. Write the topic as the option subscribe")
        if BOOTSTRAP_SERVERS not in self.options:
            raise ValueError(f"options: {BOOTSTRAP_SERVERS} is missing, such as kafka-1:9092")
        if sum(name in self.options for name in SUBSCRIPTIONS) != 1:
            raise ValueError("options: give one of subscribe, subscribePattern and assign")
        if self.uses_own_kafka:
            try:
                check_source_options(self.options)
            except KafkaOptionError as error:
                raise ValueError(f"options: {error}") from None
        for name in self.columns.values():
            if name not in KAFKA_COLUMNS:
                raise ValueError(
                    f"columns: Kafka has no column '{name}'. {did_you_mean(name, KAFKA_COLUMNS)}"
                )
