"""`outputs:` of a job file: where rows go, by kind; one model per type of output.

    outputs: [{type: jdbc, kinds: [match, timeout], …}, …] ──► models ──► sinks (spark/sinks)

Rows have a kind: `match`, `timeout`, `side` (side outputs of process functions, all or by their
tag), `late` and `error` (malformed rows and processors that raised).
"""

import base64
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, HttpUrl, WithJsonSchema, model_validator

from cep.file_trouble import file_trouble
from cep.pattern.problems import did_you_mean
from contract.plain_http import PLAIN_HTTP, is_plain_http_elsewhere
from processor_runtime.job_file.field_types import (
    EnvironmentName,
    JobFilePart,
    KafkaConnector,
    Options,
    Packages,
)
from processor_runtime.kafka.output_form import OutputForm
from processor_runtime.kafka.settings import (
    BOOTSTRAP_SERVERS,
    KafkaOptionError,
    check_output_options,
)
from processor_runtime.rows.output_rows import ROW_KINDS, RowKind


def _known_kind(kind: str) -> str:
    if not _KIND.fullmatch(kind):
        raise ValueError(f"'{kind}' is no kind of row. {did_you_mean(kind, (*ROW_KINDS, _BY_TAG))}")
    return kind


_BY_TAG: Final = "side:<tag>"
_KIND: Final = re.compile(rf"{'|'.join(ROW_KINDS)}|side:.{{1,200}}")
SelectedKind = Annotated[
    str,
    AfterValidator(_known_kind),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^({_KIND.pattern})$",
            "description": "match, timeout, side (all of them), side:<tag>, shadow, suppressed, "
            "grouped, group, late or error.",
        }
    ),
]
OutputName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class _Output(JobFilePart):
    kinds: list[SelectedKind] = Field(default=["match", "side", "group"], min_length=1)
    """Which rows it takes."""

    @property
    def row_kinds(self) -> frozenset[RowKind]:
        """Kinds of which it takes all rows."""
        return frozenset(kind for kind in ROW_KINDS if kind in self.kinds)

    @property
    def side_tags(self) -> frozenset[str]:
        """Tags whose side rows it takes, if it does not take all of them."""
        if "side" in self.kinds:
            return frozenset()
        return frozenset(kind[5:] for kind in self.kinds if kind.startswith("side:"))


class ConsoleOutput(_Output):
    """A table of the newest rows of every batch in the job's own output."""

    type: Literal["console"]
    name: OutputName = "console"
    """What errors call it; outputs of one type need different names."""
    rows_per_batch: int = Field(default=20, ge=1, le=1_000)
    """The most rows to show; the rest are counted."""


class _FileOutput(_Output):
    path: str = Field(min_length=1)
    """A directory of its own, as a path or a URI that Spark can write to."""
    options: Options = Field(default={})
    """Options of Spark's writer of this format, such as compression."""


class JsonOutput(_FileOutput):
    """JSON Lines files, exactly once."""

    type: Literal["json"]
    name: OutputName = "json"
    """What errors call it; outputs of one type need different names."""


class ParquetOutput(_FileOutput):
    """Parquet files, exactly once."""

    type: Literal["parquet"]
    name: OutputName = "parquet"
    """What errors call it; outputs of one type need different names."""


class DeltaOutput(_FileOutput):
    """A Delta table, exactly once by the job's transactions in its log."""

    type: Literal["delta"]
    name: OutputName = "delta"
    """What errors call it; outputs of one type need different names."""
    packages: Packages = Field(default=[])
    """Maven coordinates of Delta Lake for Spark."""


class KafkaOutput(_Output):
    """A Kafka topic, at least once; consumers tell repetitions by the header match_id."""

    type: Literal["kafka"]
    name: OutputName = "kafka"
    """What errors call it; outputs of one type need different names."""
    topic: str = Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")
    """The topic to write to."""
    options: Options
    """kafka.bootstrap.servers, and any setting of a producer with `kafka.` in front."""
    packages: Packages = Field(default=[])
    """Maven coordinates of Spark's Kafka connector."""
    connector: KafkaConnector | None = None
    """What writes: percept, or spark, which is Spark's own with its package. Left out: spark if the
    job file names its package, percept if not."""
    value_format: Literal["json", "avro", "protobuf"] = "json"
    """How rows are written: json, or by a schema of a registry."""
    schema_registry: Options = Field(default={})
    """For avro and protobuf: `url` of the registry, and settings of Confluent's client."""
    schema_file: Path | None = None
    """A file with the schema: JSON for avro, a set of descriptors for protobuf; without a registry
    all schemas with their ids, as JSON. Left out: Percept's own."""
    register_schema: bool = True
    """Register the schema under the topic's subject; false: it must be there, and without
    schema_file the newest is used."""

    def output_form(self) -> OutputForm | None:
        """Return how values are written by a schema; `None` if they are plain JSON.

        Raises:
            KafkaOptionError: the file of the schema cannot be read.
        """
        if self.value_format == "json":
            return None
        registry = tuple(self.schema_registry.items())
        schema = self._written_schema()
        return OutputForm(self.value_format, self.topic, registry, schema, self.register_schema)

    def _written_schema(self) -> str:
        """Return what is in the file: text, or a set of descriptors as Base64."""
        if self.schema_file is None:
            return ""
        try:
            content = self.schema_file.read_bytes()
            if not content.strip():
                raise KafkaOptionError("schema_file: the file is empty")
            if self.value_format == "protobuf" and self.schema_registry:
                return base64.b64encode(content).decode()
            return content.decode()
        except (OSError, UnicodeDecodeError) as error:
            raise KafkaOptionError(
                f"schema_file: {self.schema_file} cannot be read: {file_trouble(error)}"
            ) from None

    @model_validator(mode="after")
    def _knows_its_schema(self) -> Self:
        if self.value_format == "json":
            if self.schema_registry or self.schema_file is not None or not self.register_schema:
                raise ValueError(
                    "schema_registry, schema_file and register_schema are for value_format avro or "
                    "protobuf"
                )
            return self
        if self.connector == "spark":
            raise ValueError(
                f"value_format: {self.value_format} is written by Percept's own connector alone. "
                "Write connector: percept, or value_format: json"
            )
        if not self.schema_registry and self.schema_file is None:
            raise ValueError(
                f"value_format: {self.value_format} needs schema_registry, or where none can be "
                "reached schema_file with its schemas and their ids"
            )
        if self.schema_registry and "url" not in self.schema_registry:
            raise ValueError("schema_registry: url is missing, such as https://registry:8081")
        return self

    @model_validator(mode="after")
    def _has_servers(self) -> Self:
        if BOOTSTRAP_SERVERS not in self.options:
            raise ValueError(f"options: {BOOTSTRAP_SERVERS} is missing, such as kafka-1:9092")
        if self.connector == "percept":
            try:
                check_output_options(self.options)
            except KafkaOptionError as error:
                raise ValueError(f"options: {error}") from None
        return self


