"""`source:` of a job file: where events are read from, and how they become the stream's columns.

`processor_runtime.spark.sources` reads what this describes; the columns themselves are the
stream's.
"""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from cep.pattern.problems import did_you_mean
from processor_runtime.job_file.field_types import JobFilePart, Options, Packages
from processor_runtime.job_file.outputs import BOOTSTRAP_SERVERS

FILE_FORMATS: Final = frozenset({"json", "csv", "parquet", "orc", "text", "delta"})
TEXT_FORMATS: Final = frozenset({"json", "csv"})
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
_KAFKA_SUBSCRIPTIONS: Final = ("subscribe", "subscribePattern", "assign")
# Malformed rows are kept with their text; these options would lose them or end the job.
_RESERVED_OPTIONS: Final = ("mode", "columnNameOfCorruptRecord")


def _known_value_format(value: Any) -> Any:
    if value is not None and value != "json":
        raise ValueError(
            "only json can be read from a value. Have Avro, Protobuf and the like written as JSON, "
            "or read them with a Spark source that gives their columns"
        )
    return value


class Source(JobFilePart):
    """Where events are read from."""

    format: str = Field(pattern=r"^[\w.-]{1,200}$")
    """kafka, json, csv, parquet, orc, text, delta, rate, socket, or another streaming source of
    Spark."""
    path: str | None = Field(default=None, min_length=1)
    """For files and tables: the directory, as a path or a URI."""
    options: Options = Field(default={})
    """Options of Spark's reader of this format."""
    packages: Packages = Field(default=[])
    """Maven coordinates of what Spark needs to read it."""
    max_files_per_batch: int | None = Field(default=None, ge=1)
    """For files: how many new ones a batch takes."""
    value_format: Annotated[Literal["json"] | None, BeforeValidator(_known_value_format)] = None
    """What the column `value` holds, if events are in it: json. For kafka json if left out."""
    value_options: Options = Field(default={})
    """How values are parsed, such as timestampFormat: options of Spark's from_json."""
    columns: dict[str, str] = Field(default={})
    """Columns of the stream that have another name at the source: {stream column: source column}.
    """

    @property
    def parses_value(self) -> bool:
        """Whether events are in a column `value` and parsed from it."""
        return self.value_format is not None or self.format == "kafka"

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
        if self.format == "kafka":
            self._check_kafka()
        return self

    def _check_kafka(self) -> None:
        if self.path is not None:
            raise ValueError("path: Kafka has none. Write the topic as the option subscribe")
        if BOOTSTRAP_SERVERS not in self.options:
            raise ValueError(f"options: {BOOTSTRAP_SERVERS} is missing, such as kafka-1:9092")
        if sum(name in self.options for name in _KAFKA_SUBSCRIPTIONS) != 1:
            raise ValueError("options: give one of subscribe, subscribePattern and assign")
        for name in self.columns.values():
            if name not in KAFKA_COLUMNS:
                raise ValueError(
                    f"columns: Kafka has no column '{name}'. {did_you_mean(name, KAFKA_COLUMNS)}"
                )
