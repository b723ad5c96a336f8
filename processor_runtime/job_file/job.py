"""The whole job file as one model; `loading` reads it, the composition root of the job uses it.

What events look like (columns, event time, delay, order) is not in it: that is the stream's
definition, which comes with the processors (`contract.snapshot.StreamDefinition`).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from cep.definition.document import ProcessorLimits
from cep.file_trouble import file_trouble
from cep.nfa.limits import Limits
from cep.signing.keys import SigningKeys
from contract.report_values import JobName
from contract.reports import TimeMode
from processor_runtime.job_file.field_types import (
    DurationMs,
    EnvironmentName,
    JobFilePart,
    OptionText,
)
from processor_runtime.job_file.outputs import (
    DeltaOutput,
    KafkaOutput,
    Output,
    ServiceOutput,
    are_plain_lines,
)
from processor_runtime.job_file.service import ServiceConnection
from processor_runtime.job_file.source import Source
from processor_runtime.job_file.timing import Timing, Trigger
from processor_runtime.watch.worker_limits import WorkerLimits

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_ARTIFACT: Final = "spark-sql-kafka"
_JARS: Final = "spark.jars"
PACKAGES_SETTING = "spark.jars.packages"
SparkSetting = Annotated[str, Field(pattern=r"^spark\.[\w.-]+$")]


class JobLimits(ProcessorLimits):
    """What processors may hold that set no limits of their own, and what their code may take."""

    rule_call_seconds: float = Field(
        default=30.0,
        ge=0.1,
        le=86_400.0,
        description="How long one call of Python code may take; a processor that takes longer is "
        "quarantined.",
    )
    worker_memory_mb: int | None = Field(
        default=None,
        ge=512,
        le=2**30,
        strict=True,
        description="Memory for the data of one Python worker; left out = half of the machine's.",
    )


class JobFile(JobFilePart):
    """One streaming job: what it reads, which processors it runs, where it writes."""

    name: JobName
    """What the job is called on its stream, through all restarts."""
    stream: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    """The stream whose processors it runs."""
    source: Source | None = None
    """Where events are read from."""
    sources: list[Source] | None = Field(default=None, min_length=2, max_length=20)
    """Or several such, each with a name: their events are one stream."""
    source_column: str | None = Field(default=None, min_length=1)
    """The column of the stream that gets the name of the source of each event."""
    discoverer: dict[str, Any] = Field(repr=False)
    """Where processors come from: type, and the options of that type."""
    outputs: list[Output] = Field(min_length=1, max_length=50)
    """Where rows go, by kind."""
    checkpoint: str = Field(min_length=1)
    """A directory of its own, as a path or a URI that Spark can write to; the job's memory."""
    time: Timing = Timing()
    """Which time rules run on."""
    trigger: Trigger = Trigger(processing_time=1_000)
    """When batches begin."""
    service: ServiceConnection | None = None
    """The rule service that the job reports to; left out, it reports to none."""
    signing_keys_file: Path | None = None
    """File with the keys that Python code is signed with; without keys, code is refused."""
    signing_keys_env: EnvironmentName | None = None
    """Or the environment variable that holds them."""
    shards: int | None = Field(default=None, ge=1, le=100_000)
    """Into how many parts keys are divided. Left out: chosen at the first start. The checkpoint
    keeps the number."""
    on_error: Literal["quarantine", "fail"] = "quarantine"
    """What becomes of a processor that raises: it alone is stopped, or the job."""
    limits: JobLimits = JobLimits()
    """Limits of processors that have none of their own, and of the code of all of them."""
    first_snapshot_timeout_ms: DurationMs = Field(default=60_000, alias="first_snapshot_timeout")
    """How long the first start waits for processors."""
    spark: dict[SparkSetting, OptionText] = Field(default={}, repr=False)
    """Settings of Spark, passed on as they are."""

    @model_validator(mode="before")
    @classmethod
    def _knows_its_connectors(cls, data: Any) -> Any:
        return with_connectors(data)

    @model_validator(mode="after")
    def _names_its_sources(self) -> Self:
        if self.source is not None and self.sources is not None:
            raise ValueError("sources: there is `source`, too. Move it into the list")
        if self.source is None and self.sources is None:
            raise ValueError("source: missing. Add it")
        known: set[str] = set()
        for place, source in self.placed_sources:
            if source.name is None:
                if self.sources is not None or self.source_column is not None:
                    raise ValueError(f"{place} needs a name, such as `name: logins`")
                continue
            if source.name in known:
                raise ValueError(f"{place}: another source is called '{source.name}', too")
            known.add(source.name)
            if self.source_column in {*source.columns, *source.values, *source.fields}:
                raise ValueError(
                    f"source_column: {place} gives {self.source_column} itself. Choose one"
                )
        return self

    @model_validator(mode="after")
    def _has_one_place_for_keys(self) -> Self:
        if self.signing_keys_file is not None and self.signing_keys_env is not None:
            raise ValueError("give either signing_keys_file or signing_keys_env")
        return self

    @model_validator(mode="after")
    def _has_time_for_silence(self) -> Self:
        if self.time.idle_after_ms is not None and self.trigger.processing_time_ms is None:
            raise ValueError(
                "time.idle_after: this job ends when everything has been read, and waits for "
                "nothing. Leave it out; trigger.close_at_end: true ends what is open"
            )
        return self

    @property
    def placed_sources(self) -> list[tuple[str, Source]]:
        """Where events are read from, each source with its place in the file."""
        if self.source is not None:
            return [("source", self.source)]
        return [(f"sources[{number}]", each) for number, each in enumerate(self.sources or ())]

    @property
    def source_names(self) -> tuple[str, ...]:
        """The names of several sources; empty if there is one."""
        return tuple(str(each.name) for each in self.sources or ())

    @property
    def time_mode(self) -> TimeMode:
        """What makes its time go on."""
        if self.time.by == "processing":
            return "processing"
        return "events" if self.time.idle_after_ms is None else "events_or_clock"

    @property
    def has_ticks(self) -> bool:
        """Whether batches must run, or shards be called, without an event."""
        return self.trigger.close_at_end or (
            self.trigger.processing_time_ms is not None and self.time_mode != "events"
        )

    @property
    def row_kinds(self) -> frozenset[str]:
        """The kinds of rows that some output takes, or that are looked into for the service."""
        kinds: set[str] = {kind for output in self.outputs for kind in output.row_kinds}
        if any(output.side_tags for output in self.outputs):
            kinds.add("side")
        if self.tells_events:
            kinds.add("error")
        return frozenset(kinds)

    @property
    def tells_events(self) -> bool:
        """Whether single events are reported to the rule service: with matches, if at all."""
        return any(isinstance(output, ServiceOutput) for output in self.outputs)

    @property
    def has_rows_in_workers_only(self) -> bool:
        """Whether Spark itself reads no events and writes no rows one by one."""
        return are_plain_lines(self.outputs) and all(
            source.is_read_without_spark or source.uses_own_kafka
            for _, source in self.placed_sources
        )

    @property
    def limits_per_key(self) -> Limits:
        """What a processor without limits of its own may hold for one key."""
        given, usual = self.limits, Limits()
        return Limits(
            given.partial_matches_per_key or usual.partial_matches,
            given.events_per_key or usual.events,
        )

    @property
    def packages(self) -> list[str]:
        """Maven coordinates of everything the job needs, each once: `spark.jars.packages`."""
        given = [each for each in self.spark.get(PACKAGES_SETTING, "").split(",") if each]
        for part in (*(source for _, source in self.placed_sources), *self.outputs):
            if isinstance(part, Source | KafkaOutput | DeltaOutput):
                given += part.packages
        return list(dict.fromkeys(given))

    @property
    def spark_settings(self) -> dict[str, str]:
        """Settings of Spark, with the packages of sources and outputs."""
        settings = dict(self.spark)
        if packages := self.packages:
            settings[PACKAGES_SETTING] = ",".join(packages)
        return settings

    @property
    def worker_limits(self) -> WorkerLimits:
        """What code of processors may take."""
        return WorkerLimits(self.limits.rule_call_seconds, self.limits.worker_memory_mb)

    def signing_keys(self, environment: Mapping[str, str]) -> SigningKeys | None:
        """Return the keys that Python code must be signed with; `None` refuses all code.

        Raises:
            ValueError: the file cannot be read, the variable is not set, or they hold no keys.
        """
        if self.signing_keys_file is not None:
            try:
                text = self.signing_keys_file.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                why = f"{self.signing_keys_file} cannot be read: {file_trouble(error)}"
                raise ValueError(f"signing_keys_file: {why}") from None
            return _keys("signing_keys_file", text)
        if self.signing_keys_env is not None:
            text = environment.get(self.signing_keys_env, "")
            if not text.strip():
                raise ValueError(
                    f"signing_keys_env: the environment variable {self.signing_keys_env} is not set"
                )
            return _keys("signing_keys_env", text)
        return None