class JdbcOutput(_Output):
    """A table in PostgreSQL or SQLite, each row once by its identity."""

    type: Literal["jdbc"]
    name: OutputName = "jdbc"
    """What errors call it; outputs of one type need different names."""
    url: str = Field(pattern=r"^(jdbc:)?(postgresql|sqlite):", repr=False)
    """postgresql://host:5432/database or sqlite:///file; `jdbc:` in front may be written."""
    table: str = Field(pattern=r"^[A-Za-z_]\w{0,62}(\.[A-Za-z_]\w{0,62})?$")
    """The table, or schema.table."""
    user: str | None = Field(default=None, min_length=1)
    """Who signs in, if the URL does not say."""
    password_env: EnvironmentName | None = None
    """Environment variable that holds the password."""
    create_table: bool = False
    """Create the table at the start if it is not there."""
    rows_per_statement: int = Field(default=1_000, ge=1, le=10_000)
    """How many rows travel together; all of a batch are one transaction."""
    give_up_after_seconds: float = Field(default=120, ge=0, le=3_600)
    """How long a batch is tried again while the database is away."""


class WebhookOutput(_Output):
    """POST requests with a JSON array of rows and an Idempotency-Key, at least once."""

    type: Literal["webhook"]
    name: OutputName = "webhook"
    """What errors call it; outputs of one type need different names."""
    url: HttpUrl = Field(repr=False)
    """Where to post to."""
    headers: Options = Field(default={})
    """Headers of every request."""
    token_env: EnvironmentName | None = None
    """Environment variable with a token, sent as Authorization: Bearer."""
    signature_secret_env: EnvironmentName | None = None
    """Environment variable with a secret: requests carry the HMAC-SHA256 of their body."""
    rows_per_request: int = Field(default=100, ge=1, le=10_000)
    """The most rows in one request."""
    timeout_seconds: float = Field(default=10, gt=0, le=300)
    """How long one answer may take."""
    retries: int = Field(default=5, ge=0, le=20)
    """How often a request is sent again, with growing pauses."""
    give_up_after_seconds: float = Field(default=120, gt=0, le=3_600)
    """How long one batch may take in all, with retries and pauses."""
    on_failure: Literal["fail", "skip"] = "fail"
    """fail: the batch fails and is tried again by the job; skip: its rows are logged as lost."""
    allow_plain_http: bool = False
    """Send rows unencrypted to another machine."""

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        if not self.allow_plain_http and is_plain_http_elsewhere(self.url):
            raise ValueError(PLAIN_HTTP)
        return self


class ServiceOutput(_Output):
    """Recent matches in the rule service of `service:`, for people to look at; best effort."""

    type: Literal["service"]
    name: OutputName = "service"
    """What errors call it; outputs of one type need different names."""
    kinds: list[Literal["match", "timeout", "shadow", "suppressed", "grouped", "group"]] = Field(  # type: ignore[assignment] # fewer
        default=["match", "shadow", "group"], min_length=1
    )
    """Which rows it takes; the service keeps no others, and of each kind the newest."""
    queue_rows: int = Field(default=10_000, ge=1, le=1_000_000)
    """How many rows may wait for a service that is slow or down; older ones are dropped."""


Output = Annotated[
    ConsoleOutput
    | JsonOutput
    | ParquetOutput
    | DeltaOutput
    | KafkaOutput
    | JdbcOutput
    | WebhookOutput
    | ServiceOutput,
    Field(discriminator="type"),
]


def takes_lines(output: Output) -> bool:
    """Return whether an output writes matches that are lines of JSON as they are.

    Kafka does if all other rows it takes are named apart from matches.
    """
    match output:
        case JsonOutput():
            return True
        case KafkaOutput():
            is_own = output.connector == "percept" and output.value_format == "json"
            return is_own and output.row_kinds <= {"match", "side", "late", "error"}
        case _:
            return False


def are_plain_lines(outputs: Iterable[Output]) -> bool:
    """Return whether all outputs are lines of JSON that end as usual, any number in a file."""
    return all(
        takes_lines(each)
        and not (isinstance(each, JsonOutput) and each.options.keys() - {"compression"})
        for each in outputs
    )
