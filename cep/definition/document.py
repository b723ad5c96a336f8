"""The document of a processor: what people and pipelines write, in JSON or YAML.

    document ──► checks of the rule service ──► version ──► snapshot ──► job

The model checks shape; the pattern inside is checked by `Pattern.from_document`, expressions
against the schema of the stream by whoever knows it.
"""

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    GetPydanticSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from cep.definition.alert_document import ProcessorAlert
from cep.definition.parameters import with_parameters_in_pattern
from cep.instants import GivenInstant
from cep.pattern.document.schema import AnyPatternDocument
from cep.pattern.parameters import DOCUMENTS as BESIDE_PATTERN
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
        description="The id of the rule, which it keeps: letters, digits, dot, hyphen, underscore.",
        examples=["failed-logins"],
    ),
]
StreamName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="The name of the stream: letters, digits, dot, hyphen, underscore.",
        examples=["payments"],
    ),
]
SqlText = Annotated[str, Field(min_length=1, max_length=10_000)]
Tag = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$")]
Severity = Literal["info", "low", "medium", "high", "critical"]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProcessorLimits(_Document):
    """How much a rule may hold and output; beyond that a job stops it, and it alone."""

    partial_matches_per_key: int | None = Field(
        default=None,
        ge=1,
        le=10**7,
        strict=True,
        description="Open partial matches, and matches held back, of one key.",
        examples=[1_000],
    )
    events_per_key: int | None = Field(
        default=None,
        ge=1,
        le=10**8,
        strict=True,
        description="Accepted events that the partial matches of one key keep alive.",
        examples=[10_000],
    )
    partial_matches_per_shard: int | None = Field(
        default=None,
        ge=1,
        le=10**9,
        strict=True,
        description="Open partial matches of all keys of a shard, counted after each batch.",
        examples=[1_000_000],
    )
    rows_per_event: int | None = Field(
        default=None,
        ge=1,
        le=10**7,
        strict=True,
        description="Rows of output that one event of a key, or one instant at which its windows "
        "close, may bring.",
        examples=[100],
    )
    rows_per_key: int | None = Field(
        default=None,
        ge=1,
        le=10**8,
        strict=True,
        description="Rows of output of one key in one batch.",
        examples=[1_000],
    )
    rows_per_shard: int | None = Field(
        default=None,
        ge=1,
        le=10**9,
        strict=True,
        description="Rows of output of all keys of a shard in one batch.",
        examples=[100_000],
    )
    bytes_per_row: int | None = Field(
        default=None,
        ge=1_000,
        le=10**9,
        strict=True,
        description="Size of one row of output: its key, output and events as JSON.",
        examples=[100_000],
    )


class Example(_Document):
    """Events and what must be found in them; a version whose examples fail is not published.

    Matches and timeouts name events by their position in `events`, from 0; their order is not
    compared.
    """

    name: str = Field(
        default="", max_length=200, description="What it shows.", examples=["three, then a login"]
    )
    events: list[dict[str, Any]] = Field(
        max_length=500,
        description="The events, in order of event time.",
        examples=[[{"ts": 1000, "user": "eve", "action": "login"}]],
    )
    matches: list[dict[str, list[int]]] = Field(
        default=[],
        max_length=500,
        description="What must be found: of each match the positions of its events, by step.",
        examples=[[{"fail": [0, 1, 3], "login": [4]}]],
    )
    timed_out: list[dict[str, list[int]]] | None = Field(
        default=None,
        max_length=500,
        description="The partial matches that must time out, likewise; left out = not compared.",
        examples=[[{"fail": [0, 1]}]],
    )
    final_watermark_ms: int | None = Field(
        default=None,
        strict=True,
        ge=-(2**53),
        le=2**53,
        description="Advance event time to this after the last event, which closes windows.",
        examples=[600_000],
    )


class ProcessorContent(_Document):
    """What a version holds: everything that decides what is found and output."""

    pattern: PatternMapping = Field(
        description="Which events make a match.",
        examples=[{"steps": [{"name": "large", "where": "amount > 1000"}]}],
    )
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
        default=None,
        description="What is made of a match in Python instead of by `select`: a "
        "PatternProcessFunction, signed.",
    )
    on_update: Literal["drop", "drain"] = Field(
        default="drop",
        description="What becomes of the partial matches of the version before, once this one "
        "runs: `drop` drops them, `drain` lets that version finish them.",
        examples=["drain"],
    )
    alert: ProcessorAlert | None = Field(
        default=None,
        description="How its matches are told; left out = each by itself.",
        examples=[{"suppress": {"for": "1 hour"}}],
    )
    limits: ProcessorLimits | None = Field(
        default=None,
        description="How much it may hold and output; left out = as the job says.",
        examples=[{"partial_matches_per_key": 1_000}],
    )
    severity: Severity | None = Field(
        default=None, description="How grave a match is.", examples=["high"]
    )

    @model_validator(mode="before")
    @classmethod
    def _with_parameters_in_pattern(cls, document: Any) -> Any:
        return with_parameters_in_pattern(document)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON Schema, with the parameters that may stand beside the pattern."""
        written = handler(schema)
        described = {
            "description": "Parameters of the pattern, which may stand beside it.",
            "examples": [{"limit": {"type": "DOUBLE", "value": 100, "min": 0}}],
        }
        beside = handler(BESIDE_PATTERN.core_schema) | described
        handler.resolve_ref_schema(written)["properties"]["parameters"] = beside
        return written


class ProcessorLabels(_Document):
    """What says something about a processor and changes nothing of what it finds."""

    description: str = Field(
        default="",
        max_length=10_000,
        description="What it finds and why, for people.",
        examples=["Three wrong passwords, then the right one."],
    )
    owner: str = Field(
        default="", max_length=200, description="Who answers for it.", examples=["fraud-team"]
    )
    tags: list[Tag] = Field(
        default=[],
        max_length=50,
        description="Words to find it by.",
        examples=[["account-takeover"]],
    )


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
    stream: str = Field(
        min_length=1, max_length=100, description="The stream it watches.", examples=["logins"]
    )
    effective_from: GivenInstant | None = Field(
        default=None, description="First event time this version is for; left out = at once."
    )
    effective_until: GivenInstant | None = Field(
        default=None,
        description="First event time this version is not for any more; left out = it stays.",
    )
    examples: list[Example] = Field(
        default=[],
        max_length=50,
        description="Events and what must be found in them: tested before each publish.",
        examples=[
            [
                {
                    "events": [{"ts": 1000, "user": "eve", "action": "login"}],
                    "matches": [{"login": [0]}],
                }
            ]
        ],
    )


class ProcessorFile(ProcessorDocument):
    """A rule as files have it: the document, and whether it is paused."""

    paused: bool | None = Field(
        default=None,
        strict=True,
        description="Whether it takes no events; left out = as it is, running if it is new.",
        examples=[True],
    )