def _keys(name: str, text: str) -> SigningKeys:
    try:
        return SigningKeys.from_text(text.strip())
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def job_file_schema() -> dict[str, Any]:
    """Return the JSON Schema of a job file, for completion and checks in editors."""
    return {"$schema": _DIALECT, **JobFile.model_json_schema(), "title": "Percept job file"}


def with_connectors(data: Any) -> Any:
    """Return the data of a job file with `connector` in every part that is about Kafka.

    It is `spark` if any part names the packages or jars of Spark's connector, else `percept`:
    packages belong to the whole session, so all parts can use it.

    `data`: as it was read; parts of another form than a job file's are left as they are.
    """
    if not isinstance(data, dict):
        return data
    lists = {
        name: data[name] for name in ("sources", "outputs") if isinstance(data.get(name), list)
    }
    parts = [data.get("source"), *(part for each in lists.values() for part in each)]
    named = "spark" if any(_ARTIFACT in text for text in _packages(data, parts)) else "percept"
    changed = {
        name: [_with_connector(part, named) for part in each] for name, each in lists.items()
    }
    source = {"source": _with_connector(data["source"], named)} if "source" in data else {}
    return data | source | changed


def _packages(data: dict[Any, Any], parts: list[Any]) -> Iterator[str]:
    for part in parts:
        packages = part.get("packages") if isinstance(part, dict) else None
        yield from map(str, packages if isinstance(packages, list) else [])
    settings = data.get("spark")
    for name, value in settings.items() if isinstance(settings, dict) else ():
        if str(name).startswith(_JARS):
            yield str(value)


def _with_connector(part: Any, connector: str) -> Any:
    if not isinstance(part, dict) or "kafka" not in (part.get("format"), part.get("type")):
        return part
    # Written as null it is left out, too: `format: kafka` reads and writes with one of them.
    return part | {"connector": connector} if part.get("connector") is None else part
