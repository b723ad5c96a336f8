"""The document of a processor: what people and pipelines write, in JSON or YAML.

    document ──► checks of the rule service ──► version ──► snapshot ──► job

The model checks shape; the pattern inside is checked by `Pattern.from_document`, expressions
against the schema of the stream by whoever knows it.
"""

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    WithJsonSchema,
)
from pydantic_core import core_schema

from cep.instants import GivenInstant
from cep.pattern.document.schema import AnyPatternDocument
from cep.pattern.durations import duration_ms
from cep.signing.code import SignedCode

# Any mapping passes, and the JSON Schema is the pattern's: `Pattern.from_document` says more about
# what is wrong than a second check here could.
PatternMapping = Annotated[
    dict[str, Any],
    GetPydanticSchema(
        get_pydantic_core_schema=lambda _type, _handler: core_schema.dict_schema(
            core_schema.str_schema(), core_schema.any_schema()
        ),
        get_pydantic_json_schema=lambda _schema, handler: handler(AnyPatternDocument.core_schema),
    ),
]
ProcessorId = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$",
        description="Letters, digits, dot, hyphen and underscore.",
        examples=["failed-logins"],
    ),
]
StreamName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="Letters, digits, dot, hyphen and underscore.",
        examples=["payments"],
    ),
]
SqlText = Annotated[str, Field(min_length=1, max_length=10_000)]
Tag = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$")]
Severity = Literal["info", "low", "medium", "high", "critical"]


def _as_duration(value: Any) -> Any:
    """Let pass what is a length of time, as it is written."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        # Pydantic tells of no other error where it stands.
        message = f"'{value}' is no length of time. Write it like '1 hour'."
        raise ValueError(message)  # noqa: TRY004
    if duration_ms(value) <= 0:
        raise ValueError(f"'{value}' is no time at all. Write it like '1 hour'.")
    return value


Duration = Annotated[
    str | int,
    BeforeValidator(_as_duration),
    WithJsonSchema({"type": ["string", "integer"], "minimum": 1}),
]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProcessorLimits(_Document):
    """How much a processor may hold and output; beyond that a job stops it, and it alone."""

    partial_matches_per_key: int | None = Field(
        default=None,
        ge=1,
        le=10**7,
        strict=True,
        description="Open partial matches, and matches held back, of one key.",
    )
    events_per_key: int | None = Field(
        default=None,
        ge=1,
        le=10**8,
        strict=True,
        description="Accepted events that these keep alive.",
    )
    partial_matches_per_shard: int | None = Field(
        default=None,
        ge=1,
        le=10**9,
        strict=True,
        description="Open partial matches of all keys of a shard, counted after each batch.",
    )
    rows_per_event: int | None = Field(
        default=None,
        ge=1,
        le=10**7,
        strict=True,
        description="Rows of output that one event of a key, or one instant at which its windows "
        "close, may bring.",
    )
    rows_per_key: int | None = Field(
        default=None,
        ge=1,
        le=10**8,
        strict=True,
        description="Rows of output of one key in one batch.",
    )
    rows_per_shard: int | None = Field(
        default=None,
        ge=1,
        le=10**9,
        strict=True,
        description="Rows of output of all keys of a shard in one batch.",
    )
    bytes_per_row: int | None = Field(
        default=None,
        ge=1_000,
        le=10**9,
        strict=True,
        description="Size of one row of output: its key, output and events as JSON.",
    )


class AlertSuppression(_Document):
    """How many matches go out in a time; the others are counted, and rows of kind `suppressed`."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    by: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default=[],
        max_length=20,
        description="Output columns that must be equal, too; the key always counts.",
        examples=[["country"]],
    )
    for_time: Duration = Field(
        alias="for",
        description="How long from the first one on, in event time: '1 hour', or milliseconds.",
        examples=["1 hour"],
    )
    at_most: int = Field(
        default=1, ge=1, le=1_000_000, strict=True, description="So many go out in that time."
    )


class ProcessorAlert(_Document):
    """How matches are told."""

    suppress: AlertSuppression | None = Field(
        default=None, description="How many go out in a time; left out = all."
    )


class Example(_Document):
    """Events and what must be found in them; a version whose examples fail is not published.

    Matches and timeouts name events by their position in `events`, from 0; their order is not
    compared.
    """

    name: str = Field(default="", max_length=200, description="What it shows.")
    events: list[dict[str, Any]] = Field(max_length=500, description="In order of event time.")
    matches: list[dict[str, list[int]]] = Field(
        default=[], max_length=500, description="Per match the positions of events by step."
    )
    timed_out: list[dict[str, list[int]]] | None = Field(
        default=None, max_length=500, description="Likewise; left out = not compared."
    )
    final_watermark_ms: int | None = Field(
        default=None,
        strict=True,
        ge=-(2**53),
        le=2**53,
        description="Advance event time to this after the last event, which closes windows.",
    )


class ProcessorContent(_Document):
    """What a version holds: everything that decides what is found and output."""

    pattern: PatternMapping = Field(description="Which events make a match.")
    key_by: list[SqlText] | None = Field(
        default=None,
        max_length=20,
        description="Columns or expressions; matches never mix keys. Null = one global key.",
        examples=[["user"]],
    )
    select: dict[str, SqlText] | None = Field(
        default=None,
        max_length=200,
        description="Output columns: expressions over the match, like MEASURES.",
        examples=[{"user": "login.user", "failures": "COUNT(fail.*)"}],
    )
    function: SignedCode | None = Field(
        default=None, description="A PatternProcessFunction, signed; instead of select."
    )
    on_update: Literal["drop", "drain"] = Field(
        default="drop",
        description="Partial matches of the old version: dropped, or finished on the old version.",
    )
    alert: ProcessorAlert | None = Field(default=None, description="How its matches are told.")
    limits: ProcessorLimits | None = Field(
        default=None, description="How much it may hold and output; left out = as the job says."
    )
    severity: Severity | None = Field(default=None, description="How grave a match is.")


class ProcessorLabels(_Document):
    """What says something about a processor and changes nothing of what it finds."""

    description: str = Field(
        default="", max_length=10_000, description="What it finds and why, for people."
    )
    owner: str = Field(default="", max_length=200, description="Who answers for it.")
    tags: list[Tag] = Field(default=[], max_length=50, description="Words to find it by.")


class ProcessorDocument(ProcessorContent, ProcessorLabels):
    """A whole processor as its author writes it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "failed-logins",
                    "stream": "logins",
                    "pattern": {
                        "steps": [
                            {"name": "fail", "where": "action = 'fail'", "times": 3},
                            {
                                "name": "login",
                                "contiguity": "followed_by",
                                "where": "action = 'login'",
                            },
                        ],
                        "within": "10 minutes",
                    },
                    "key_by": ["user"],
                    "select": {"user": "login.user", "failures": "COUNT(fail.*)"},
                    "severity": "high",
                    "tags": ["account-takeover"],
                }
            ]
        }
    )

    id: ProcessorId
    stream: str = Field(min_length=1, max_length=100, description="The stream it watches.")
    effective_from: GivenInstant | None = Field(
        default=None, description="First event time this version is for; left out = at once."
    )
    effective_until: GivenInstant | None = Field(
        default=None, description="First event time this version is not for any more."
    )
    examples: list[Example] = Field(
        default=[],
        max_length=50,
        description="Events and what must be found in them: tested before each publish.",
    )


class ProcessorFile(ProcessorDocument):
    """A processor as files have it: the document, and whether it is paused."""

    paused: bool | None = Field(
        default=None, strict=True, description="Left out = as it is, running if it is new."
    )
